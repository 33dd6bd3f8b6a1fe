"""A hook as a process: reads one event, and writes one JSON object or exits with 2 and a reason, whatever happens.

The programs of agents take any other exit or output for a reason to go on. So everything that can go wrong here ends in
a refusal: input that cannot be read, a gate that cannot be asked, signals, the end of the time, and bugs.
"""

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from aileron_tui.core.hook_event import HookReply

AGENTS: Final = ("claude", "codex", "gemini", "copilot")
DEFAULT_TIMEOUT: Final = 3600
REFUSED: Final = 2

_OPTIONS: Final = ("--agent", "--timeout", "--url", "--token-file")
_USAGE: Final = (
    f"usage: aileron-tui hook {'|'.join(AGENTS)} [--agent NAME] [--timeout SECONDS] [--url U] [--token-file FILE]"
)
_LARGEST_INPUT: Final = 8 * 1024 * 1024
_LONGEST_TIMEOUT: Final = 604_800
_MARGIN_SECONDS: Final = 5.0
"""How long before the agent's timeout a hook replies; at most a third of a short timeout."""

_ATOMIC: Final = 4096
"""Bytes that a pipe takes without blocking once it is writable."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)
_FAILED: Final = b"aileron-tui: the hook failed, so the call was not run. Run `aileron-tui doctor`."
_CLOSED: Final = b"aileron-tui: the hook has no standard input or output, so the call was not run."
_UNWRITTEN: Final = b"aileron-tui: the hook could not write its reply, so the call was not run."


class Stopped(BaseException):
    """A signal or the end of the time; the text says which."""


class WrongUsage(Exception):
    """Options that the hook does not have."""


def run(words: list[str]) -> int:
    """Replies to the event on standard input; returns the exit code."""
    try:
        return _run(words, time.monotonic())
    except BaseException:  # noqa: BLE001  # any other exit would let the call run
        _write_error(_FAILED)
        return REFUSED


def _run(words: list[str], began: float) -> int:
    has_streams = _keep_descriptors()
    try:
        agent, options = read_words(words)
    except WrongUsage as error:
        _write_error(f"aileron-tui: {error}, so the call was not run\n{_USAGE}".encode())
        return REFUSED
    if not has_streams:
        _write_error(_CLOSED)
        return REFUSED
    timeout = int(options.get("--timeout", DEFAULT_TIMEOUT))
    deadline = began + timeout - min(_MARGIN_SECONDS, timeout / 3)
    _catch_signals(deadline + 1)
    reply = _reply(agent, options, deadline)
    _ignore_signals()
    if reply.error:
        _write_error(reply.error.encode())
    if reply.output is not None and not _write(json.dumps(reply.output).encode(), deadline + 2):
        _write_error(_UNWRITTEN)
        return REFUSED
    return reply.code


def read_words(words: list[str]) -> tuple[str, dict[str, str]]:
    """The agent and the options of a command line. Raises WrongUsage."""
    if not words or words[0] not in AGENTS:
        raise WrongUsage(f"the first argument must be one of {', '.join(AGENTS)}")
    options: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        name, separator, value = word.partition("=")
        if name not in _OPTIONS or name in options:
            raise WrongUsage("an option is unknown or given twice")
        options[name] = value if separator else next(rest, "")
        if not options[name]:
            raise WrongUsage(f"{name} has no value")
    timeout = options.get("--timeout", "1")
    if not (timeout.isascii() and timeout.isdigit() and len(timeout) < 7 and 0 < int(timeout) <= _LONGEST_TIMEOUT):
        raise WrongUsage(f"--timeout must be a number of seconds from 1 to {_LONGEST_TIMEOUT}")
    return words[0], options


def _reply(agent: str, options: dict[str, str], deadline: float) -> "HookReply":
    """The reply to the event. Once the event is known, a refusal has the shape that the agent expects."""
    from aileron_tui.core.agent_names import is_agent_name  # noqa: PLC0415  # errors of imports must be caught
    from aileron_tui.core.errors import AileronError  # noqa: PLC0415
    from aileron_tui.core.hook_event import refusal  # noqa: PLC0415
    from aileron_tui.doors.hook_replies import Door, HookReplies  # noqa: PLC0415

    name = options.get("--agent", agent)
    if not is_agent_name(name):
        return refusal("aileron-tui: --agent is not the name of an agent, so the call was not run.")
    token_file = options.get("--token-file")
    door = Door(agent, name, deadline, options.get("--url", ""), Path(token_file) if token_file else None)
    replies = HookReplies(door)
    try:
        return replies.reply(_read_input(deadline))
    except Stopped as stopped:
        return replies.failure(AileronError(str(stopped)))
    except AileronError as error:
        return replies.failure(error)
    except (Exception, MemoryError) as error:  # noqa: BLE001  # a bug must not let the call run
        return replies.failure(AileronError("the hook failed", type(error).__name__, "Run `aileron-tui doctor`."))


def _read_input(deadline: float) -> bytes:
    """Everything on standard input, or a little more than is accepted."""
    parts: list[bytes] = []
    size = 0
    while size <= _LARGEST_INPUT:
        if not select.select([0], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise Stopped("the agent did not finish its input in time")
        part = os.read(0, 1 << 20)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _write(data: bytes, deadline: float) -> bool:
    """Writes all of it to standard output, unless nobody reads it."""
    try:
        while data:
            if not select.select([], [1], [], max(0.0, deadline - time.monotonic()))[1]:
                return False
            data = data[os.write(1, data[:_ATOMIC]) :]
    except (OSError, ValueError):
        return False
    return True


def _write_error(text: bytes) -> None:
    """Writes the reason for a refusal to standard error, if that is possible without waiting."""
    try:
        if select.select([], [2], [], 0)[1]:
            whole = text[: _ATOMIC - 1].decode("utf-8", "ignore").encode()
            os.write(2, whole + b"\n")
    except (OSError, ValueError):
        return


def _keep_descriptors() -> bool:
    """Whether standard input and output are open. What is opened later never takes the place of a closed one."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
    return sys.stdin is not None and sys.stdout is not None


def _catch_signals(end: float) -> None:
    """Lets signals and the end of the time stop whatever the hook is doing."""
    for number in _SIGNALS:
        signal.signal(number, _stop)
    signal.setitimer(signal.ITIMER_REAL, max(0.1, end - time.monotonic()))


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    _ignore_signals()  # so that the refusal is not interrupted in turn
    if number == signal.SIGALRM:
        raise Stopped("nobody answered in time")
    raise Stopped(f"the agent stopped waiting ({signal.Signals(number).name})")
