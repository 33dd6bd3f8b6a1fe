"""The texts of a prompt: the question, the risk, and where each part comes from."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from textual.content import Content

from aileron_tui.console.render import ACCENT, DANGER, MUTED, STRONG, STRONG_WARNING, WARNING, foreign_short, trusted
from aileron_tui.console.widgets.fields import Field
from aileron_tui.console.widgets.prompt_sections import Block, row_lines
from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.daemon_kinds import ACTION, OPENCODE, TOLD_BY_OPENCODE, split_by_origin
from aileron_tui.core.prompt import READ_BY_GATE, ConnectorRef, Prompt, not_shown, sent_words, told_words
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.resolved_step import short_name
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.step_rows import step_rows
from aileron_tui.core.time_words import LONGEST_AGO, ago
from aileron_tui.core.times import moment
from aileron_tui.core.visible_text import LONGEST_CONVERTED, inline, quoted, short

_RISKS: Final = {
    RiskLevel.LOW: ("○ low risk", MUTED),
    RiskLevel.NORMAL: ("● normal risk", STRONG),
    RiskLevel.HIGH: ("▲ high risk", DANGER),
}
# A well-behaved source never reaches these lengths; the raw view shows everything.
_MAX_NAME: Final = 80
_MAX_SENTENCE: Final = 400
_MAX_HASH: Final = 26
_SHORT_HASH: Final = 8
_WIDEST_MARK: Final = 12
_KNOWN_SIGNATURES: Final = ("signed", "unsigned")
_HOW_TO_RETRY: Final = ", or press r to try again"
_HOW_TO_SEE_ALL: Final = "; press v to see everything the daemon sent"
_UNCERTAIN_CONNECTOR: Final = "it is unclear who made this connector"
_NOT_GIVEN: Final = "not given"
_SINGLE_WORD: Final = re.compile(r'[^\s"·]+')
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
    words, style = _RISKS[prompt.risk.level]
    return Content.assemble(trusted(words, style), "  ", foreign_short(prompt.risk.reason, _MAX_SENTENCE, MUTED))


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


def rows_by_origin(request: Request, prompt: Prompt) -> tuple[Sequence[Row], Sequence[Row]]:
    """The rows of this prompt of a request that the agent sent, and those that a daemon filled in."""
    return split_by_origin(prompt.kind, prompt.args, prompt.inputs) if request.daemon else (prompt.inputs, ())


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
        return Content.assemble(trusted("fetching from connector ", STRONG), connector, trusted(" …", STRONG))
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
    return Content.assemble(
        trusted("⚠ Preview unavailable: ", STRONG_WARNING),
        foreign_short(preview.unavailable, _MAX_SENTENCE, STRONG),
        trusted(f"\nYou see only what the agent sent. You can still decide{more}."),
    )


def asker_words(prompt: Prompt) -> str:
    """Who asks: the name of the agent's token, then what the agent says about itself. A daemon knows only the latter.

    What the agent calls itself is in quotes that it cannot close, and so is a folder that could be taken for more.
    """
    says = prompt.says if len(prompt.says) <= LONGEST_CONVERTED else short(prompt.says, LONGEST_CONVERTED)
    folder = prompt.asker.folder
    if len(folder) <= LONGEST_CONVERTED and not _SINGLE_WORD.fullmatch(folder):
        folder = quoted(folder)
    claims = (quoted(says) if says else "", f"in {folder}" if prompt.asker.folder else "")
    claim = " ".join(part for part in claims if part)
    return " · ".join(part for part in (prompt.agent, f"says it is {claim}" if claim else "") if part)


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


def run_words(prompt: Prompt) -> str:
    """What would run: op, connector, signature, and the start of the connector's hash."""
    connector, steps = prompt.connector, prompt.steps
    name = f"{short_name(connector.name)} {connector.version}".strip()
    about = (name, connector.trust, connector.hash.rpartition(":")[2][:_SHORT_HASH])
    op = steps[0].op if len(steps) == 1 else f"{len(steps)} steps" if steps else ""
    return " · ".join(part for part in (op, *(about if len(_connectors(prompt)) == 1 else ())) if part)


def run_line(prompt: Prompt, *, opened: bool) -> tuple[Field, ...]:
    """The line that says what would run; none if the request uses no connector."""
    words = run_words(prompt)
    heading = _foldable("would run", opened=opened)
    return (Field(heading, _clipped(words), "" if words else _NOT_GIVEN, heading=True),) if _runs(prompt) else ()


def _runs(prompt: Prompt) -> bool:
    return prompt.kind not in NOT_RUN_HERE and (prompt.kind == ACTION or bool(prompt.connector.name))


def _connectors(prompt: Prompt) -> list[ConnectorRef]:
    return list(dict.fromkeys([prompt.connector, *(step.connector for step in prompt.steps)]))


def _foldable(heading: str, *, opened: bool) -> str:
    return f"{_OPENED if opened else _FOLDED}{heading}"


def must_show_details(prompt: Prompt) -> bool:
    """Whether the line about what would run leaves out something to know: a warning, or another connector."""
    return len(_connectors(prompt)) > 1 or any(field.warnings for field in connector_fields(prompt))


def connector_fields(prompt: Prompt) -> tuple[Field, ...]:
    """The op and the connector that would run; empty if the request uses no connector.

    Of several steps, this is the connector of the first one. The rows of the section name the others.
    """
    if not _runs(prompt):
        return ()
    connector, *others = _connectors(prompt)
    op = (Field("Op", _clipped(prompt.steps[0].op)),) if len(prompt.steps) == 1 else ()
    name = f"{connector.name} {connector.version}".rstrip()
    digest = short(connector.hash, _MAX_HASH) if connector.hash else None
    return (
        *op,
        Field("Connector", _clipped(name), "" if name else _NOT_GIVEN),
        Field("Hash", digest, "" if digest else _NOT_GIVEN),
        _signature_field("Signature", connector),
        *(_signature_field(f"Signature of {short_name(other.name)}", other) for other in others),
    )


def _signature_field(label: str, connector: ConnectorRef) -> Field:
    certain = not connector.trust or connector.trust.startswith(_KNOWN_SIGNATURES)
    return Field(
        label,
        _clipped(connector.trust),
        "" if connector.trust else _NOT_GIVEN,
        warnings=() if certain else (_UNCERTAIN_CONNECTOR,),
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
        *(("Signature", other.trust, _MAX_SENTENCE) for other in _connectors(prompt)[1:]),
        *(("Caution", caution.text, _MAX_SENTENCE) for caution in request.cautions),
    )
    rows = [
        Row(label, text)
        for label, text, room in texts
        if len(text) * _WIDEST_MARK > room and (len(text) > LONGEST_CONVERTED or short(text, room) != inline(text))
    ]
    return (Block("Cut off above, here in full", row_lines(rows), "one line each", is_list=True),) if rows else ()


def sends_only_inputs(prompt: Prompt) -> bool:
    """Whether one step would run, and sends exactly what the agent sent, each value under its own name.

    A value under another name does not count: the agent could send it to hide a fixed value of the manifest.
    """
    return len(prompt.steps) <= 1 and not step_rows(prompt.steps, prompt.args)


def _clipped(text: str) -> str | None:
    if len(text) <= _MAX_SENTENCE:
        return text or None
    return short(text, _MAX_SENTENCE)


def preview_age(request: Request, now: datetime) -> tuple[str, int]:
    """How long ago the preview was fetched, and the room to reserve for it, so that nothing moves when it grows.

    A daemon fetches the preview once, before it asks. If a gate does not say when it fetched the preview, it was after
    the agent asked. Nobody knows how old a preview is that the agent told.
    """
    preview = request.prompt.preview
    if request.fetching or preview is None or preview.unavailable or preview.told_by:
        return "", 0
    fetched = request.fields.get("previewed_at")
    known = isinstance(fetched, str) and bool(fetched) and not request.daemon
    prefix = "before asking, " if request.daemon else "" if known else "at most "
    try:
        age = ago((now - moment(str(fetched) if known else request.requested_at)).total_seconds())
    except ValueError:
        return "at an unknown time", 0
    return f"{prefix}{age}".replace("at most just", "just"), len(prefix) + LONGEST_AGO
