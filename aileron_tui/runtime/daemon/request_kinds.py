"""The kinds of request a daemon knows: which rows show their args, what of them can be edited, how risky they are."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject, compact, plain
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.values import dataclass
from aileron_tui.runtime.daemon.go_text import spellings

ACTION: Final = "action"
COMMS_SEND: Final = "comms_send"
COMMS_DRAFT: Final = "comms_draft"
HTTP_REQUEST: Final = "http_request"
SHELL: Final = "shell"

DRAFT: Final = "draft_body"
SAVE: Final = "save_policy"
SAVE_AS: Final = (
    ("", "once: ask again next time"),
    ("project", "always in this project"),
    ("user", "always, for this user"),
)

_READING: Final = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class KindArgument:
    """One arg of a kind, and the label its row has. An optional one has a row only when it is there."""

    name: str
    label: str
    multiline: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class RequestKind:
    """What is known about requests of one kind. `inputs` are those that can be edited, as a form reads them."""

    parts: tuple[KindArgument, ...]
    risk: Callable[[JsonObject], Risk]
    inputs: tuple[JsonObject, ...] = ()
    edits: tuple[str, str] = ("", "")
    """The input that can be edited, and what the daemon calls it in an answer."""


def _sends(_: JsonObject) -> Risk:
    return Risk(RiskLevel.HIGH, "a message that was sent cannot be taken back")


def _answers(_: JsonObject) -> Risk:
    return Risk(RiskLevel.HIGH, "it answers somebody in your name")


def _calls(args: JsonObject) -> Risk:
    method, body = args.get("method"), args.get("body")
    if isinstance(method, str) and method.upper() in _READING and body in (None, ""):
        return Risk(RiskLevel.NORMAL, "it only reads, but its address can carry data out")
    return Risk(RiskLevel.HIGH, "it may change something elsewhere, or carry data out")


def _runs(_: JsonObject) -> Risk:
    return Risk(RiskLevel.HIGH, "a command can do whatever you can")


KINDS: Final = {
    COMMS_SEND: RequestKind(
        (KindArgument("service", "Service"), KindArgument("channel", "Channel"), KindArgument("body", "Body", True)),
        _sends,
    ),
    COMMS_DRAFT: RequestKind(
        (
            KindArgument("service", "Service"),
            KindArgument("channel", "Channel"),
            KindArgument("original_author", "Written by"),
            KindArgument("original_body", "Original", True),
            KindArgument("reply_to", "Reply to"),
            KindArgument(DRAFT, "Draft", True),
        ),
        _answers,
        ({"name": DRAFT, "type": "string", "required": True, "label": "Draft", "multiline": True},),
        (DRAFT, "body"),
    ),
    HTTP_REQUEST: RequestKind(
        (
            KindArgument("method", "Method"),
            KindArgument("url", "URL"),
            KindArgument("secret_name", "Credential"),
            KindArgument("body", "Body", True),
        ),
        _calls,
    ),
    SHELL: RequestKind(
        (
            KindArgument("command", "Command", True),
            KindArgument("reason", "Rule"),
            KindArgument("cwd", "Folder", optional=True),
            KindArgument(SAVE, "Save as rule", optional=True),
        ),
        _runs,
        (
            {
                "name": SAVE,
                "type": "string",
                "required": False,
                "label": "Save as rule",
                "multiline": False,
                "choices": [list(choice) for choice in SAVE_AS],
            },
        ),
        (SAVE, SAVE),
    ),
}


def rows(kind: str, args: JsonObject, told: Json = None) -> tuple[Row, ...]:
    """The rows that show the args of a request: none of them is left out. `told` are the daemon's `input_fields`."""
    if kind in KINDS:
        return _known(KINDS[kind].parts, args)
    if kind == ACTION and isinstance(told, list):
        return _projected([told_row(field) for field in told], args)
    return tuple(_extra(args, args))


def told_row(field: Json) -> Row:
    """A row that the daemon made; whatever is odd about it is shown, not lost."""
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


def _known(parts: Iterable[KindArgument], args: JsonObject) -> tuple[Row, ...]:
    shown: list[Row] = []
    for part in parts:
        value = args.get(part.name)
        if value is not None:
            multiline = part.multiline or _long(value)
            shown.append(Row(part.label, plain(value), multiline=multiline))
        elif not part.optional or part.name in args:
            shown.append(Row(part.label, missing=True, multiline=part.multiline))
    return (*shown, *_extra(args.keys() - {part.name for part in parts}, args))


def _extra(names: Iterable[str], args: JsonObject) -> Iterator[Row]:
    for name in sorted(names):
        yield Row(name, plain(args[name]), multiline=_long(args[name]))


def _long(value: Json) -> bool:
    return isinstance(value, list | dict) or (isinstance(value, str) and "\n" in value)


def _projected(told: list[Row], args: JsonObject) -> tuple[Row, ...]:
    """The daemon's rows, with the arg itself where Go's text of it says less, then every arg that has no row.

    Labels are the manifest's, so the text is what tells which arg a row shows. Where one text could be several args,
    the row stays as the daemon wrote it, and those whose text says less have rows of their own.
    """
    bound: dict[str, int] = {}
    for number, row in enumerate(told):
        if not row.missing and row.label in args and row.label not in bound and row.value in spellings(args[row.label]):
            bound[row.label] = number
    faithful, lossy = _by_text({name: value for name, value in args.items() if name not in bound})
    taken = set(bound.values())
    for number, row in enumerate(told):
        if number in taken or row.missing:
            continue
        names = faithful.get(row.value) if row.value in faithful else lossy.get(row.value)
        while names and names[-1] in bound:
            names.pop()
        if names and (row.value in faithful or len(names) == 1):
            bound[names.pop()] = number
    shown = list(told)
    for name, number in bound.items():
        value = args[name]
        row = shown[number]
        shown[number] = replace(row, value=plain(value), multiline=row.multiline or _long(value))
    return (*shown, *_extra(args.keys() - bound.keys(), args))


def _by_text(args: JsonObject) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The names of args by the texts a daemon may show for them: texts that say all, and texts that say less."""
    faithful: dict[str, list[str]] = {}
    lossy: dict[str, list[str]] = {}
    for name, value in reversed(args.items()):
        if value is not None:
            for text in spellings(value):
                (faithful if text == plain(value) else lossy).setdefault(text, []).append(name)
    return faithful, lossy
