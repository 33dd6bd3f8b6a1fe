"""Prompts of tool calls: rows, question, risk, warnings and what would change, from the call and the files it names.

Everything here is pure and never raises, whatever an agent sends. Every arg has a row. A call that does not have the
known args of its tool is shown as it is, with a warning.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.file_changes import MOST_PATHS, FileChange, change_preview, file_changes
from aileron_tui.core.jsontext import Json, plain
from aileron_tui.core.name_warnings import name_warnings
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import RiskRule
from aileron_tui.core.shell_risk import shell_warnings
from aileron_tui.core.shell_rows import shell_rows
from aileron_tui.core.tool_call import DoorClaims, FileFacts, NamedPath, ToolCall, ToolPrompt
from aileron_tui.core.tool_definition import definition_prompt
from aileron_tui.core.tool_kind import ArgRole, ToolKind, ToolUse
from aileron_tui.core.tool_kinds import is_known_tool, uses_of
from aileron_tui.core.tool_paths import absolute
from aileron_tui.core.tool_places import FULL_PATH, place_rows, place_warnings, quoted_part
from aileron_tui.core.tool_reading import ToolReading, read_call
from aileron_tui.core.tool_risk import tool_risk
from aileron_tui.core.url_cautions import url_facts, urls_in

_LONG: Final = 200
_MOST_WARNINGS: Final = 20
_UNKNOWN_SHAPE: Final = "the args are not those that this tool is known to have, so its effect is not known"


def named_paths(call: ToolCall) -> tuple[NamedPath, ...]:
    """The paths that a call names, and the agent's folder if there are any. At most 16, absolute."""
    if call.kind is CallKind.DEFINITION:
        return ()
    found = [NamedPath(place.path, place.changes, place.needs_text) for place in read_call(call).places if place.path]
    paths = tuple({named.path: named for named in reversed(found)}.values())[::-1][:MOST_PATHS]
    folder = absolute(call.folder, "")
    if not paths or not folder or any(named.path == folder for named in paths):
        return paths
    return (*paths, NamedPath(folder))


def tool_prompt(
    call: ToolCall, files: Mapping[str, FileFacts], rules: Sequence[RiskRule] = (), own: Sequence[str] = ()
) -> ToolPrompt:
    """What the operator is shown for a call. `files` is what the gate found at each of its `named_paths`."""
    if call.kind is CallKind.DEFINITION:
        return definition_prompt(call)
    reading = read_call(call)
    changes = file_changes(reading.kind, call.args, call.folder, files) if reading.kind else ()
    warnings = tuple(dict.fromkeys(_warnings(reading, changes, files, own)))
    shown = warnings[:_MOST_WARNINGS]
    if len(warnings) > len(shown):
        shown += (f"there are {len(warnings) - len(shown):,} more warnings",)
    return ToolPrompt(
        reading.kind.question if reading.kind and not reading.unknown else "",
        tuple(_rows(reading, files)),
        tool_risk(reading, files, rules, own),
        shown,
        change_preview(changes),
    )


def with_claims(shown: ToolPrompt, claims: DoorClaims) -> ToolPrompt:
    """A prompt with what the door says: it can only raise the risk, and has a preview only where the gate has none."""
    risk = claims.risk if claims.risk and claims.risk.level.rank > shown.risk.level.rank else shown.risk
    return replace(shown, risk=risk, preview=shown.preview or claims.preview)


def shell_command(call: ToolCall) -> str:
    """The command line of a shell tool whose args have the known shape, else "".

    One that does not run as usual, for example in another folder, has none, so that no rule about commands covers it.
    """
    reading = read_call(call)
    kind = reading.kind
    if kind is None or kind.use is not ToolUse.SHELL or reading.unknown or reading.powers:
        return ""
    return kind.text(ArgRole.COMMAND, call.args) if reading.folder == call.folder else ""


def is_shell(call: ToolCall) -> bool:
    """Whether a tool of this name runs commands, whatever its args."""
    return ToolUse.SHELL in uses_of(call.tool)


def is_reading(call: ToolCall) -> bool:
    """Whether a tool surely only reads files or the output of the agent's own shells."""
    reading = read_call(call)
    return reading.kind is not None and reading.kind.use is ToolUse.READ and not reading.unknown


def _rows(reading: ToolReading, files: Mapping[str, FileFacts]) -> Iterator[Row]:
    call, kind = reading.call, reading.kind
    own: list[Row] = []
    if reading.name.server:
        own = [Row("Server", reading.name.server), Row("Tool", reading.name.tool)]
    last: list[Row] = []
    for argument in kind.arguments if kind else ():
        if argument.name not in call.args:
            continue
        row = _row(argument.label, call.args[argument.name], long=argument.role in _LONG_ROLES)
        if argument.role is ArgRole.WORDS:
            last.append(row)
            continue
        own.append(row)
        if argument.role is ArgRole.COMMAND and reading.shell:
            if kind and not kind.texts(ArgRole.FOLDER, call.args) and call.folder:
                own.append(Row("Folder", call.folder))
            own.extend(shell_rows(reading.shell))
            own.extend(row for row in place_rows(reading.places, files) if row.label != FULL_PATH)
        elif argument.role in (ArgRole.PATH, ArgRole.PATCH, ArgRole.FOLDER):
            own.extend(place_rows(reading.places, files))
        elif argument.role in (ArgRole.URL, ArgRole.URLS):
            own.extend(_host_rows(_urls(kind, call)))
    yield from own
    labels = {row.label.casefold() for row in (*own, *last)}
    for name in reading.unknown if kind else call.args:
        yield _row(_label(name, labels), call.args[name])
    yield from last


_LONG_ROLES: Final = frozenset((ArgRole.CONTENT, ArgRole.OLD, ArgRole.NEW, ArgRole.EDITS, ArgRole.PATCH))


def _row(label: str, value: Json, *, long: bool = False) -> Row:
    text = plain(value)
    return Row(label, text, multiline=long or isinstance(value, list | dict) or "\n" in text or len(text) > _LONG)


def _label(name: str, taken: set[str]) -> str:
    """The label of an arg that this program does not know. It cannot be taken for a label of this program."""
    is_plain = name.isascii() and name.replace("_", "").replace("-", "").replace(".", "").isalnum()
    is_plain = is_plain and not name[0].isupper()  # as labels of this program begin
    return name if is_plain and name.casefold() not in taken else f'arg "{name}"'


def _urls(kind: ToolKind | None, call: ToolCall) -> tuple[str, ...]:
    """The URLs that a call would fetch."""
    if kind is None:
        return ()
    in_texts = (url for text in kind.texts(ArgRole.URLS, call.args) for url in urls_in(text))
    return (*kind.texts(ArgRole.URL, call.args), *in_texts)


def _host_rows(urls: Sequence[str]) -> Iterator[Row]:
    return (Row("Host", host) for host in dict.fromkeys(url_facts(url).host for url in urls) if host)


def _warnings(
    reading: ToolReading,
    changes: Sequence[FileChange],
    files: Mapping[str, FileFacts],
    own: Sequence[str],
) -> Iterator[str]:
    call, kind = reading.call, reading.kind
    yield from name_warnings("tool", [reading.name.tool])
    yield from name_warnings("server", [reading.name.server])
    if kind is None:
        if is_known_tool(call.tool) and not reading.name.server:
            yield _UNKNOWN_SHAPE
        return
    for label in reading.powers:
        yield f"it asks for more than usual: {label.lower()}"
    if reading.shell:
        yield from shell_warnings(reading.shell, reading.folder, own)
        if reading.folder != call.folder:
            yield f"it runs in another folder than the agent's: {reading.folder}"
    if reading.more_places:
        yield f"it names {reading.more_places:,} more paths, which were not looked at"
    yield from place_warnings(reading.places, call.folder, files, own)
    urls = _urls(kind, call)
    for url in urls:
        yield from url_facts(url).warnings
    if kind.use is ToolUse.FETCH and not urls:
        yield "no URL was found in it, so its host is not known"
    for change in changes:
        yield from change.warnings
    for name in reading.unknown:  # the last ones, so that many of them hide nothing
        yield f"it has an arg that this tool is not known to have: {quoted_part(name)}"
