"""Writes the manifests of generated actions, and the connectors that hand each call to the service word for word."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.sandbox.guests import guest

CONNECTORS: Final = ("store", "post")
"""Two connectors with the same code; the service is told which one called."""

# Reads its own input, escapes it as JSON text, and posts it. The input itself has no control characters.
_POST_INPUT: Final = """
  (local $n i32) (local $i i32) (local $out i32) (local $c i32) (local $rc i32)
  (i32.store (i32.const 32) (i32.const 2097152)) (i32.store (i32.const 36) (i32.const 2000000))
  (drop (call $fd_read (i32.const 0) (i32.const 32) (i32.const 1) (i32.const 40)))
  (local.set $n (i32.load (i32.const 40)))
  (local.set $out (i32.const 4194304))
  (memory.copy (local.get $out) {p0} {n0})
  (local.set $out (i32.add (local.get $out) {n0}))
  (block $done (loop $next
    (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
    (local.set $c (i32.load8_u (i32.add (i32.const 2097152) (local.get $i))))
    (if (i32.or (i32.eq (local.get $c) (i32.const 34)) (i32.eq (local.get $c) (i32.const 92))) (then
      (i32.store8 (local.get $out) (i32.const 92))
      (local.set $out (i32.add (local.get $out) (i32.const 1)))))
    (i32.store8 (local.get $out) (local.get $c))
    (local.set $out (i32.add (local.get $out) (i32.const 1)))
    (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br $next)))
  (memory.copy (local.get $out) {p1} {n1})
  (local.set $out (i32.add (local.get $out) {n1}))
  (local.set $rc (call $request (i32.const 4194304) (i32.sub (local.get $out) (i32.const 4194304))))
  (if (local.get $rc) (then
    (call $print {p2} {n2}) (call $number (local.get $rc)) (call $print {p3} {n3}) (return)))
  (local.set $n (call $read (i32.const 65536) (i32.const 1000000)))
  (if (i32.ne (i32.div_u (call $status) (i32.const 100)) (i32.const 2)) (then
    (call $print {p4} {n4}) (call $number (call $status)) (call $print {p5} {n5}) (return)))
  (call $print {p6} {n6}) (call $print (i32.const 65536) (local.get $n)) (call $print {p7} {n7})
"""


@dataclass(frozen=True, slots=True)
class Input:
    """An input of an action."""

    name: str
    label: str
    type: str = "string"
    required: bool = True
    multiline: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an action. Strings in `inputs` may contain `${args.name}`."""

    op: str
    inputs: Mapping[str, Any]
    connector: str = "store"
    id: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview directive."""

    render: Mapping[str, str]
    args: Mapping[str, Any] = field(default_factory=lambda: {"id": "${args.id}"})
    op: str = "get_object"
    multiline: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """An action with all that a manifest says about it."""

    name: str
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    preview: Preview | None = None
    gated: bool = True
    timeout: int = 0


@cache
def module(port: int, connector: str) -> bytes:
    """The code of a connector."""
    head = {"method": "POST", "url": f"http://127.0.0.1:{port}/call/{connector}", "body": "@"}
    before, after = json.dumps(head).encode().split(b"@")
    denied = b'{"error":{"class":"connector_runtime_error","message":"http_request denied or failed (rc='
    refused = b'{"error":{"class":"external_api_error","message":"Robot API returned '
    texts = (before, after, denied, b')"}}', refused, b'"}}', b'{"output":', b"}")
    return guest(_POST_INPUT, texts)


def name_of(connector: str) -> str:
    """The full name of a connector."""
    return f"local://robot/{connector}"


def write_connectors(folder: Path, port: int) -> None:
    """Adds the connectors to a bundle folder."""
    for connector in CONNECTORS:
        home = folder / "connectors" / f"robot-{connector}"
        home.mkdir(parents=True)
        (home / "connector.wasm").write_bytes(module(port, connector))
        (home / "manifest.toml").write_bytes(_connector_manifest(port, connector))


def write_actions(folder: Path, actions: Iterable[Action], port: int) -> None:
    """Adds actions to a bundle folder, or replaces them."""
    (folder / "actions").mkdir(exist_ok=True)
    for action in actions:
        text = action_manifest(action, port)
        made = folder / "actions" / f"{action.name}.md"
        draft = folder / f".{action.name}"
        draft.write_text(text, "utf-8", newline="\n")
        draft.replace(made)


def action_manifest(action: Action, port: int) -> str:
    """The manifest of an action."""
    ops: dict[str, list[str]] = {}
    for step in action.steps:
        ops.setdefault(step.connector, []).append(step.op)
    lines = [
        f"name = {_toml(action.name)}",
        'version = "1.0.0"',
        f'source = "local://robot/actions/{action.name}@1.0.0"',
    ]
    for connector, used in ops.items():
        lines += [
            "[[requires.connectors]]",
            f"name = {_toml(name_of(connector))}",
            'version = "1.0.0"',
            f"hash = {_toml(_pin(port, connector))}",
            f"capabilities = {_toml(list(dict.fromkeys(used)))}",
        ]
    lines += ["[match]", 'intent = "A generated action"']
    for item in action.inputs:
        lines += [
            "[[inputs]]",
            f"name = {_toml(item.name)}",
            f"type = {_toml(item.type)}",
            f"label = {_toml(item.label)}",
            'description = "An input."',
        ]
        lines += ["required = false"] * (not item.required) + ["multiline = true"] * item.multiline
    for number, step in enumerate(action.steps):
        lines += [
            "[[execute]]",
            f"id = {_toml(step.id or f's{number + 1}')}",
            f"connector = {_toml(name_of(step.connector))}",
            f"op = {_toml(step.op)}",
            f"idempotent = {_toml(not action.gated)}",
        ]
        if step.inputs:
            lines += ["[execute.inputs]", *(f"{name} = {_toml(value)}" for name, value in step.inputs.items())]
    if action.gated:
        lines += ["[approval]", "required = true"] + [f"timeout = {action.timeout}"] * bool(action.timeout)
    if action.preview:
        lines += [
            "[approval.preview]",
            f"op = {_toml(action.preview.op)}",
            f"args = {_toml(dict(action.preview.args))}",
            f"render = {_toml(dict(action.preview.render))}",
            f"multiline = {_toml(list(action.preview.multiline))}",
        ]
    return "\n".join(["+++", *lines, "+++", "", f"# {action.name}", ""])


READING: Final = Action("get-object", (Input("id", "Id"),), (Step("get_object", {"id": "${args.id}"}),), gated=False)
"""Not gated and only reads, which allows its op as a preview."""


def _connector_manifest(port: int, connector: str) -> bytes:
    return f"""[connector]
name = "{name_of(connector)}"
version = "1.0.0"
publisher = "robot"

[connector.idempotency]
default = "not_idempotent"

[capabilities.network]
hosts = ["127.0.0.1:{port}"]
""".encode()


def _pin(port: int, connector: str) -> str:
    return f"sha256:{hashlib.sha256(module(port, connector) + _connector_manifest(port, connector)).hexdigest()}"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _toml_text(value)
        case dict():
            return "{ " + ", ".join(f"{_toml_text(key)} = {_toml(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_toml(item) for item in value) + "]"
    return str(value)


def _toml_text(text: str) -> str:
    plain = "".join(
        character if character.isprintable() and character not in '"\\' else _toml_escape(character)
        for character in text
    )
    return f'"{plain}"'


def _toml_escape(character: str) -> str:
    code = ord(character)
    return f"\\{character}" if character in '"\\' else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
