"""Try the console with a sample gate, mail service and agent. Needs no setup and keeps nothing."""

import argparse
import shlex
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.full_screen import check_terminal, report_delay
from aileron_tui.cli.output import counted, print_lines
from aileron_tui.console.run import run_app
from aileron_tui.console.settings import THEMES, default_theme
from aileron_tui.demo.scripted_agent import AgentLog, ScriptedAgent
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.runtime.gate_client import AgentClient, ApproverClient
from aileron_tui.runtime.gate_discovery import FoundGate, agent_token, discover

if TYPE_CHECKING:
    from aileron_tui.demo.sample_packages import SamplePackages

_COMPILING: Final = "Compiling the two sample connectors. This happens only the first time and can take a minute."

_NEXT: Final = (
    (" key init", "create the key that signs your answers"),
    (" gate", "run the gate; leave it running"),
    ("", "open the console in another terminal"),
    (" setup claude", "put an agent behind it, here Claude Code"),
    (" doctor", "check all of it"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    who = parser.add_mutually_exclusive_group()
    who.add_argument(
        "--no-agent", action="store_true", help="run no agent; call actions yourself from another terminal"
    )
    who.add_argument("--agent-only", action="store_true", help="run only the agent, against a running gate")
    parser.add_argument("--url", default="", help="the gate to call, with --agent-only")
    parser.add_argument("--theme", choices=THEMES, default=default_theme(), help="the colour theme")


def run(options: argparse.Namespace) -> int:
    """Returns 0 after quitting, 1 if it cannot run."""
    if options.agent_only:
        return _run_agent(discover(options.url))
    return open_demo(options.theme, agent=not options.no_agent)


def open_demo(theme: str, *, agent: bool = True) -> int:
    """Opens the console with a gate of its own, in a temporary home."""
    check_terminal()
    from aileron_tui.console.app import Console  # noqa: PLC0415  # the agent alone needs no screen
    from aileron_tui.console.settings import ConsoleSettings  # noqa: PLC0415
    from aileron_tui.demo.compile_progress import CompileProgress  # noqa: PLC0415
    from aileron_tui.demo.guide import DemoGuide  # noqa: PLC0415
    from aileron_tui.demo.sample_home import sample_home  # noqa: PLC0415
    from aileron_tui.demo.sample_packages import install_samples  # noqa: PLC0415
    from aileron_tui.surface.embedded_gate import EmbeddedGate  # noqa: PLC0415
    from aileron_tui.surface.operator_key import TemporaryOperatorKey  # noqa: PLC0415
    from aileron_tui.surface.source import SourceSpec  # noqa: PLC0415

    log = AgentLog()
    with ExitStack() as stack:
        cache = private_folder(paths().cache)
        home = stack.enter_context(sample_home(cache))
        with report_delay("Installing the sample suite."):
            packages = install_samples(home)
        _say_what_was_done(packages)
        progress = CompileProgress(cache)
        with report_delay(_COMPILING if progress.missing else "Starting the sample gate.", progress.words):
            gate = stack.enter_context(EmbeddedGate(packages.setup))
            packages.unlock(gate.found)
        client = stack.enter_context(AgentClient(gate.found, agent_token(gate.found)))
        if agent:
            stack.enter_context(ScriptedAgent(client, log))
        else:
            _explain(log, str(home.root))
        console = Console(
            [SourceSpec("", lambda key: ApproverClient(gate.found, key, surface="console"), "gate")],
            TemporaryOperatorKey(home.key),
            ConsoleSettings(theme=theme),
            log_lines=log.lines,
            guide=DemoGuide(lambda: progress.words() if progress.missing else "") if agent else None,
        )
        code = run_app(console)[0]
    if code:
        return FAILED
    _say_how_to_go_on()
    return OK


def _say_what_was_done(packages: "SamplePackages") -> None:
    """Prints what was installed and bound, and how that is done outside the demo."""
    grant = packages.package.grant
    content = f"{counted(len(grant.connectors), 'connector')}, {counted(len(grant.actions), 'action')}"
    accounts = " and ".join(sorted({binding.account for binding in packages.bindings}))
    connectors = " and ".join(binding.connector for binding in packages.bindings)
    print_lines(
        f"Installed the suite {grant.name} in a temporary home: {content}.",
        "  For real: `aileron-tui add SOURCE` shows what it may do, and asks you first.",
        f"Bound the account {accounts} to {connectors}.",
        "  For real: `aileron-tui bind CONNECTOR` shows what for, asks you, and signs in.",
    )


def _say_how_to_go_on() -> None:
    """Prints the commands for a setup of one's own, which one can copy from here."""
    rows = [(shlex.quote(_program()) + words, meaning) for words, meaning in _NEXT]
    width = max(len(command) for command, _ in rows)
    lines = "".join(f"  {command:<{width}}  {meaning}\n" for command, meaning in rows)
    sys.stdout.write(
        f"Only compiled connectors were kept, in your cache folder.\nTo put your own agents behind a gate:\n{lines}"
    )


def _program() -> str:
    """How this program is called from here."""
    beside_python = Path(sys.executable).with_name("aileron-tui")
    if shutil.which("aileron-tui") or not beside_python.exists():
        return "aileron-tui"
    here = Path.cwd()
    return str(beside_python.relative_to(here) if beside_python.is_relative_to(here) else beside_python)


def _explain(log: AgentLog, home: str) -> None:
    """Tells the user how to call actions."""
    log.say("No agent is running. Open another terminal and call an action yourself, for example:")
    for words in (
        "run send-draft --arg draft_id=r-12345 --wait 60",
        "run send-draft --arg draft_id=19df4136f28569d2",
        "run move-file --arg file_id=f-1001 --arg folder_id=d-reports",
        "run list-drafts",
    ):
        log.say(f"  AILERON_TUI_HOME={shlex.quote(home)} aileron-tui {words}")


def _run_agent(found: FoundGate) -> int:
    """Runs only the agent and prints its log."""

    def echo(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    with AgentClient(found, agent_token(found)) as client:
        client.actions()
        return OK if ScriptedAgent(client, AgentLog(echo)).play() else FAILED
