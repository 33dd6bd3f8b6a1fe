"""One call by the installed agent itself, to see that it reaches the gate. It is denied, so nothing runs."""

import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.doors.scripted_model import ScriptedModel
from aileron_tui.doors.scripted_replies import ScriptedCall
from aileron_tui.doors.trial_commands import trial_command
from aileron_tui.surface.answer_delivery import Answer, deliver

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.surface.source import Source

_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.15
_END_SECONDS: Final = 5.0
LONGEST_OUTPUT: Final = 4000
"""How many bytes of what an agent printed are kept."""

_REASON: Final = "This was the check of aileron-tui setup. Nothing was run."


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What happened. `asked_model`: the agent asked the scripted model. `reached`: its call came to the gate.

    `agent` is the name that the gate knew it by, `ran` whether the call was executed all the same, and `said` what the
    agent printed, which is foreign text.
    """

    asked_model: bool
    reached: bool
    denied: bool
    ran: bool
    agent: str
    said: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TrialPlaces:
    """Where an agent is tried: in a temporary folder with these `files`, by their relative paths.

    Files that the agent must trust are written to `cache`, because some refuse them in a folder that others can use.
    """

    cache: Path
    files: Mapping[str, str]
    env: Mapping[str, str]


def try_agent(word: str, program: Path, source: "Source", places: TrialPlaces) -> TrialResult:
    """Lets the agent make one call, and denies it at the gate. Blocks for some seconds, a minute at most."""
    name = f"aileron-check-{secrets.token_hex(6)}"
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="aileron-setup-") as folder,
        tempfile.TemporaryDirectory(prefix="setup-", dir=places.cache) as private_name,
        ScriptedModel(ScriptedCall(f"touch {name}")) as model,
    ):
        project, private = Path(folder), Path(private_name)
        for relative, text in places.files.items():
            (project / relative).parent.mkdir(parents=True, exist_ok=True)
            (project / relative).write_text(text)
        output = private / "output"
        command = trial_command(word, program, model.url, private, places.env)
        with output.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  # the program that the user asked for
                command.words,
                cwd=project,
                env=command.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            request, denied = _deny_next(process, source, name, started + _SECONDS)
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(started + _SECONDS - time.monotonic(), 1.0) if request is None else _END_SECONDS * 4)
        finally:
            end_process(process)
        return TrialResult(
            asked_model=model.asked.is_set(),
            reached=request is not None,
            denied=denied,
            ran=any(project.rglob(name)),
            agent=request.prompt.agent if request else "",
            said=output.read_bytes()[-LONGEST_OUTPUT:].decode("utf-8", "replace").strip(),
            seconds=time.monotonic() - started,
        )


def _deny_next(
    process: "subprocess.Popen[bytes]", source: "Source", name: str, end: float
) -> "tuple[Request | None, bool]":
    """Waits for the request with this name in it, and denies it and its like until the process ends."""
    found, denied = None, False
    while time.monotonic() < end:
        over = process.poll() is not None
        for request in source.waiting():
            if request.state.decidable and name in str(request.prompt.fields()):
                found = request
                delivery = deliver(source, Answer(request, Verdict.DENY, _REASON))
                if not delivery.taken:
                    raise delivery.error or AileronError("the check could not be denied", delivery.words)
                denied = True
        if over:
            break
        time.sleep(_POLL_SECONDS)
    return found, denied


def end_process(process: "subprocess.Popen[bytes]") -> None:
    """Ends the agent and everything that it started."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, kind)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
            return
