"""Requests as text: the whole prompt, and a few lines in a list."""

import re
import shutil
from collections.abc import Iterator
from datetime import datetime
from shlex import quote
from typing import Final, TextIO

from aileron_tui.cli.output import columns
from aileron_tui.core.deadline_extension import extended_words
from aileron_tui.core.prompt import lines
from aileron_tui.core.prompt_facts import is_compiling
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.summary import summary, summary_line
from aileron_tui.core.times import moment, utc_now
from aileron_tui.core.visible_text import Visible, cells, clip, inline, quoted, wrap

_WIDEST: Final = 100
_PLAIN: Final = re.compile(r"[A-Za-z0-9@._/+#,()'-]+(?: [A-Za-z0-9@._/+#,()'-]+)*")
_INDENT: Final = " " * 12


def prompt_lines(request: Request, out: TextIO) -> Iterator[str]:
    """The prompt as the operator sees it, and further details of the request, for a stream."""
    return request_lines(request, columns(out))


def request_lines(request: Request, width: int) -> Iterator[str]:
    """The prompt and further details of the request in rows of this width; 0 means no wrapping."""
    yield from lines(request.prompt, width, request.edited_from, daemon=request.daemon)
    for caution in request.cautions_at(utc_now()):
        yield from wrap(Visible(f"! {inline(caution)}"), width, _INDENT[:6])
    if request.fetching:
        compiling = " (its connector is being compiled first)" if is_compiling(request) else ""
        yield f"(the preview is still being fetched{compiling})"
    yield ""
    for name, value in _details(request):
        if value:
            yield from wrap(Visible(f"{name:<11} {inline(value)}"), width, _INDENT)


def _details(request: Request) -> Iterator[tuple[str, str]]:
    """The names and values of the details, some of them empty. Each claim of the agent is in quotes."""
    prompt, connector, asker = request.prompt, request.prompt.connector, request.prompt.asker
    claims = (("", prompt.says), ("session ", asker.session), ("folder ", asker.folder))
    hash_ = connector.hash.removeprefix("sha256:")[:12]
    connector_parts = (connector.name, connector.version, f"{hash_}…" if hash_ else "", connector.trust)
    again = request.asked_again
    yield "request", request.id
    yield "source", request.source
    yield "state", f"{request.state}{_time_left(request)}"
    yield "extended", extended_words(request.extended_by)
    yield "risk", f"{prompt.risk.level}: {prompt.risk.reason}"
    yield "agent", prompt.agent or ("" if prompt.says else "an agent that gave no name")
    yield from (("says", f"{label}{quoted(claim)}") for label, claim in claims if claim)
    yield "connector", " ".join(filter(None, connector_parts))
    yield "account", connector.account
    yield "digest", request.digest
    yield "asked again", f"{again} may have taken effect already" if again else ""
    yield "reason", request.reason


def answer_commands(request: Request) -> Iterator[str]:
    """The commands that answer a request."""
    # The id is foreign text, and users paste these lines into a shell.
    id_ = quote(inline(request.id[-8:] if request.id[-8:].isalnum() else request.id))
    source = f" --source {request.source}" if request.source else ""
    yield f"[Approve]   aileron-tui approve{source} -- {id_}"
    yield f"[Deny]      aileron-tui deny{source} --reason … -- {id_}"


def list_lines(request: Request, now: datetime, width: int) -> Iterator[str]:
    """A request in a list: the action and the time left, its id and agent, its summary.

    Foreign text begins at column 2. It is in quotes if it could look like several values.
    """
    mark = "⚠" if request.prompt.risk.level is RiskLevel.HIGH else "•"
    left = _clock(request.seconds_left(now)) if request.expires_at else _waiting_since(request, now)
    name = clip(Visible(f"{mark} {inline(request.prompt.action)}"), max(width - len(left) - 1, 10))
    yield f"{name}{' ' * max(1, width - cells(name) - len(left))}{left}"
    yield "  " + " · ".join(_item(part) for part in (request.id, request.prompt.agent, request.source) if part)
    if line := summary_line(summary(request.prompt), max(width - 2, 10)):
        yield f"  {line}"


def _item(text: str) -> Visible:
    """Foreign text between separators: in quotes, unless it has only plain words and so no separator."""
    return Visible(text) if _PLAIN.fullmatch(text) else quoted(text)


def list_width() -> int:
    """The width of a list."""
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _time_left(request: Request) -> str:
    if not request.state.decidable or not request.expires_at:
        return ""
    return f", {_clock(request.seconds_left(utc_now()))} left"


def _waiting_since(request: Request, now: datetime) -> str:
    """How long a request without a deadline has waited."""
    try:
        return f"waiting {_clock(max(0.0, (now - moment(request.requested_at)).total_seconds()))}"
    except ValueError:
        return "time unknown"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
