"""Prompts: what the operator is shown for a request, and the digest that binds a decision to it."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.core.call_kinds import NOT_RUN_HERE, CallKind
from aileron_tui.core.daemon_kinds import FILLED_IN, OPENCODE, TOLD_BY_OPENCODE, split_by_origin
from aileron_tui.core.edits import Pair, difference, paired, signed_rows
from aileron_tui.core.formats import PROMPT_VERSION, version_of
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind, step
from aileron_tui.core.lookalikes import known_names, remarks
from aileron_tui.core.prompt_rows import Row, fold_missing
from aileron_tui.core.resolved_step import ACCOUNT_FIELDS, ConnectorRef, ResolvedStep, short_name
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.skeletons import KnownNames
from aileron_tui.core.step_rows import step_rows, step_text
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, block, cells, inline, quoted, wrap

__all__ = [
    "EDITED",
    "NOT_AVAILABLE",
    "Asker",
    "ConnectorRef",
    "PreviewResult",
    "Prompt",
    "ResolvedStep",
    "count_warnings",
    "lines",
    "read_prompt",
    "row_lines",
    "unavailable_line",
]

NOT_AVAILABLE: Final = "n/a"
PROXY: Final = "mcp-proxy"
"""The door that fetches previews from an MCP server by itself."""

AGENT_SENT: Final = "agent sent"
READ_BY_GATE: Final = "read by the gate"
EDITED: Final = "edited: - as asked, + as approved"
_LABEL_WIDTH: Final = 24
_PLAIN_LABEL: Final = re.compile(r'\w(?:[^:" ]| (?! ))*')
_SINGLE_WORD: Final = re.compile(r'[^\s":·]+')
_INDENT: Final = " " * 6
# What follows the column of the signs.
_GUTTER: Final = "   > "
_ROW_HANG: Final = " " * 7


@dataclass(frozen=True, slots=True)
class Asker:
    """The agent that makes the request: `agent` is the name of its token, `says` is what it calls itself."""

    agent: str = ""
    session: str = ""
    folder: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True)
class PreviewResult:
    """The result of a preview: rows, or a short reason why there are none.

    `hidden` is the number of fetched values that the rows do not show. `told_by` is the door that fetched it, "" if the
    gate did; the door says that `source` is where it comes from.
    """

    rows: tuple[Row, ...] = ()
    unavailable: str = ""
    hidden: int = 0
    told_by: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    def fields(self, version: int = PROMPT_VERSION) -> JsonObject:
        """The result as JSON, in the format of prompts of this version."""
        fields: JsonObject = {"rows": _row_fields(self.rows), "unavailable": self.unavailable}
        if version > 2:
            fields["hidden"] = self.hidden
        if version > 4:
            fields |= {"told_by": self.told_by, "source": self.source}
        return fields

    @property
    def recorded(self) -> JsonObject:
        """The result as JSON for the ledger. What the gate fetched has the same form since version 3."""
        return self.fields() if self.told_by else self.fields(version=4)

    @property
    def digest(self) -> str:
        """SHA-256 of the result, for records that must not contain its text, and for rules."""
        return _sha256(canonical(self.recorded))


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything a decision is about. `preview` is None if the action has no preview directive.

    `steps` is what would run; it is empty if another program runs the call, and in prompts before version 3.
    `connector` is the connector of the first step. `question` and `warnings` are the program's own words about a tool
    call, and are empty in prompts before version 4; a warning may quote the call, or say which account an action lacks.
    `version` is the format version. A prompt that was read from JSON keeps its version, and so its digest. Since
    version 5, a connector names the account that it would use, or says what it lacks.

    Since version 5, the digest is made from two others: that of the call, and that of everything else. A program that
    knows the call can so check that a decision is about it, without having seen what the operator saw.
    """

    kind: str
    action: str
    connector: ConnectorRef
    args: JsonObject
    inputs: tuple[Row, ...]
    preview: PreviewResult | None
    asker: Asker
    risk: Risk
    steps: tuple[ResolvedStep, ...] = ()
    version: int = PROMPT_VERSION
    question: str = ""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", frozen_object(self.args))
        object.__setattr__(self, "warnings", tuple(self.warnings))
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "steps", tuple(self.steps))

    @property
    def agent(self) -> str:
        """The name of the agent's token, or "" if it is not known. Before version 3, prompts had only a claim."""
        return self.asker.agent if self.version > 2 else ""

    @property
    def says(self) -> str:
        """What the agent calls itself."""
        return self.asker.says if self.version > 2 else self.asker.agent

    def fields(self) -> JsonObject:
        """The prompt as JSON; `read_prompt` reads it back."""
        asker, risk = self.asker, self.risk
        asker_fields: JsonObject = {"agent": asker.agent, "session": asker.session, "folder": asker.folder}
        fields: JsonObject = {
            "kind": self.kind,
            "action": self.action,
            "connector": self.connector.fields(),
            "args": self.args,
            "inputs": _row_fields(self.inputs),
            "preview": self.preview.fields(self.version) if self.preview else None,
            "asker": asker_fields,
            "risk": {"level": risk.level, "reason": risk.reason},
        }
        if self.version > 1:
            fields["version"] = self.version
        if self.version > 2:
            asker_fields["says"] = asker.says
            fields["steps"] = [step.fields() for step in self.steps]
        if self.version > 3:
            fields |= {"question": self.question, "warnings": list(self.warnings)}
        return fields

    @property
    def digest(self) -> str:
        """What a decision is bound to. Any change to what is shown changes the digest."""
        if self.version < 5:
            return _sha256(canonical(self.fields()))
        return bound_digest(self.kind, self.action, self.connector, self.args, self.shown)

    @property
    def shown(self) -> str:
        """SHA-256 of the canonical JSON of everything that is shown beside the call."""
        return _sha256(canonical({name: value for name, value in self.fields().items() if name not in _OF_CALL}))


_OF_CALL: Final = ("kind", "action", "connector", "args")


def bound_digest(kind: str, action: str, connector: ConnectorRef, args: JsonObject, shown: str) -> str:
    """The digest of a prompt about this call, of which everything else that is shown has the digest `shown`."""
    call: JsonObject = {"kind": kind, "action": action, "connector": connector.fields(), "args": args}
    return _sha256(f'{{"call":"{_sha256(canonical(call))}","shown":"{shown}"}}'.encode())


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def read_prompt(value: Json) -> Prompt:
    """Reads a prompt from the JSON of a gate. Raises JsonError with the path of the problem."""
    version = version_of(value, "the prompt", PROMPT_VERSION) if isinstance(value, dict) else 1
    recent, has_question = version > 2, version > 3
    names = "kind action connector args inputs preview asker risk"
    more = " version" * (version > 1) + " steps" * recent + " question warnings" * has_question
    fields = _object(value, "$", names + more)
    asker = _object(fields["asker"], "$.asker", "agent session folder" + " says" * recent)
    risk = _object(fields["risk"], "$.risk", "level reason")
    level = _text(risk["level"], "$.risk.level")
    if level not in set(RiskLevel):
        raise JsonError(f"expected one of {', '.join(RiskLevel)}", "$.risk.level")
    preview = None if fields["preview"] is None else _preview(fields["preview"], "$.preview", version)
    return Prompt(
        _text(fields["kind"], "$.kind"),
        _text(fields["action"], "$.action"),
        _connector(fields["connector"], "$.connector", version),
        _any_object(fields["args"], "$.args"),
        _rows(fields["inputs"], "$.inputs"),
        preview,
        Asker(**{name: _text(item, f"$.asker.{name}") for name, item in asker.items()}),
        Risk(RiskLevel(level), _text(risk["reason"], "$.risk.reason")),
        _steps(fields["steps"], "$.steps", version) if recent else (),
        version,
        _text(fields["question"], "$.question") if has_question else "",
        _texts(fields["warnings"], "$.warnings") if has_question else (),
    )


def _preview(value: Json, path: str, version: int) -> PreviewResult:
    fields = _object(value, path, "rows unavailable" + " hidden" * (version > 2) + " told_by source" * (version > 4))
    hidden, told = fields.get("hidden", 0), [fields.get(name, "") for name in ("told_by", "source")]
    if type(hidden) is not int or hidden < 0:
        raise JsonError("expected an integer of 0 or more", f"{path}.hidden")
    unavailable = _text(fields["unavailable"], f"{path}.unavailable")
    told_by, source = (_text(item, f"{path}.told_by") for item in told)
    return PreviewResult(_rows(fields["rows"], f"{path}.rows"), unavailable, hidden, told_by, source)


def _connector(value: Json, path: str, version: int) -> ConnectorRef:
    given = [name for name in ACCOUNT_FIELDS if version > 4 and isinstance(value, dict) and value.get(name)]
    fields = _object(value, path, " ".join(("name version hash trust", *given)))
    return ConnectorRef(**{name: _text(item, f"{path}.{name}") for name, item in fields.items()})


def _steps(value: Json, path: str, version: int) -> tuple[ResolvedStep, ...]:
    return tuple(_step(item, step(path, index), version) for index, item in enumerate(_array(value, path)))


def _step(value: Json, path: str, version: int) -> ResolvedStep:
    fields = _object(value, path, "id op connector inputs")
    return ResolvedStep(
        _text(fields["id"], f"{path}.id"),
        _text(fields["op"], f"{path}.op"),
        _connector(fields["connector"], f"{path}.connector", version),
        _any_object(fields["inputs"], f"{path}.inputs"),
    )


def _any_object(value: Json, path: str) -> JsonObject:
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}", path)
    return value


def _object(value: Json, path: str, names: str) -> JsonObject:
    value = _any_object(value, path)
    if odd := value.keys() ^ set(names.split()):
        raise JsonError("this field is missing or unknown", step(path, min(odd)))
    return value


def _text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", path)
    return value


def _texts(value: Json, path: str) -> tuple[str, ...]:
    return tuple(_text(item, step(path, index)) for index, item in enumerate(_array(value, path)))


def _array(value: Json, path: str) -> list[Json]:
    if not isinstance(value, list):
        raise JsonError(f"expected an array, found {kind(value)}", path)
    return value


def _rows(value: Json, path: str) -> tuple[Row, ...]:
    return tuple(_row(item, step(path, index)) for index, item in enumerate(_array(value, path)))


def _row(value: Json, path: str) -> Row:
    fields = _object(value, path, "label value missing multiline")
    missing, multiline = fields["missing"], fields["multiline"]
    if not isinstance(missing, bool) or not isinstance(multiline, bool):
        raise JsonError('"missing" and "multiline" must be booleans', path)
    return Row(_text(fields["label"], f"{path}.label"), _text(fields["value"], f"{path}.value"), missing, multiline)


def _row_fields(rows: tuple[Row, ...]) -> Json:
    return [
        {"label": row.label, "value": row.value, "missing": row.missing, "multiline": row.multiline} for row in rows
    ]


def unavailable_line(reason: str) -> Visible:
    """The line that says why there is no preview."""
    return inline(f"Preview unavailable: {reason}")


def not_shown(count: int) -> str:
    """How many fetched values have no row."""
    return "1 fetched field" if count == 1 else f"{count:,} fetched fields"


def lines(
    prompt: Prompt, width: int = 0, edited_from: Prompt | None = None, *, daemon: bool = False
) -> Iterator[Visible]:
    """The prompt as plain text: a title, then rows below a heading that says where they come from.

    The column where a line begins says who wrote it, and foreign text cannot change it:

    - Column 0 is the program's: the title, headings, `Preview unavailable`, `Not shown`, `would run`. In rows, it has
      only the sign of an edit.
    - Column 2 has labels. A label that begins with a blank or a sign, or has a colon, a quote or several spaces in a
      row, is put in quotes.
    - Column 4 has the program's remarks (`!` and `·`) and the gutter (`>`) of long values.
    - What is wrapped continues at column 6 in the program's lines and in long values, and at column 8 or later in rows.

    This also holds for a terminal of the given `width`. The warnings about a tool call are not here: a surface shows
    them with its other cautions. `daemon` says that a daemon made the request, and so may have filled in some of the
    inputs.
    """
    name = inline(prompt.action)
    title = f"{name}: {inline(prompt.question)}" if prompt.question else f"Approve {name}?"
    yield from wrap(Visible(title), width, _INDENT)
    if edited_from is not None:
        yield Visible(EDITED)
    sections = _sections(prompt, edited_from, daemon=daemon)
    known = _known(sections)
    *origins, (_, steps) = sections
    labels = _label_width([pair for _, pairs in origins for pair in pairs])
    for heading, pairs in origins:
        if pairs:
            yield from wrap(heading, width, _INDENT)
            yield from row_lines(pairs, width, known, labels)
    if prompt.preview and prompt.preview.unavailable:
        yield from wrap(unavailable_line(prompt.preview.unavailable), width, _INDENT)
    if prompt.preview and prompt.preview.hidden:
        yield from wrap(Visible(f"Not shown: {not_shown(prompt.preview.hidden)}"), width, _INDENT)
    if prompt.steps:
        yield from wrap(sections[-1][0], width, _INDENT)
        yield from row_lines(steps, width, known)


def shown_values(prompt: Prompt) -> Iterator[str]:
    """The values of all its rows."""
    fetched = (row for row in _fetched(prompt) if not row.missing)
    return (row.value for row in (*prompt.inputs, *fetched, *step_rows(prompt.steps, prompt.args)))


def count_warnings(prompt: Prompt) -> int:
    """How many warnings its rows have, and whether its preview is unavailable. `warnings` has those about the call."""
    values = Counter(shown_values(prompt))
    known = known_names(values)
    found = sum(count * len(remarks(value, known).warnings) for value, count in values.items())
    return found + bool(prompt.preview and prompt.preview.unavailable)


def _sections(prompt: Prompt, before: Prompt | None, *, daemon: bool = False) -> list[tuple[Visible, list[Pair]]]:
    """The rows of the prompt by where they come from, each group with its heading; last, the rows of what would run."""
    sent, filled = _by_origin(prompt, daemon=daemon)
    old_sent, old_filled = _by_origin(before, daemon=daemon) if before else (None, None)
    shown, was = _fetched(prompt), _fetched(before) if before else ()
    if before is None:
        shown = fold_missing(shown)
    steps = step_rows(prompt.steps, prompt.args)
    old_steps = step_rows(before.steps, before.args) if before and prompt.steps else None
    run = step_text(prompt.steps[0]) if len(prompt.steps) == 1 else f"{len(prompt.steps)} steps"
    return [
        (Visible(inline(sent_words(prompt))), paired(sent, old_sent)),
        (Visible(FILLED_IN), paired(filled, old_filled)),
        (_origin(prompt), paired(shown, was if shown and was else None)),
        (Visible(f"would run {inline(run)}"), paired(steps, old_steps)),
    ]


def _origin(prompt: Prompt) -> Visible:
    """Where the preview comes from."""
    if prompt.preview and prompt.preview.told_by:
        return Visible(inline(told_words(prompt, prompt.preview)))
    if prompt.kind in NOT_RUN_HERE:
        return Visible(READ_BY_GATE)
    if prompt.kind == OPENCODE:
        return Visible(TOLD_BY_OPENCODE)
    name = prompt.connector.name
    return Visible(f"fetched by {f'connector {inline(short_name(name))}' if name else 'a connector'}")


def told_origin(prompt: Prompt) -> str:
    """Who told a preview that the gate did not fetch. Only the name of the agent's token is known for sure."""
    return f"told by {prompt.asker.agent or 'the agent'}"


def sent_origin(prompt: Prompt) -> str:
    """Who wrote the rows of the call. No agent writes the definition of a tool: its server does."""
    return told_origin(prompt) if prompt.kind == CallKind.DEFINITION else AGENT_SENT


def sent_words(prompt: Prompt) -> str:
    """Where the rows of the call come from. It has foreign text."""
    if prompt.kind != CallKind.DEFINITION:
        return AGENT_SENT
    return f"{told_origin(prompt)}: sent by the server {_word(prompt.connector.name)}"


def told_words(prompt: Prompt, preview: PreviewResult) -> str:
    """Where a preview comes from that the gate did not fetch, as the agent says. It has foreign text."""
    server = _word(prompt.connector.name)
    if preview.told_by == PROXY:
        source = f" · {_word(preview.source)}" if preview.source else ""
        return f"{told_origin(prompt)}: fetched by the proxy from {server}{source}"
    return f"{told_origin(prompt)}: from the program {server}"


def _word(text: str) -> str:
    """Foreign text in a sentence of the program; in quotes if it could go on with the sentence."""
    return text if _SINGLE_WORD.fullmatch(text) else quoted(text)


def _by_origin(prompt: Prompt, *, daemon: bool) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    return split_by_origin(prompt.kind, prompt.args, prompt.inputs) if daemon else (prompt.inputs, ())


def _known(sections: list[tuple[Visible, list[Pair]]]) -> KnownNames:
    return known_names(row.value for _, pairs in sections for row, _ in pairs)


def row_lines(
    pairs: Sequence[Pair], width: int = 0, known: KnownNames | None = None, labels: int = 0
) -> Iterator[Visible]:
    """Rows as plain text, short ones first. The first column shows whether a line was removed or added by an edit.

    Content never reaches that column, so it cannot look edited if it is not. `known` has the names that look-alikes are
    compared with, by default those in the rows. `labels` is the width of the labels, by default that of the widest.
    """
    known = known or known_names(row.value for row, _ in pairs)
    labels = labels or _label_width(pairs)
    hang = max(labels + 3, len(_ROW_HANG))
    if width:
        hang = max(min(hang, width // 2), len(_ROW_HANG))
    for row, old in (pair for pair in pairs if not _is_block(pair)):
        for sign, shown in signed_rows(row, old):
            yield from wrap(_inline_row(shown, labels, sign), width, f"{sign}{' ' * hang}")
        yield from _remark_lines(row, known, width)
    for row, old in filter(_is_block, pairs):
        for sign, line, rest in _block_row(row, old):
            yield from wrap(Visible(f"{sign}{line}"), width, f"{sign}{rest}")
        yield from _remark_lines(row, known, width)


def _label_width(pairs: Sequence[Pair]) -> int:
    widths = (cells(_label(row)) for pair in pairs if not _is_block(pair) for row in pair[:1])
    return min(max(widths, default=0), _LABEL_WIDTH)


def _label(row: Row) -> Visible:
    """The label of a row; in quotes if it could pass for a remark, a gutter, or a label and its value."""
    label = inline(row.label)
    return label if _PLAIN_LABEL.fullmatch(label) else quoted(row.label)


def _is_block(pair: Pair) -> bool:
    row, old = pair
    return row.multiline or (old is not None and old.multiline)


def _fetched(prompt: Prompt) -> tuple[Row, ...]:
    return prompt.preview.rows if prompt.preview else ()


def _inline_row(row: Row, width: int, sign: str) -> Visible:
    label = f"{_label(row)}:"
    padding = " " * max(0, width + 1 - cells(label))
    return Visible(f"{sign} {label}{padding} {NOT_AVAILABLE if row.missing else inline(row.value)}")


def _block_row(row: Row, old: Row | None) -> Iterator[tuple[str, Visible, str]]:
    """Yields the lines of a block, each as its first column, the rest, and what a wrapped line continues with."""
    runs = difference(old.value, row.value) if old and not old.missing and not row.missing else None
    if runs is not None:
        yield " ", Visible(f" {_label(row)}:"), _ROW_HANG
        for sign, run in runs:
            yield from _quote(sign, run)
        return
    for sign, shown in signed_rows(row, old):
        if shown.missing:
            yield sign, Visible(f" {_label(shown)}: {NOT_AVAILABLE}"), _ROW_HANG
            continue
        yield sign, Visible(f" {_label(shown)}:"), _ROW_HANG
        yield from _quote(sign, shown.value)


def _quote(sign: str, text: str) -> Iterator[tuple[str, Visible, str]]:
    return ((sign, Visible(f"{_GUTTER}{line}"), _GUTTER) for line in block(text))


def _remark_lines(row: Row, known: KnownNames, width: int) -> Iterator[Visible]:
    found = remarks(row.value, known)
    for sign, sentences in (("!", found.warnings), ("·", found.notes)):
        for sentence in sentences:
            yield from wrap(Visible(f"    {sign} {inline(sentence)}"), width, _INDENT)
