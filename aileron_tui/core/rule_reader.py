"""Reads rules from JSON. A rule that is wider than a rule may be, or that fails its own examples, is refused."""

import re
from typing import Final

from aileron_tui.core.agent_names import is_agent_name
from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind, step
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import TEXTS, Rule, RuleReach, RuleVerdict, is_rule_id, rule_problem
from aileron_tui.core.rule_match import failed_example
from aileron_tui.core.times import TIME

MOST_EXAMPLES: Final = 20

_CHOICES: Final = {"verdict": RuleVerdict, "reach": RuleReach, "kind": CallKind, "risk": RiskLevel}
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_LONGEST_NAME: Final = 200
_LONGEST_TEXT: Final = 8192
_EXAMPLE_FIELDS: Final = {"agent": str, "action": str, "args": dict, "folder": str, "command": str}


def read_rule(value: Json, path: str = "$") -> Rule:
    """Reads a rule and checks that it is valid in itself. Raises JsonError with the path of the problem."""
    rule = _read(value, path)
    if why := rule_problem(rule):
        raise JsonError(why, path)
    if why := failed_example(rule):
        raise JsonError(why, path)
    return rule


def _read(value: Json, path: str) -> Rule:
    fields = _object(value, path)
    if odd := fields.keys() ^ {*TEXTS, "args", "match", "not_match"}:
        raise JsonError("this field is missing or unknown", step(path, min(odd)))
    texts = {name: _text(fields[name], step(path, name)) for name in TEXTS}
    for name, choices in _CHOICES.items():
        if texts[name] not in set(choices):
            raise JsonError(f"expected one of {', '.join(choices)}", step(path, name))
    for name, good, words in (
        ("id", is_rule_id(texts["id"]), "expected an id such as rule-0123456789abcdef"),
        ("agent", is_agent_name(texts["agent"]), "not a valid agent name"),
        ("action", 0 < len(texts["action"]) <= _LONGEST_NAME, f"expected 1 to {_LONGEST_NAME} characters"),
        ("ends", TIME.fullmatch(texts["ends"]), "expected a UTC time such as 2026-05-12T10:15:30.000000Z"),
        ("command", len(texts["command"]) <= _LONGEST_TEXT, f"longer than {_LONGEST_TEXT:,} characters"),
        ("folder", len(texts["folder"]) <= _LONGEST_TEXT, f"longer than {_LONGEST_TEXT:,} characters"),
        *((name, not texts[name] or _HASH.fullmatch(texts[name]), "not a hash") for name in ("runs", "shown")),
        ("connector", len(texts["connector"]) <= _LONGEST_NAME, f"longer than {_LONGEST_NAME} characters"),
    ):
        if not good:
            raise JsonError(words, step(path, name))
    args = fields["args"]
    return Rule(
        id=texts["id"],
        verdict=RuleVerdict(texts["verdict"]),
        agent=texts["agent"],
        action=texts["action"],
        reach=RuleReach(texts["reach"]),
        ends=texts["ends"],
        args=None if args is None else _object(args, step(path, "args")),
        kind=CallKind(texts["kind"]),
        command=texts["command"],
        folder=texts["folder"],
        connector=texts["connector"],
        runs=texts["runs"],
        shown=texts["shown"],
        risk=RiskLevel(texts["risk"]),
        match=_examples(fields["match"], step(path, "match")),
        not_match=_examples(fields["not_match"], step(path, "not_match")),
    )


def _examples(value: Json, path: str) -> tuple[JsonObject, ...]:
    if not isinstance(value, list) or len(value) > MOST_EXAMPLES:
        raise JsonError(f"expected an array of at most {MOST_EXAMPLES} examples", path)
    return tuple(read_example(item, step(path, index)) for index, item in enumerate(value))


def read_example(value: Json, path: str = "$") -> JsonObject:
    """Reads an example: some fields of a call. What it leaves out is as in the rule. Raises JsonError."""
    example = _object(value, path)
    for name, item in example.items():
        wanted = _EXAMPLE_FIELDS.get(name)
        if wanted is None:
            raise JsonError(f"not a field of an example; expected {', '.join(_EXAMPLE_FIELDS)}", step(path, name))
        if not isinstance(item, wanted):
            raise JsonError(f"expected {kind(wanted())}, found {kind(item)}", step(path, name))
    return example


def _object(value: Json, path: str) -> JsonObject:
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}", path)
    return value


def _text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", path)
    return value
