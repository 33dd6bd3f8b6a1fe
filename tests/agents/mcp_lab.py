"""A home for an agent that reaches the gate by MCP only, without hooks, as `setup mcp` leaves it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aileron_tui.core.request import Request
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.doors.scripted_replies import ScriptedCall
from tests.agents.agent_lab import PROGRAM, AgentLab, require, until
from tests.agents.agent_run import AgentRun, agent_run
from tests.agents.terminal_dialog import say_yes

SERVER: Final = "marker"
_MARKER: Final = (sys.executable, str(Path(__file__).with_name("marker_server.py")))
_CONFIG: Final = """
[connectors."local://aileron/mail".credential]
env = "TEST_MAIL_TOKEN"
[connectors."local://aileron/files".credential]
env = "TEST_FILES_KEY"
"""
_ALLOWED: Final = {
    "claude": ("--allowedTools", "mcp__aileron", f"mcp__{SERVER}"),
    "codex": tuple(
        word
        for name in ("aileron", SERVER)
        for setting in ('default_tools_approval_mode="approve"', "required=true")
        for word in ("-c", f"mcp_servers.{name}.{setting}")
    ),
}
"""How each agent is told not to ask its own user about the tools of these servers, and to wait until they are there.

The scripted model calls a tool sooner than any other model could.
"""


@dataclass(slots=True)
class McpLab(AgentLab):
    """An agent with our server and with the proxy in front of another one. The actions have a service behind them."""

    service: SampleService = field(default_factory=SampleService)

    @property
    def env(self) -> dict[str, str]:
        """The environment, with what the connectors need."""
        own = {"TEST_MAIL_TOKEN": MAIL_CREDENTIAL, "TEST_FILES_KEY": FILES_CREDENTIAL}
        return self.plain_env | own

    def set_up(self) -> None:
        """Makes a key, and sets up both servers as their user would."""
        self.service.start()
        (self.root / "home").mkdir(parents=True)
        materialise(self.root / "manifests", self.service.port)
        self.aileron.mkdir(mode=0o700)
        (self.aileron / "config.toml").write_text(_CONFIG)
        client = ("setup", "mcp", "--client", self.word)
        for words in (("key", "init", "--no-passphrase"), client, (*client, "--name", SERVER, "--", *_MARKER)):
            code, screen = say_yes([str(PROGRAM), *words], self.env, self.root / "home")
            require(code == 0, f"{' '.join(words)} failed: {screen}")

    def close(self) -> None:
        """Ends what still runs."""
        AgentLab.close(self)
        self.service.stop()

    def asked(self, run: AgentRun, action: str) -> Request:
        """The call of an action or tool that waits at the gate, with its preview if it has one."""

        def found() -> Request | None:
            require(run.process.poll() is None, f"the agent ended without asking the gate: {run.said}")
            waiting = (each for each in self.approver.waiting() if each.prompt.action == action)
            return next((each for each in waiting if not each.fetching), None)

        return until(found, f"{action} at the gate")


def mcp_lab(lab: AgentLab) -> McpLab:
    """The home for the same agent that has no hooks. It is made once, and closed with the other one."""
    if not isinstance(lab.without_hooks, McpLab):
        made = McpLab(lab.word, lab.program, lab.root / "mcp")
        lab.without_hooks = made
        made.set_up()
    return lab.without_hooks


@contextmanager
def mcp_run(lab: McpLab, name: str, call: ScriptedCall) -> Iterator[AgentRun]:
    """An agent that is told to call a tool of one of the servers."""
    with agent_run(lab, lab.new_project(name), call, words=_ALLOWED[lab.word], servers=True) as run:
        yield run
