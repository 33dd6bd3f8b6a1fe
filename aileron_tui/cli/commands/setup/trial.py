"""Lets the agent make one call, and says whether it reached the gate."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aileron_tui.cli.commands.setup.settings_text import tell
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.output import print_lines, write_error
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import block
from aileron_tui.doors.agent_programs import AgentKind, AgentProgram
from aileron_tui.doors.agent_settings import plan_for
from aileron_tui.doors.opencode_trial import try_opencode
from aileron_tui.doors.settings_findings import read_text
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.trial_call import TrialPlaces, TrialResult, try_agent
from aileron_tui.files.config import Config
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.runtime.gate_probe import GateProbe
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.surface.source_choice import GateChoice
from aileron_tui.surface.source_connection import connection

if TYPE_CHECKING:
    from aileron_tui.surface.source import Source

_LAST_LINES = 12


def run_trial(kind: AgentKind, program: AgentProgram, context: SetupContext, config: Config, key: UnlockedKey) -> int:
    """Returns 0 if the agent asked the gate, 1 if not."""
    tell("", f"Letting {kind.title} make one call with a scripted model on this machine. The gate denies it …")
    places = TrialPlaces(private_folder(paths().cache), _project_files(kind, context), context.env)
    with _gate(config, key) as source:
        result = try_agent(kind.word, program.path, source, places)
    return _report(kind, context, result)


def _project_files(kind: AgentKind, context: SetupContext) -> dict[str, str]:
    """The settings of the project, which the agent must find in the folder where it is tried."""
    if not context.project:
        return {}
    files = [file.path for file in plan_for(kind.word, context).files if file.path.is_relative_to(context.folder)]
    return {str(path.relative_to(context.folder)): read_text(path) or "" for path in files}


def run_opencode_trial(kind: AgentKind, program: AgentProgram, context: SetupContext) -> int:
    """Returns 0 if opencode asked before it ran something, 1 if not. No gate is needed."""
    tell("", f"Letting {kind.title} make one call with a scripted model on this machine. It is rejected …")
    places = TrialPlaces(private_folder(paths().cache), _project_files(kind, context), context.env)
    result = try_opencode(program.path, places)
    if result.reached and not result.ran:
        print_lines(f"✓ {kind.title} asked. The call was rejected, and nothing ran ({result.seconds:.1f} s).")
        return OK
    return _report(kind, context, result)


@contextmanager
def _gate(config: Config, key: UnlockedKey) -> "Iterator[Source]":
    """The gate that runs here, else one in this process."""
    try:
        GateProbe(discover()).verified_instance()
    except AileronError:
        from aileron_tui.surface.embedded_gate import start_embedded_gate  # noqa: PLC0415  # only if none is running

        with start_embedded_gate(config), _source(config, key) as source:
            yield source
        return
    with _source(config, key) as source:
        yield source


@contextmanager
def _source(config: Config, key: UnlockedKey) -> "Iterator[Source]":
    source = connection(GateChoice("", discover), config, surface="cli")(key)
    try:
        yield source
    finally:
        source.close()


def _report(kind: AgentKind, context: SetupContext, result: TrialResult) -> int:
    if result.ran:
        detail = "The gate denied it." if result.denied else "It did not reach the gate."
        write_error(f"{kind.title} ran the call without permission", detail, "Do not rely on the gate for this agent.")
        return FAILED
    if result.reached and result.agent == context.agent:
        print_lines(
            f"✓ {kind.title} asked the gate as {context.agent}. The call was denied, and nothing ran "
            f"({result.seconds:.1f} s)."
        )
        return OK
    if result.reached:
        write_error(f"{kind.title} asked the gate as {result.agent}, not as {context.agent}")
        return FAILED
    asked = f"{kind.title} asked the scripted model, but its call did not reach the gate"
    words = asked if result.asked_model else f"{kind.title} did not ask the scripted model"
    write_error(words, "Nothing ran.", "Run `aileron-tui doctor`, or take the setup back with --undo.")
    if lines := block(result.said)[-_LAST_LINES:]:
        tell(f"  {kind.title} said:", *(f"  > {line}" for line in lines))
    return FAILED
