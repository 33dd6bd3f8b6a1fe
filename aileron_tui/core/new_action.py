"""Writes the manifest of a new action from what its author says about it."""

from collections.abc import Mapping

from aileron_tui.core.interpolation import own_template
from aileron_tui.core.jsontext import Json
from aileron_tui.core.toml_edit import toml_key, toml_value
from aileron_tui.core.values import dataclass

_VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class NewInput:
    """An input of the action."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class NewAction:
    """An action of one step. `constants` are what every action of the connector passes to it.

    `preview` is the op that is called before asking, "" for none, and `shown` says which of its fields are shown.
    """

    name: str
    intent: str
    connector: str
    connector_version: str
    hash: str
    op: str
    inputs: tuple[NewInput, ...] = ()
    constants: tuple[tuple[str, Json], ...] = ()
    gated: bool = False
    preview: str = ""
    shown: tuple[tuple[str, str], ...] = ()


def action_text(new: NewAction) -> str:
    """The text of the `action.md`."""
    passed: dict[str, Json] = {**dict(new.constants), **{each.name: own_template(each.name) for each in new.inputs}}
    parts = [
        _table("", {"name": new.name, "version": _VERSION, "source": _source(new)}),
        _table(
            "[[requires.connectors]]",
            {"name": new.connector, "version": new.connector_version, "hash": new.hash, "capabilities": [new.op]},
        ),
        _table("[match]", {"intent": new.intent}),
        *(
            _table("[[inputs]]", {"name": each.name, "type": each.type, "description": each.description})
            for each in new.inputs
        ),
        _table(
            "[[execute]]",
            {"id": new.op, "connector": new.connector, "op": new.op, "idempotent": not new.gated},
        ),
        *([_table("[execute.inputs]", passed)] if passed else []),
    ]
    if new.gated:
        parts.append(_table("[approval]", {"required": True}))
    if new.preview:
        parts.append(_table("[approval.preview]", {"op": new.preview}))
        parts += [_table("[approval.preview.args]", passed)] if passed else []
        parts.append(_table("[approval.preview.render]", dict(new.shown)))
    return "+++\n{}+++\n\n# {}\n\n{}\n".format("\n".join(parts), new.intent, _explanation(new))


def _source(new: NewAction) -> str:
    return f"{new.connector}/actions/{new.name}@{_VERSION}"


def _table(header: str, pairs: Mapping[str, Json]) -> str:
    lines = [header] if header else []
    lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in pairs.items()]
    return "".join(f"{line}\n" for line in lines)


def _explanation(new: NewAction) -> str:
    if new.gated:
        return f"A person is asked before `{new.op}` runs."
    return f"Not gated: an agent can call it at any time, so `{new.op}` must only read."
