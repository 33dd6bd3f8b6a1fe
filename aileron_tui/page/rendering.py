"""Requests as the page shows them, made by the same functions as the console's prompt and `aileron-tui show`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.daemon_kinds import ACTION, FILLED_IN, OPENCODE, TOLD_BY_OPENCODE
from aileron_tui.core.deadline_extension import extended_words
from aileron_tui.core.lookalikes import known_names
from aileron_tui.core.prompt import READ_BY_GATE, Prompt, not_shown, told_words
from aileron_tui.core.prompt_facts import (
    RISK_WORDS,
    asker_words,
    connectors,
    is_compiling,
    preview_age,
    rows_by_origin,
    run_words,
    runs_connector,
    trust_warnings,
)
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.resolved_step import ConnectorRef, short_name
from aileron_tui.core.state_words import STATE_WORDS
from aileron_tui.core.step_rows import step_rows
from aileron_tui.core.summary import summary, summary_line, targets
from aileron_tui.core.time_words import ago, minutes_and_seconds
from aileron_tui.core.times import moment, timestamp
from aileron_tui.page.sections import Rows
from aileron_tui.page.shown_text import own, short_line
from aileron_tui.page.views import Field, Fold, Line, PromptView, Remark, Section, WaitingRow, WaitingView

Readers = Mapping[str, Sequence[str]]
"""By request, the surfaces on which it is being read."""

MAX_WAITING: Final = 500
FETCHING: Final = "the preview is still being fetched"
TOO_LONG: Final = "it is too long to be shown here in full; answer it in the console"

_MAX_NAME: Final = 80
_MAX_SENTENCE: Final = 4000
_SUMMARY_WIDTH: Final = 160
_MOST_TARGETS, _LONGEST_TARGET = 4, 400
_ANONYMOUS: Final = "an agent that gave no name"
_NOT_GIVEN: Final = "not given"


def waiting_view(
    requests: Iterable[Request], now: datetime, readers: Readers, problem: str = "", total: int = 0
) -> WaitingView:
    """The list of the first requests, of `total` that wait. A summary tells a request apart from the one before it."""
    listed = list(requests)
    rows: list[WaitingRow] = []
    previous: Request | None = None
    for request in listed[:MAX_WAITING]:
        alike = previous is not None and previous.prompt.action == request.prompt.action
        rows.append(_waiting_row(request, now, readers, summary(previous.prompt) if alike and previous else ()))
        previous = request
    return WaitingView(tuple(rows), short_line(problem, _MAX_SENTENCE), max(0, max(total, len(listed)) - MAX_WAITING))


def _waiting_row(request: Request, now: datetime, readers: Readers, previous: Sequence[str]) -> WaitingRow:
    prompt = request.prompt
    return WaitingRow(
        id=request.id,
        action=short_line(prompt.action, _MAX_NAME),
        summary=summary_line(summary(prompt), _SUMMARY_WIDTH, previous),
        agent=short_line(asker_words(prompt), _SUMMARY_WIDTH) or own(_ANONYMOUS),
        risk=prompt.risk.level,
        risk_words=RISK_WORDS[prompt.risk.level],
        state=request.state,
        expires_at=_deadline(request),
        left=_left(request, now),
        status="fetching the preview…" if request.fetching else "",
        readers=tuple(short_line(reader, _MAX_NAME) for reader in readers.get(request.id, ())),
    )


def prompt_view(request: Request, now: datetime, readers: Readers, *, cannot_approve: str = "") -> PromptView:
    """A request with its prompt. `cannot_approve` is a reason that does not depend on the request."""
    prompt, is_open = request.prompt, request.state.decidable
    aimed_at = targets(prompt)
    rows = Rows(known_names(row.value for part in _parts(request) for row in part))
    action, risk_reason, question = rows.line(prompt.action), rows.line(prompt.risk.reason), _question(request, rows)
    cautions = tuple(map(rows.line, request.cautions_at(now)))
    asker, runs, sections = _asker(request, rows), _runs(prompt, rows), _sections(request, now, rows)
    reasons = (
        request.deny_only,
        FETCHING if request.fetching else "",
        TOO_LONG if rows.left_out else "",
        cannot_approve,
    )
    return PromptView(
        id=request.id,
        digest=request.digest,
        state=request.state,
        risk=prompt.risk.level,
        risk_words=RISK_WORDS[prompt.risk.level],
        risk_reason=risk_reason,
        question=question,
        action=action,
        cautions=cautions,
        sections=sections,
        asker=asker,
        runs=runs,
        targets=tuple(
            Field(short_line(row.label, _MAX_NAME), short_line(row.value, _LONGEST_TARGET))
            for row in aimed_at[:_MOST_TARGETS]
        ),
        more_targets=max(0, len(aimed_at) - _MOST_TARGETS),
        requested=_asked(request, now),
        expires_at=_deadline(request),
        left=_left(request, now),
        can_answer=is_open,
        cannot_approve=next(filter(None, reasons), "") if is_open else "",
        can_refresh=is_open and request.refreshable and prompt.preview is not None and not request.fetching,
        is_fetching=request.fetching,
        outcome="" if is_open else STATE_WORDS[request.state].full_status,
        reason=short_line(request.reason, _MAX_SENTENCE),
        extended=short_line(extended_words(request.extended_by), _MAX_SENTENCE),
        readers=tuple(short_line(reader, _MAX_NAME) for reader in readers.get(request.id, ())),
    )


def _parts(request: Request) -> Iterator[Sequence[Row]]:
    """The rows of a prompt, by who wrote them."""
    prompt = request.prompt
    yield prompt.preview.rows if prompt.preview else ()
    yield from rows_by_origin(request, prompt)
    yield step_rows(prompt.steps, prompt.args)


def _question(request: Request, rows: Rows) -> Line:
    """What is asked, in the words that the console uses; the name of the action is shown beside it."""
    if request.question:
        return rows.line(request.question)
    return own("Approve this action?" if request.prompt.kind == ACTION else "Approve this request?")


def _sections(request: Request, now: datetime, rows: Rows) -> tuple[Section, ...]:
    """The sections of a prompt by who wrote them."""
    prompt, before = request.prompt, request.edited_from
    fetched, sent, filled, steps = _parts(request)
    old_sent, old_filled = rows_by_origin(request, before) if before else (None, None)
    old_fetched = before.preview.rows if before and before.preview and not before.preview.unavailable else None
    old_steps = step_rows(before.steps, before.args) if before else None
    edited = "edited: − as asked, + as edited" if before else ""
    return (
        _preview_section(request, now, rows, fetched, old_fetched),
        _section(rows, "sent", own("agent sent"), sent, old_sent, edited or ("" if prompt.inputs else "nothing")),
        *((_section(rows, "filled", own(FILLED_IN), filled, old_filled, ""),) if filled or old_filled else ()),
        *((_section(rows, "runs", own("would run"), steps, old_steps, ""),) if steps or old_steps else ()),
    )


def _section(  # noqa: PLR0913, PLR0917  # one per column of the table above
    rows: Rows, name: str, heading: Line, shown: Sequence[Row], before: Sequence[Row] | None, note: str
) -> Section:
    fields, quotes = rows.shown(shown, before, heading)
    return Section(name, heading, note, fields, quotes)


def _preview_section(
    request: Request, now: datetime, rows: Rows, shown: Sequence[Row], before: Sequence[Row] | None
) -> Section:
    """What was fetched or told, or why there is nothing."""
    preview = request.prompt.preview
    origin = _preview_origin(request, rows)
    fields, quotes = rows.shown(shown, before, origin)
    found: list[Remark] = []
    if preview and preview.unavailable and not request.fetching:
        found.append(Remark((*own("Preview unavailable: "), *rows.line(preview.unavailable))))
        found.append(Remark(own("You see only what the agent sent."), is_warning=False))
    if preview and preview.hidden and not request.fetching:
        found.append(Remark(own(f"Not shown: {not_shown(preview.hidden)}"), is_warning=False))
    failed = preview is not None and preview.unavailable and not request.fetching
    heading = () if failed else origin
    return Section("fetched", heading, preview_age(request, now)[0], fields, quotes, tuple(found))


def _preview_origin(request: Request, rows: Rows) -> Line:
    """Where the preview comes from; () if there is none that could have been fetched."""
    prompt = request.prompt
    if prompt.preview and prompt.preview.told_by:
        return rows.line(told_words(prompt, prompt.preview))
    if prompt.kind in NOT_RUN_HERE:
        return own(READ_BY_GATE if prompt.preview and not prompt.preview.unavailable else "")
    name = rows.line(short_name(prompt.connector.name)) if prompt.connector.name else ()
    if request.fetching:
        return (*own("compiling" if is_compiling(request) else "fetching from"), *own(" connector "), *name, *own(" …"))
    if prompt.preview is None:
        return own(f"This {'action' if prompt.kind == ACTION else 'request'} has no preview.")
    if prompt.kind == OPENCODE:
        return own(TOLD_BY_OPENCODE)
    return (*own("fetched by connector "), *name) if name else own("fetched by a connector")


def _asker(request: Request, rows: Rows) -> Fold:
    prompt, asker = request.prompt, request.prompt.asker
    batch = request.fields.get("batch")
    found = (
        ("Agent", prompt.agent),
        ("Says it is", prompt.says),
        ("Says folder", asker.folder),
        ("Says session", asker.session),
        ("Says batch", batch if isinstance(batch, str) else ""),
        ("Source", request.source),
        ("Request", request.id),
        ("Digest", request.digest),
    )
    words = asker_words(prompt)
    details = tuple(Field(own(label), rows.line(value)) for label, value in found if value)
    return Fold("asked by", rows.line(words), "" if words else _ANONYMOUS, details)


def _runs(prompt: Prompt, rows: Rows) -> Fold | None:
    if not runs_connector(prompt):
        return None
    connector, *others = connectors(prompt)
    name = f"{connector.name} {connector.version}".rstrip()
    details = (
        *((_given(rows, "Op", prompt.steps[0].op),) if len(prompt.steps) == 1 else ()),
        _given(rows, "Connector", name),
        *((_given(rows, "Account", connector.account),) if connector.account else ()),
        _given(rows, "Hash", connector.hash),
        _signature(rows, own("Signature"), connector),
        *(_signature(rows, (*own("Signature of "), *rows.line(short_name(other.name))), other) for other in others),
    )
    words = run_words(prompt)
    must_be_seen = bool(others) or any(field.remarks for field in details)
    return Fold("would run", rows.line(words), "" if words else _NOT_GIVEN, details, must_be_seen)


def _given(rows: Rows, label: str, value: str) -> Field:
    return Field(own(label), rows.line(value), "" if value else _NOT_GIVEN)


def _signature(rows: Rows, label: Line, connector: ConnectorRef) -> Field:
    found = tuple(Remark(own(sentence)) for sentence in trust_warnings(connector))
    return Field(label, rows.line(connector.trust), "" if connector.trust else _NOT_GIVEN, remarks=found)


def _deadline(request: Request) -> str:
    """The deadline as a timestamp, "" if there is none or it cannot be read."""
    try:
        return timestamp(moment(request.expires_at))
    except (ValueError, OverflowError):
        return ""


def _left(request: Request, now: datetime) -> str:
    if not request.state.decidable or not request.expires_at:
        return ""
    return f"{minutes_and_seconds(request.seconds_left(now))} left"


def _asked(request: Request, now: datetime) -> str:
    try:
        return f"asked {ago((now - moment(request.requested_at)).total_seconds())}"
    except ValueError:
        return "asked at an unknown time"
