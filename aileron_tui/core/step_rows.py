"""The rows of a prompt that say what would run: every step, and each input that is not just what the agent sent."""

from collections.abc import Iterator
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject, compact, plain
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.resolved_step import ResolvedStep, account_words

_HASH_SHOWN: Final = 15
_LONGEST_INLINE: Final = 200


def step_text(step: ResolvedStep) -> str:
    """A step as one line: its op, its connector, the account that it uses, and the start of the connector's hash."""
    connector = step.connector
    name = f"{connector.name} {connector.version}".rstrip()
    hash_ = connector.hash if len(connector.hash) <= _HASH_SHOWN else f"{connector.hash[:_HASH_SHOWN]}…"
    account = account_words(connector)
    return " · ".join(part for part in (step.op, name, account, hash_ or "hash not given") if part)


def step_rows(steps: tuple[ResolvedStep, ...], args: JsonObject) -> tuple[Row, ...]:
    """Rows for these steps of a call with these inputs. A single step has rows only for its own inputs."""
    if len(steps) == 1:
        return tuple(_input_rows(steps[0], args, ""))
    rows: list[Row] = []
    for number, step in enumerate(steps, start=1):
        rows.append(Row(f"Step {number}", step_text(step)))
        rows.extend(_input_rows(step, args, f"{number}. "))
        if same := [name for name in step.inputs if _is_own(step, name, args)]:
            rows.append(Row(f"{number}. as the agent sent", ", ".join(same)))
    return tuple(rows)


def _input_rows(step: ResolvedStep, args: JsonObject, prefix: str) -> Iterator[Row]:
    for name, value in step.inputs.items():
        if not _is_own(step, name, args):
            yield _row(f"{prefix}{name}", value)
    for name in args:
        if name not in step.inputs:
            yield Row(f"{prefix}{name}, not sent", missing=True)


def _is_own(step: ResolvedStep, name: str, args: JsonObject) -> bool:
    """Whether an input is exactly what the agent sent under the same name.

    Python calls 1 and true equal, also inside arrays and objects, so their JSON is compared.
    """
    if name not in args:
        return False
    own, sent = args[name], step.inputs[name]
    if type(own) is not type(sent) or own != sent:
        return False
    return own is sent or not isinstance(own, list | dict) or compact(own) == compact(sent)


def _row(label: str, value: Json) -> Row:
    text = plain(value)
    return Row(label, text, multiline=not isinstance(value, str | bool | int | float) or _is_long(text))


def _is_long(text: str) -> bool:
    return len(text) > _LONGEST_INLINE or "\n" in text
