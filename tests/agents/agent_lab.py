"""A home for one agent: its settings as `setup` writes them, a gate process, and the approver."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject, read_object
from aileron_tui.core.request import Request
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.doors.agent_programs import own_command, shell_words
from aileron_tui.doors.agent_settings import has_hook, plan_for
from aileron_tui.doors.codex_trust import trust_hooks
from aileron_tui.doors.setup_plan import TIMEOUT, SetupContext
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.signing import key_store
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.surface.answer_delivery import Answer, Delivery, deliver
from tests.agents.terminal_dialog import say_yes

SHELLS: Final = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command", "copilot": "bash"}
"""What the hooks of the agents call the shell."""

SECONDS: Final = 40.0
"""How long anything may take that an agent or a gate has to do."""

_POLL_SECONDS: Final = 0.05
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR", "USER", "LOGNAME", "SHELL")
PROGRAM: Final = Path(sys.executable).with_name("aileron-tui")
"""Our own program."""

T = TypeVar("T")


class CaseFailed(AssertionError):
    """Something is not as it must be."""


def require(holds: object, words: str) -> None:
    """Fails the case unless it holds."""
    if not holds:
        raise CaseFailed(words)


def until(find: Callable[[], T | None], words: str, seconds: float = SECONDS) -> T:
    """What is found, as soon as it is there."""
    end = time.monotonic() + seconds
    while (found := find()) is None:
        require(time.monotonic() < end, f"waited in vain for {words}")
        time.sleep(_POLL_SECONDS)
    return found


@dataclass(slots=True)
class AgentLab:
    """Everything around one agent, below the folder `root`. `word` is the agent, `program` its program."""

    word: str
    program: Path
    root: Path
    gate: "subprocess.Popen[bytes] | None" = None
    _key: UnlockedKey | None = None
    _approver: ApproverClient | None = None
    _folders: int = 0
    without_hooks: "AgentLab | None" = None

    @property
    def env(self) -> dict[str, str]:
        """The environment of the agent and its user."""
        return self.plain_env

    @property
    def plain_env(self) -> dict[str, str]:
        """The environment that every agent has."""
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        path = os.pathsep.join((str(self.program.parent), passed.get("PATH", os.defpath)))
        own = {"HOME": str(self.root / "home"), "AILERON_TUI_HOME": str(self.aileron), "TERM": "xterm-256color"}
        return passed | own | {"PATH": path}

    @property
    def aileron(self) -> Path:
        """The home of aileron-tui."""
        return self.root / "aileron"

    @property
    def key(self) -> UnlockedKey:
        """The approver's key."""
        if self._key is None:
            self._key = key_store.unlock(self.aileron / "keys", "default", None)
        return self._key

    @property
    def context(self) -> SetupContext:
        """Where the agent was set up."""
        home = self.root / "home"
        return SetupContext(self.word, own_command(), home, home, self.env, self.aileron / "data")

    def set_up(self) -> None:
        """Makes a key, and sets the agent up as its user would."""
        (self.root / "home").mkdir(parents=True)
        (self.root / "manifests").mkdir()
        for words in (("key", "init", "--no-passphrase"), ("setup", self.word, "--no-check")):
            code, screen = say_yes([str(PROGRAM), *words], self.env, self.root / "home")
            require(code == 0, f"{' '.join(words)} failed: {screen}")

    def settings_files(self) -> list[Path]:
        """The files that setup wrote."""
        return [file.path for file in plan_for(self.word, self.context).files if file.path.exists()]

    @contextmanager
    def short_timeout(self, seconds: int) -> Iterator[None]:
        """Gives the hook less time, in the settings of the agent."""
        before = {path: path.read_text() for path in self.settings_files()}
        for path, text in before.items():
            path.write_text(text.replace(str(TIMEOUT), str(seconds)))
        self._trust(seconds)
        try:
            yield
        finally:
            for path, text in before.items():
                path.write_text(text)
            self._trust(TIMEOUT)

    def _trust(self, seconds: int) -> None:
        if self.word == "codex":
            command = shell_words(self.context.hook(self.word)).replace(str(TIMEOUT), str(seconds))
            trust_hooks(self.program, self.root / "home/.codex/hooks.json", command, self.root / "home", self.env)

    def new_project(self, name: str) -> Path:
        """An empty folder to work in."""
        self._folders += 1
        folder = self.root / f"{self._folders:02}-{name.replace(' ', '-')}"
        folder.mkdir()
        return folder.resolve()

    def start_gate(self) -> None:
        """Starts the gate, unless it runs."""
        if self.gate is not None or not has_hook(self.word):
            return
        with (self.root / "gate.log").open("ab") as log:
            self.gate = subprocess.Popen(
                [str(PROGRAM), "gate", "--port", "0", "--manifests", str(self.root / "manifests")],
                env=self.env,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        require(self.gate.stdout and read_object(self.gate.stdout.readline()), "the gate did not start")

    def stop_gate(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends the gate."""
        if self._approver is not None and number is not signal.SIGKILL:
            self._approver.close()
        self._approver = None
        if self.gate is not None:
            self.gate.send_signal(number)
            self.gate.communicate(timeout=SECONDS)
            self.gate = None

    @property
    def approver(self) -> ApproverClient:
        """The approver's connection to the gate."""
        if self._approver is None:
            self._approver = ApproverClient(discover("", self.aileron / "data"), self.key)
        return self._approver

    def request_in(self, folder: Path) -> Request | None:
        """The waiting request from a folder."""
        waiting = [request for request in self.approver.waiting() if str(folder) in str(request.prompt.fields())]
        return waiting[0] if waiting else None

    def answer(self, request: Request, verdict: Verdict, reason: str = "", edits: JsonObject | None = None) -> Delivery:
        """Answers a request."""
        return deliver(self.approver, Answer(request, verdict, reason, edits))

    def approve(self, request: Request, edits: JsonObject | None = None) -> None:
        """Approves a request."""
        delivery = self.answer(request, Verdict.APPROVE, edits=edits)
        require(delivery.taken, f"the approval was not taken: {delivery.words}")

    def deny(self, request: Request, reason: str) -> None:
        """Denies a request."""
        delivery = self.answer(request, Verdict.DENY, reason)
        require(delivery.taken, f"the denial was not taken: {delivery.words}")

    @contextmanager
    def rule(self, verdict: RuleVerdict, command: str, folder: Path) -> Iterator[None]:
        """A rule for exactly this command in this folder."""
        rule = Rule(
            id=new_rule_id(),
            verdict=verdict,
            agent=self.word,
            action=SHELLS[self.word],
            reach=RuleReach.COMMAND,
            ends=timestamp(utc_now() + timedelta(hours=1)),
            kind=CallKind.TOOL,
            command=command,
            folder=str(folder),
        )
        self.approver.make_rule(rule)
        try:
            yield
        finally:
            self.approver.end_rule(rule.id)

    def newest_record(self) -> JsonObject:
        """What `aileron-tui history` says about the newest request."""
        listed = self._command("history", "--json")["requests"]
        require(isinstance(listed, list) and listed, "the history is empty")
        newest = listed[0] if isinstance(listed, list) else None
        require(isinstance(newest, dict), "the history is not valid")
        return self._command("history", "show", str(newest["id"] if isinstance(newest, dict) else ""), "--json")

    def _command(self, *words: str) -> JsonObject:
        done = subprocess.run(
            [str(PROGRAM), *words],
            env=self.env,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return read_object(done.stdout)

    def close(self) -> None:
        """Ends what still runs."""
        if self.without_hooks is not None:
            self.without_hooks.close()
        with suppress(Exception):
            self.stop_gate()
        if self._key is not None:
            self._key.lock()
