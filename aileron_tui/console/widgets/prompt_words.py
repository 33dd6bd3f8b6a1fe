"""The texts of a prompt: the question, the risk, and where each part comes from."""

from datetime import datetime
from typing import Final

from textual.content import Content

from aileron_tui.console.render import ACCENT, DANGER, MUTED, STRONG, STRONG_WARNING, WARNING, foreign_short, trusted
from aileron_tui.console.widgets.fields import Field
from aileron_tui.console.widgets.prompt_sections import Block, row_lines
from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.daemon_kinds import ACTION, OPENCODE, TOLD_BY_OPENCODE
from aileron_tui.core.prompt import READ_BY_GATE, ConnectorRef, Prompt, not_shown, sent_words, told_words
from aileron_tui.core.prompt_facts import (
    RISK_WORDS,
    asker_words,
    connectors,
    is_compiling,
    run_words,
    runs_connector,
    trust_warnings,
)
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.resolved_step import short_name
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.visible_text import LONGEST_CONVERTED, inline, short

_RISK_STYLES: Final = {RiskLevel.LOW: MUTED, RiskLevel.NORMAL: STRONG, RiskLevel.HIGH: DANGER}
# A well-behaved source never reaches these lengths; the raw view shows everything.
_MAX_NAME: Final = 80
_MAX_SENTENCE: Final = 400
_MAX_HASH: Final = 26
_WIDEST_MARK: Final = 12
_HOW_TO_RETRY: Final = ", or press r to try again"
_HOW_TO_SEE_ALL: Final = "; press v to see everything the daemon sent"
_NOT_GIVEN: Final = "not given"
_FOLDED: Final = "▸ "
_OPENED: Final = "▾ "


def title(request: Request, *, asks: bool = True) -> Content:
    """The question; only the name of the action once there is nothing to answer."""
    if not asks:
        return foreign_short(request.prompt.action, _MAX_NAME, ACCENT)
    name = foreign_short(request.prompt.action, _MAX_NAME, ACCENT)
    if request.question and request.prompt.kind in NOT_RUN_HERE:
        question = foreign_short(request.question, _MAX_NAME, STRONG)
        return Content.assemble(question, trusted("  "), name)
    if request.question:
        return trusted(request.question, ACCENT)
    return Content.assemble(trusted("Approve ", STRONG), name, trusted("?", STRONG))


def risk(prompt: Prompt) -> Content:
    """The risk level and its reason."""
    level = prompt.risk.level
    return Content.assemble(
        trusted(RISK_WORDS[level], _RISK_STYLES[level]), "  ", foreign_short(prompt.risk.reason, _MAX_SENTENCE, MUTED)
    )


def caution_lines(request: Request, now: datetime) -> Content:
    """What the operator should know before answering, one sentence per line."""
    sign = trusted("⚠ ", STRONG_WARNING)
    lines = [
        Content.assemble(sign, foreign_short(sentence, _MAX_SENTENCE, STRONG_WARNING))
        for sentence in request.cautions_at(now)
    ]
    return Content("\n").join(lines)


def sent_heading(request: Request, *, has_fields: bool) -> Content:
    """The heading above what was sent, by whom, and whether it was edited; none if all of it is quoted."""
    edited = "  edited: − as asked, + as edited" if request.edited_from else ""
    nothing = "" if request.prompt.inputs else " nothing"
    if not has_fields and not nothing and not edited:
        return Content("")
    return Content.assemble(
        foreign_short(sent_words(request.prompt), _MAX_SENTENCE, STRONG),
        trusted(nothing, MUTED),
        trusted(edited, WARNING),
    )


def fetched_heading(request: Request, *, brief: bool = False) -> Content:
    """The heading above the preview, or why there is none."""
    prompt = request.prompt
    if prompt.preview and prompt.preview.told_by:
        told = foreign_short(told_words(prompt, prompt.preview), _MAX_SENTENCE, STRONG)
        return Content("") if prompt.preview.unavailable else told
    if prompt.kind in NOT_RUN_HERE:
        return trusted(READ_BY_GATE if prompt.preview and not prompt.preview.unavailable else "", STRONG)
    connector = foreign_short(short_name(prompt.connector.name), _MAX_NAME)
    if request.fetching:
        doing = "compiling connector " if is_compiling(request) else "fetching from connector "
        return Content.assemble(trusted(doing, STRONG), connector, trusted(" …", STRONG))
    if prompt.preview is None:
        return trusted(f"This {'action' if prompt.kind == ACTION else 'request'} has no preview.", MUTED)
    if prompt.preview.unavailable:
        return Content("")
    if prompt.kind == OPENCODE:
        return trusted(TOLD_BY_OPENCODE, STRONG)
    return Content.assemble(trusted("fetched by " if brief else "fetched by connector ", STRONG), connector)


def not_shown_fields(request: Request) -> tuple[Field, ...]:
    """How many of the fetched values have no row."""
    preview = request.prompt.preview
    if request.fetching or preview is None or not preview.hidden:
        return ()
    more = "" if preview.told_by else "; v shows everything"
    return (Field("Not shown", None, f"{not_shown(preview.hidden)}{more}"),)


def unavailable(request: Request) -> Content:
    """The warning that the preview failed."""
    preview = request.prompt.preview
    if request.fetching or preview is None or not preview.unavailable:
        return Content("")
    more = _HOW_TO_RETRY if request.refreshable else _HOW_TO_SEE_ALL if request.daemon else ""
    needs_account = any(step.connector.needs for step in request.prompt.steps)
    choice = "Until there is an account, you can only deny it" if needs_account else f"You can still decide{more}"
    return Content.assemble(
        trusted("⚠ Preview unavailable: ", STRONG_WARNING),
        foreign_short(preview.unavailable, _MAX_SENTENCE, STRONG),
        trusted(f"\nYou see only what the agent sent. {choice}."),
    )


def asker_line(prompt: Prompt, *, opened: bool) -> Field:
    """The line that says who asks."""
    words = asker_words(prompt)
    nobody = "" if words else "an agent that gave no name"
    return Field(_foldable("asked by", opened=opened), _clipped(words), nobody, heading=True)


def asker_details(request: Request) -> tuple[Field, ...]:
    """Everything that is known about who asks."""
    prompt, asker = request.prompt, request.prompt.asker
    batch = request.fields.get("batch")
    found = (
        ("Agent", prompt.agent),
        ("Says it is", prompt.says),
        ("Says folder", asker.folder),
        ("Says session", asker.session),
        ("Says batch", batch if isinstance(batch, str) else ""),
    )
    return tuple(Field(label, _clipped(value)) for label, value in found if value)


def run_line(prompt: Prompt, *, opened: bool) -> tuple[Field, ...]:
    """The line that says what would run; none if the request uses no connector."""
    words = run_words(prompt)
    heading = _foldable("would run", opened=opened)
    return (
        (Field(heading, _clipped(words), "" if words else _NOT_GIVEN, heading=True),) if runs_connector(prompt) else ()
    )


def _foldable(heading: str, *, opened: bool) -> str:
    return f"{_OPENED if opened else _FOLDED}{heading}"


def must_show_details(prompt: Prompt) -> bool:
    """Whether the line about what would run leaves out something to know: a warning, or another connector."""
    return len(connectors(prompt)) > 1 or any(field.warnings for field in connector_fields(prompt))


def connector_fields(prompt: Prompt) -> tuple[Field, ...]:
    """The op and the connector that would run; empty if the request uses no connector.

    Of several steps, this is the connector of the first one. The rows of the section name the others.
    """
    if not runs_connector(prompt):
        return ()
    connector, *others = connectors(prompt)
    op = (Field("Op", _clipped(prompt.steps[0].op)),) if len(prompt.steps) == 1 else ()
    name = f"{connector.name} {connector.version}".rstrip()
    digest = short(connector.hash, _MAX_HASH) if connector.hash else None
    return (
        *op,
        Field("Connector", _clipped(name), "" if name else _NOT_GIVEN),
        *((Field("Account", _clipped(connector.account)),) if connector.account else ()),
        Field("Hash", digest, "" if digest else _NOT_GIVEN),
        _signature_field("Signature", connector),
        *(_signature_field(f"Signature of {short_name(other.name)}", other) for other in others),
    )


def _signature_field(label: str, connector: ConnectorRef) -> Field:
    return Field(
        label,
        _clipped(connector.trust),
        "" if connector.trust else _NOT_GIVEN,
        warnings=trust_warnings(connector),
    )


def long_texts(request: Request) -> tuple[Block, ...]:
    """The full text of everything that the prompt shows only the beginning of, so that it can be read."""
    prompt, preview = request.prompt, request.prompt.preview
    connector = f"{prompt.connector.name} {prompt.connector.version}".rstrip()
    texts = (
        ("Action", prompt.action, _MAX_NAME),
        ("Risk", prompt.risk.reason, _MAX_SENTENCE),
        ("Asked by", asker_words(prompt), _MAX_SENTENCE),
        ("Session", prompt.asker.session, _MAX_SENTENCE),
        ("Preview", told_words(prompt, preview) if preview and preview.told_by else "", _MAX_SENTENCE),
        ("Preview unavailable", preview.unavailable if preview else "", _MAX_SENTENCE),
        ("Connector", connector, _MAX_SENTENCE),
        ("Would run", run_words(prompt), _MAX_SENTENCE),
        *(("Signature", other.trust, _MAX_SENTENCE) for other in connectors(prompt)[1:]),
        *(("Caution", caution.text, _MAX_SENTENCE) for caution in request.cautions),
    )
    rows = [
        Row(label, text)
        for label, text, room in texts
        if len(text) * _WIDEST_MARK > room and (len(text) > LONGEST_CONVERTED or short(text, room) != inline(text))
    ]
    return (Block("Cut off above, here in full", row_lines(rows), "one line each", is_list=True),) if rows else ()


def _clipped(text: str) -> str | None:
    if len(text) <= _MAX_SENTENCE:
        return text or None
    return short(text, _MAX_SENTENCE)
