"""What the operator is shown for a request, as a value, and the digest that binds a decision to it."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, kind, step
from aileron_tui.core.lookalikes import warnings
from aileron_tui.core.risk import Level, Risk
from aileron_tui.core.rows import Row
from aileron_tui.core.text import Visible, block, cells, inline, wrap

NOT_AVAILABLE: Final = "n/a"
_LABEL_WIDTH: Final = 24
_GUTTER: Final = "    > "
_INDENT: Final = "      "


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, as far as the gate knows."""

    agent: str = ""
    session: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorRef:
    """The connector that would run: name, version, hash of its bytes, and whether its publisher is known."""

    name: str
    version: str = ""
    hash: str = ""
    trust: str = ""


@dataclass(frozen=True, slots=True)
class PreviewResult:
    """What was fetched: rows, or the short reason why there are none."""

    rows: tuple[Row, ...] = ()
    unavailable: str = ""

    def fields(self) -> JsonObject:
        """What was fetched, as JSON."""
        return {"rows": _row_fields(self.rows), "unavailable": self.unavailable}

    @property
    def digest(self) -> str:
        """SHA-256 over what was fetched, for records that must not keep its text."""
        return f"sha256:{hashlib.sha256(canonical(self.fields())).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything a decision is about. `preview` is None where the action has no preview directive."""

    kind: str
    action: str
    connector: ConnectorRef
    args: JsonObject
    inputs: tuple[Row, ...]
    preview: PreviewResult | None
    asker: Asker
    risk: Risk

    def fields(self) -> JsonObject:
        """The prompt as JSON; `read_prompt` reads it back."""
        connector, asker, risk = self.connector, self.asker, self.risk
        return {
            "kind": self.kind,
            "action": self.action,
            "connector": {
                "name": connector.name,
                "version": connector.version,
                "hash": connector.hash,
                "trust": connector.trust,
            },
            "args": self.args,
            "inputs": _row_fields(self.inputs),
            "preview": self.preview.fields() if self.preview else None,
            "asker": {"agent": asker.agent, "session": asker.session, "folder": asker.folder},
            "risk": {"level": risk.level, "reason": risk.reason},
        }

    @property
    def digest(self) -> str:
        """SHA-256 over the RFC 8785 form. A change of anything that is shown changes it."""
        return f"sha256:{hashlib.sha256(canonical(self.fields())).hexdigest()}"


def read_prompt(value: Json) -> Prompt:
    """The prompt in JSON from a gate, or a JsonError that names the path of what is wrong."""
    fields = _object(value, "$", "kind action connector args inputs preview asker risk")
    connector = _object(fields["connector"], "$.connector", "name version hash trust")
    asker = _object(fields["asker"], "$.asker", "agent session folder")
    risk = _object(fields["risk"], "$.risk", "level reason")
    level = _text(risk["level"], "$.risk.level")
    if level not in set(Level):
        raise JsonError(f"expected one of {', '.join(Level)}", "$.risk.level")
    args = fields["args"]
    if not isinstance(args, dict):
        raise JsonError(f"expected an object, found {kind(args)}", "$.args")
    preview = None
    if fields["preview"] is not None:
        fetched = _object(fields["preview"], "$.preview", "rows unavailable")
        rows = _rows(fetched["rows"], "$.preview.rows")
        preview = PreviewResult(rows, _text(fetched["unavailable"], "$.preview.unavailable"))
    return Prompt(
        _text(fields["kind"], "$.kind"),
        _text(fields["action"], "$.action"),
        ConnectorRef(**{name: _text(item, f"$.connector.{name}") for name, item in connector.items()}),
        args,
        _rows(fields["inputs"], "$.inputs"),
        preview,
        Asker(**{name: _text(item, f"$.asker.{name}") for name, item in asker.items()}),
        Risk(Level(level), _text(risk["reason"], "$.risk.reason")),
    )


def _object(value: Json, path: str, names: str) -> JsonObject:
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}", path)
    if odd := value.keys() ^ set(names.split()):
        raise JsonError("a field that is missing or unknown", step(path, min(odd)))
    return value


def _text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", path)
    return value


def _rows(value: Json, path: str) -> tuple[Row, ...]:
    if not isinstance(value, list):
        raise JsonError(f"expected an array, found {kind(value)}", path)
    return tuple(_row(item, step(path, index)) for index, item in enumerate(value))


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
    """The one line that says there is no preview, and why."""
    return inline(f"Preview unavailable: {reason}")


def lines(prompt: Prompt, width: int = 0) -> Iterator[Visible]:
    """The prompt as plain text: a header, the inputs, then what was fetched; blocks are quoted below the rows.

    Every label and value passes through the function that makes foreign text visible, and every line of content
    stands behind an indent or a gutter of ours, so that content cannot pass for a row. With the `width` of a
    terminal, that holds for lines that it would wrap as well.
    """
    yield Visible(f"Approve {inline(prompt.action)}?")
    fetched = prompt.preview.rows if prompt.preview else ()
    rows = (*prompt.inputs, *fetched)
    labels = max((cells(inline(row.label)) for row in rows if not row.multiline), default=0)
    for row in rows:
        if not row.multiline:
            line = _inline_row(row, min(labels, _LABEL_WIDTH))
            yield from wrap(line, width, " " * (min(labels, _LABEL_WIDTH) + 4))
            yield from _warned(row, width)
    for row in rows:
        if row.multiline:
            for line in _block_row(row):
                yield from wrap(line, width, _GUTTER)
            yield from _warned(row, width)
    if prompt.preview and prompt.preview.unavailable:
        yield from wrap(Visible(f"  {unavailable_line(prompt.preview.unavailable)}"), width, _INDENT)


def _inline_row(row: Row, width: int) -> Visible:
    label = inline(row.label) + ":"
    padding = " " * max(0, width + 1 - cells(label))
    return Visible(f"  {label}{padding} {NOT_AVAILABLE if row.missing else inline(row.value)}")


def _block_row(row: Row) -> Iterator[Visible]:
    label = inline(row.label)
    if row.missing:
        yield Visible(f"  {label}: {NOT_AVAILABLE}")
        return
    yield Visible(f"  {label}:")
    for line in block(row.value):
        yield Visible(f"{_GUTTER}{line}")


def _warned(row: Row, width: int) -> Iterator[Visible]:
    for warning in _unique(warnings(row.value)):
        yield from wrap(Visible(f"    ! {inline(warning)}"), width, _INDENT)


def _unique(items: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(items))
