"""Tool calls read by their declarations: the tool, its shell command taken apart, and the paths that it names."""

import re
from itertools import islice
from typing import Final

from aileron_tui.core.file_changes import MOST_PATHS, changed_paths
from aileron_tui.core.jsontext import Json
from aileron_tui.core.shell_parts import ShellParts, take_apart
from aileron_tui.core.shell_rows import written_targets
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.core.tool_kind import ArgRole, ToolKind, ToolUse
from aileron_tui.core.tool_kinds import kind_of, unknown_names
from aileron_tui.core.tool_names import ToolName, tool_name
from aileron_tui.core.tool_paths import absolute
from aileron_tui.core.tool_places import Place
from aileron_tui.core.values import dataclass

_NO_POWER: Final[tuple[Json, ...]] = (None, False, "", "default", "plan", [], {})
_MOST_READ: Final = 10_000
_WILD: Final = re.compile(r"[*?\[{!(]")
_PIECES: Final = re.compile(r"[{},()|/]")
_ABSOLUTE_PIECE: Final = re.compile(r"[{,(|]/")
_DOTS_ONLY: Final = re.compile(r"\.+|")
_CLASS_OF_DOTS: Final = re.compile(r"\[[^\[\]]*[./]|\\")


@dataclass(frozen=True, slots=True)
class ToolReading:
    """A call and what is known about it. `kind` is None if the tool is not known or its args do not fit.

    `unknown` are args that the declaration does not have. `folder` is where the call works, `shell` its command.
    `more_places` is how many paths it names beyond those that are looked at.
    """

    call: ToolCall
    name: ToolName
    kind: ToolKind | None = None
    unknown: tuple[str, ...] = ()
    folder: str = ""
    shell: ShellParts | None = None
    places: tuple[Place, ...] = ()
    more_places: int = 0

    @property
    def powers(self) -> tuple[str, ...]:
        """The labels of args that give the call more power than usual."""
        arguments = [one for one in self.kind.arguments if one.role is ArgRole.POWER] if self.kind else []
        return tuple(one.label for one in arguments if self.call.args.get(one.name) not in _NO_POWER)


def read_call(call: ToolCall) -> ToolReading:
    """What is known about a call."""
    name = tool_name(call)
    kind = None if name.server else kind_of(call.tool, call.args)
    if kind is None:
        return ToolReading(call, name, folder=call.folder)
    shell = take_apart(kind.text(ArgRole.COMMAND, call.args)) if kind.use is ToolUse.SHELL else None
    folder = _folder(kind, call)
    unknown = unknown_names(kind, call.args)
    if shell and call.tool == "PowerShell":
        shell = ShellParts(shell.text, problem="it is not written for a POSIX shell")
    places = tuple(islice(_places(kind, call, shell, folder), _MOST_READ))
    kept = tuple(dict.fromkeys(places))[:MOST_PATHS]
    return ToolReading(call, name, kind, unknown, folder, shell, kept, len(set(places)) - len(kept))


def _folder(kind: ToolKind, call: ToolCall) -> str:
    """The folder in which a call works: the one it names, else the agent's."""
    named = kind.text(ArgRole.FOLDER, call.args)
    found = absolute(named, call.folder) if named else call.folder
    return call.folder if found == absolute(call.folder, "") else found


def _places(kind: ToolKind, call: ToolCall, shell: ShellParts | None, folder: str) -> tuple[Place, ...]:
    """Every path that a call names, and what the tool does there."""
    changed = changed_paths(kind, call.args)
    needs_text = kind.use in (ToolUse.WRITE, ToolUse.EDIT, ToolUse.PATCH)
    found = [Place(path, absolute(path, call.folder), changes=True, needs_text=needs_text) for path in changed]
    read = (*(() if changed else kind.texts(ArgRole.PATH, call.args)), *kind.texts(ArgRole.FOLDER, call.args))
    found += [Place(path, absolute(path, call.folder)) for path in read[:_MOST_READ]]
    found += [
        place
        for text in kind.texts(ArgRole.PATTERN, call.args)[:_MOST_READ]
        if (place := _pattern_place(text, call.folder))
    ]
    targets = written_targets(shell) if shell else ()
    return (*found, *(Place(target, absolute(target, folder), changes=True) for target in targets))


def _pattern_place(pattern: str, folder: str) -> Place | None:
    """Where a pattern for names of files looks, unless that surely is the folder it is used in."""
    if pattern.startswith("/") and not _is_odd(pattern[1:]):
        parts = pattern.split("/")
        fixed = next(
            (number for number, part in enumerate(parts) if any(sign in part for sign in "*?[{!(")), len(parts)
        )
        return Place(pattern, absolute("/".join(parts[:fixed]) or "/", folder))
    return Place(pattern, "") if _is_odd(pattern) else None


def _is_odd(pattern: str) -> bool:
    """Whether a pattern may lead to another folder: `..` may also be put together from braces or classes."""
    pieces = _PIECES.split(pattern)
    has_groups = any(sign in pattern for sign in "{(")
    return bool(
        pattern.startswith(("~", "/"))
        or ".." in pieces
        or (has_groups and any(_DOTS_ONLY.fullmatch(piece) for piece in pieces[1:-1]) and "." in pieces)
        or _ABSOLUTE_PIECE.search(pattern)
        or _CLASS_OF_DOTS.search(pattern)
    )
