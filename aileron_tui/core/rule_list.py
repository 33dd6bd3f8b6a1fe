"""Rules as a source lists and offers them, read and checked."""

from aileron_tui.core.call_kinds import NOT_RUN_HERE, CallKind
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, kind
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_reader import read_rule
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule, who made it and when, how often it was used, and whether it is in force.

    `ended` is when it was ended before its time, and `why` says why; both are empty if it was not.
    """

    rule: Rule
    in_force: bool
    made: str
    made_by: str
    signer: str
    ended: str
    why: str
    used: int
    last_used: str

    def facts(self) -> JsonObject:
        """Everything but the rule itself, as JSON."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "rule"}

    def fields(self) -> JsonObject:
        """The rule and everything about it, as JSON that `read_listed` reads."""
        return {"rule": self.rule.fields(), **self.facts()}


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call of the past that a rule would have answered."""

    id: str
    asked: str
    outcome: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class RuleOffer:
    """A rule that can be made from a request: its end is still to be chosen.

    In the last days it would have answered `answered` of the `asked` calls of its agent to its action.
    """

    rule: Rule
    asked: int
    answered: int
    examples: tuple[PastCall, ...]


@dataclass(frozen=True, slots=True)
class RefusedOffer:
    """A reach for which no rule can be made from a request, and why."""

    reach: str
    why: str


@dataclass(frozen=True, slots=True)
class RuleOffers:
    """The rules that can be made from a request, narrowest first. `days` is how far back the past calls go."""

    offers: tuple[RuleOffer, ...]
    refused: tuple[RefusedOffer, ...]
    days: int


def differs_from(rule: Rule, prompt: Prompt) -> str:
    """How a rule differs from the prompt from which it is made, in words, or "" if it covers what is shown there."""
    shown = prompt.preview.digest if prompt.preview else ""
    is_tool = prompt.kind in NOT_RUN_HERE
    command = _command(prompt) if rule.command else ""
    for what, own, other in (
        ("agent", rule.agent, prompt.agent),
        ("kind", rule.kind, prompt.kind if is_tool else CallKind.ACTION),
        ("action", rule.action, prompt.action),
        ("connector", rule.connector, prompt.connector.name if is_tool else prompt.connector.hash),
        ("definition", rule.runs if is_tool else "", prompt.connector.hash if is_tool else ""),
        ("folder", rule.folder, prompt.asker.folder if is_tool else ""),
        ("command", rule.command, command),
        ("inputs", rule.args, prompt.args if rule.args is not None else None),
        ("preview", rule.shown, shown if rule.args is not None else ""),
    ):
        if own != other:
            return f"it has another {what}" if what != "inputs" else "it has other inputs"
    return ""


def _command(prompt: Prompt) -> str:
    from aileron_tui.core.tool_prompts import shell_command  # noqa: PLC0415  # few rules are about commands

    return shell_command(ToolCall(prompt.action, prompt.args, prompt.connector.name, prompt.asker.folder))


def read_listed(value: Json, path: str = "$") -> ListedRule:
    """Reads one rule of a list. Raises JsonError."""
    fields = _object(value, path)
    in_force = fields.get("in_force")
    if not isinstance(in_force, bool):
        raise JsonError(f"expected a boolean, found {kind(in_force)}", f"{path}.in_force")
    texts = {name: _text(fields, name, path) for name in ("made", "made_by", "signer", "ended", "why", "last_used")}
    rule = read_rule(fields.get("rule"), f"{path}.rule")
    return ListedRule(rule=rule, in_force=in_force, used=_count(fields, "used", path), **texts)


def read_offers(value: Json, path: str = "$") -> RuleOffers:
    """Reads the rules that can be made from a request. Raises JsonError."""
    fields = _object(value, path)
    offers = tuple(_offer(item, f"{path}.offers[{index}]") for index, item in enumerate(_array(fields, "offers", path)))
    refused = tuple(
        RefusedOffer(_text(_object(item, path), "reach", path), _text(_object(item, path), "why", path))
        for item in _array(fields, "refused", path)
    )
    return RuleOffers(offers, refused, _count(fields, "days", path))


def _offer(value: Json, path: str) -> RuleOffer:
    fields = _object(value, path)
    past = _object(fields.get("past"), f"{path}.past")
    examples = tuple(_past_call(item, f"{path}.past.examples") for item in _array(past, "examples", f"{path}.past"))
    rule = read_rule(fields.get("rule"), f"{path}.rule")
    return RuleOffer(rule, _count(past, "asked", path), _count(past, "answered", path), examples)


def _past_call(value: Json, path: str) -> PastCall:
    fields = _object(value, path)
    args = _object(fields.get("args"), f"{path}.args")
    return PastCall(_text(fields, "id", path), _text(fields, "asked", path), _text(fields, "outcome", path), args)


def _object(value: Json, path: str) -> JsonObject:
    if not isinstance(value, dict):
        raise JsonError(f"expected an object, found {kind(value)}", path)
    return value


def _array(fields: JsonObject, name: str, path: str) -> list[Json]:
    value = fields.get(name)
    if not isinstance(value, list):
        raise JsonError(f"expected an array, found {kind(value)}", f"{path}.{name}")
    return value


def _text(fields: JsonObject, name: str, path: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise JsonError(f"expected a string, found {kind(value)}", f"{path}.{name}")
    return value


def _count(fields: JsonObject, name: str, path: str) -> int:
    value = fields.get(name)
    if type(value) is not int or value < 0:
        raise JsonError("expected an integer of 0 or more", f"{path}.{name}")
    return value
