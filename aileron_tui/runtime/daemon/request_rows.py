"""The rows that show the args of a daemon's request. Every arg has a row, and every row the daemon sent is kept."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from aileron_tui.core.daemon_kinds import ACTION, KINDS, KindArgument, has_row
from aileron_tui.core.jsontext import Json, JsonObject, compact, plain
from aileron_tui.core.prompt_rows import Row
from aileron_tui.runtime.daemon.go_text import spellings


def argument_rows(kind: str, args: JsonObject, input_fields: Json = None) -> tuple[Row, ...]:
    """The rows for the args of a request. `input_fields` are the rows that the daemon sent for an action."""
    if kind in KINDS:
        return _declared_rows(KINDS[kind].arguments, args)
    if kind == ACTION and isinstance(input_fields, list):
        return _sent_rows([read_row(field) for field in input_fields], args)
    return tuple(_other_rows(args, args))


def read_row(field: Json) -> Row:
    """A row in the daemon's JSON. Anything unusual about it is shown, not dropped."""
    if not isinstance(field, dict):
        return Row("", compact(field))
    label, value = field.get("label"), field.get("value")
    text = "" if value is None else plain(value)
    return Row(
        "" if label is None else compact(label),
        text,
        missing=field.get("missing") is True and not text,
        multiline=field.get("multiline") is True or "\n" in text,
    )


def _declared_rows(arguments: Iterable[KindArgument], args: JsonObject) -> tuple[Row, ...]:
    rows: list[Row] = []
    for argument in arguments:
        value = args.get(argument.name)
        if value is not None:
            multiline = argument.multiline or _is_multiline(value)
            rows.append(Row(argument.label, plain(value), multiline=multiline))
        elif has_row(argument, args):
            rows.append(Row(argument.label, missing=True, multiline=argument.multiline))
    return (*rows, *_other_rows(args.keys() - {argument.name for argument in arguments}, args))


def _other_rows(names: Iterable[str], args: JsonObject) -> Iterator[Row]:
    for name in sorted(names):
        yield Row(name, plain(args[name]), multiline=_is_multiline(args[name]))


def _is_multiline(value: Json) -> bool:
    return isinstance(value, list | dict) or (isinstance(value, str) and "\n" in value)


def _sent_rows(sent: list[Row], args: JsonObject) -> tuple[Row, ...]:
    """The rows that the daemon sent, with exact values where Go's text loses information, then the other args.

    Labels come from the manifest, so only the text can show which arg a row is for. If a text fits several args, the
    row stays as it was sent, and the args for which that text loses information get their own rows.
    """
    bound: dict[str, int] = {}
    for number, row in enumerate(sent):
        if not row.missing and row.label in args and row.label not in bound and row.value in spellings(args[row.label]):
            bound[row.label] = number
    exact, lossy = _by_text({name: value for name, value in args.items() if name not in bound})
    used = set(bound.values())
    for number, row in enumerate(sent):
        if number in used or row.missing:
            continue
        names = exact.get(row.value) if row.value in exact else lossy.get(row.value)
        while names and names[-1] in bound:
            names.pop()
        if names and (row.value in exact or len(names) == 1):
            bound[names.pop()] = number
    rows = list(sent)
    for name, number in bound.items():
        value = args[name]
        row = rows[number]
        rows[number] = replace(row, value=plain(value), multiline=row.multiline or _is_multiline(value))
    return (*rows, *_other_rows(args.keys() - bound.keys(), args))


def _by_text(args: JsonObject) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The names of args by the texts a daemon may show for them: the exact texts, and those that lose information."""
    exact: dict[str, list[str]] = {}
    lossy: dict[str, list[str]] = {}
    for name, value in reversed(args.items()):
        if value is not None:
            for text in spellings(value):
                (exact if text == plain(value) else lossy).setdefault(text, []).append(name)
    return exact, lossy
