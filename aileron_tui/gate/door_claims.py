"""Reads what a door says about a tool call beyond the call itself. Raises JsonError that names the field."""

import re
from typing import Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind, step
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.tool_call import DoorClaims
from aileron_tui.core.visible_text import quoted

_MOST_ROWS: Final = 100
_LONGEST: Final = {"label": 100, "value": 200_000, "unavailable": 1000, "from": 200}
_RAISED: Final = (RiskLevel.NORMAL, RiskLevel.HIGH)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_KINDS: Final = ("", "call", "definition")


def read_claims(body: JsonObject, agent: str, door: str, kind_: CallKind) -> DoorClaims:
    """The preview and the risk that a door gives. They are shown as words of the agent, whatever the door is called."""
    level, reason = str(body.get("risk", "")), str(body.get("risk_reason", ""))
    if level and level not in _RAISED:
        raise JsonError(f"expected one of {', '.join(_RAISED)}", "$.risk")
    risk = Risk(RiskLevel(level), _said(agent, reason) or f"{agent} says so") if level else None
    told = body.get("preview")
    if told is not None and kind_ is CallKind.DEFINITION:
        raise JsonError("the definition of a tool has no preview", "$.preview")
    if told is not None and not body.get("server"):
        raise JsonError("only a tool of a server or a program can have a preview; give its server", "$.preview")
    return DoorClaims(None if told is None else _preview(told, agent, door), risk)


def check_definition(asks: str, definition: str, server: str, args: JsonObject) -> bool:
    """Whether the definition of a tool is asked about instead of a call. Checks what has to do with definitions."""
    if asks not in _KINDS:
        raise JsonError(f"expected one of {', '.join(_KINDS[1:])}", "$.kind")
    if definition and not _HASH.fullmatch(definition):
        raise JsonError("expected a hash such as sha256:… with 64 hex digits", "$.definition")
    if (definition or asks == "definition") and not server:
        raise JsonError("this field is missing", "$.server")
    if asks != "definition":
        return False
    if args.keys() != {"before", "after"}:
        raise JsonError("expected the definition before and after the change", "$.input")
    for name, allowed in (("before", dict | None), ("after", dict)):
        if not isinstance(args[name], allowed):
            raise JsonError(f"expected an object, found {kind(args[name])}", f"$.input.{name}")
    return True


def _said(agent: str, text: str) -> str:
    """Words of an agent inside those of the gate."""
    return f"{agent} says: {quoted(text)}" if text else ""


def _preview(value: Json, agent: str, door: str) -> PreviewResult:
    fields = _object(value, "$.preview", ("rows", "unavailable", "hidden", "from"))
    rows, hidden = fields.get("rows", []), fields.get("hidden", 0)
    if not isinstance(rows, list) or len(rows) > _MOST_ROWS:
        raise JsonError(f"expected an array of at most {_MOST_ROWS} rows", "$.preview.rows")
    if type(hidden) is not int or not 0 <= hidden <= 1_000_000:
        raise JsonError("expected a whole number from 0 to 1,000,000", "$.preview.hidden")
    unavailable, source = _text(fields, "unavailable", "$.preview"), _text(fields, "from", "$.preview")
    read = tuple(_row(row, step("$.preview.rows", index)) for index, row in enumerate(rows))
    return PreviewResult(() if unavailable else read, _said(agent, unavailable), hidden, door, source)


def _row(value: Json, path: str) -> Row:
    fields = _object(value, path, ("label", "value", "multiline", "missing"))
    for name in ("multiline", "missing"):
        if not isinstance(fields.get(name, False), bool):
            raise JsonError(f"expected a boolean, found {kind(fields[name])}", f"{path}.{name}")
    label, text = _text(fields, "label", path), _text(fields, "value", path)
    return Row(label, text, bool(fields.get("missing")), bool(fields.get("multiline")))


def _object(value: Json, path: str, names: tuple[str, ...]) -> JsonObject:
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}", path)
    if unknown := sorted(value.keys() - set(names)):
        raise JsonError(f"unknown field; expected {', '.join(names)}", step(path, unknown[0]))
    return value


def _text(fields: JsonObject, name: str, path: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", f"{path}.{name}")
    if len(value) > _LONGEST[name]:
        raise JsonError(f"expected at most {_LONGEST[name]:,} characters", f"{path}.{name}")
    return value
