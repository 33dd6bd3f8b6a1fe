"""What tools that write files would change: the text of each file now and afterwards, as far as that is known."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.patch_text import FilePatch, patched, read_patch
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.text_diff import unified_diff
from aileron_tui.core.tool_call import FileFacts, FileKind
from aileron_tui.core.tool_kind import ArgRole, ToolKind, ToolUse
from aileron_tui.core.tool_paths import absolute
from aileron_tui.core.values import dataclass

MOST_PATHS: Final = 15
"""How many paths of one call are looked at."""

_LARGEST_DIFF: Final = 200_000
_LARGEST_RESULT: Final = 8_000_000
_MOST_WORK: Final = 100_000_000
_CRLF: Final = "the file has CRLF line ends"
_NOT_ONCE: Final = "parts of the patch depend on each other"
_NOT_READ: Final = "the file was not read"
_LOOSE: Final = "the tool also replaces text that is only similar"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file. `before` is None if the file does not exist, `after` is None if it is not known.

    `problem` says why the change is not known, `warnings` what is odd about it.
    """

    path: str
    before: str | None = None
    after: str | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    deletes: bool = False


@dataclass(frozen=True, slots=True)
class TextEdit:
    """One replacement of a text by another, once or everywhere.

    `takes_line_end` means that a text that is replaced by nothing is removed with the line end after it. Where one
    occurrence has a line end after it, those without are not removed.
    """

    old: str
    new: str
    every: bool = False
    takes_line_end: bool = False


def changed_paths(kind: ToolKind, args: JsonObject) -> tuple[str, ...]:
    """The paths that a call would write, as they are written in its args."""
    if kind.use is ToolUse.PATCH:
        files = read_patch(kind.text(ArgRole.PATCH, args)) or ()
        return tuple(dict.fromkeys(path for file in files for path in (file.path, file.move_to) if path))
    if kind.use in (ToolUse.WRITE, ToolUse.EDIT, ToolUse.NOTEBOOK):
        return kind.texts(ArgRole.PATH, args)
    return ()


def file_changes(
    kind: ToolKind, args: JsonObject, folder: str, files: Mapping[str, FileFacts]
) -> tuple[FileChange, ...]:
    """What a call would change."""
    if kind.use is ToolUse.PATCH:
        found = read_patch(kind.text(ArgRole.PATCH, args))
        if found is None:
            text = "the patch does not have the known format, so its files are not known"
            return (FileChange("", problem="the patch cannot be read", warnings=(text,)),)
        changes = [change for file in found[:MOST_PATHS] for change in _patched_file(file, folder, files)]
        changes += [FileChange("", problem=_NOT_ONCE, warnings=(text,)) for text in _overlaps(found, folder, files)]
        if len(found) > MOST_PATHS:
            text = f"the patch changes {len(found):,} files, and only the first {MOST_PATHS} were looked at"
            changes.append(FileChange("", problem="there are too many files", warnings=(text,)))
        return tuple(changes)
    if kind.use not in (ToolUse.WRITE, ToolUse.EDIT):
        return ()
    path = kind.text(ArgRole.PATH, args)
    facts = files.get(absolute(path, folder))
    if kind.use is ToolUse.WRITE:
        return (_written(path, kind.text(ArgRole.CONTENT, args), facts),)
    return (_edited(path, _edits(kind, args), facts, is_loose=kind.is_loose),)


def _overlaps(found: Sequence[FilePatch], folder: str, files: Mapping[str, FileFacts]) -> Iterator[str]:
    """Where one part of a patch changes what another part has made, which the diffs do not show."""
    named = [path for file in found for path in (file.path, file.move_to) if path]
    facts = {path: files.get(absolute(path, folder)) for path in named}
    places = [(known.resolved if (known := facts[path]) else "") or absolute(path, folder) for path in named]
    counts = Counter(places)
    for path, place in zip(named, places, strict=True):
        if place and counts[place] > 1:
            yield f"the patch changes {path} more than once, so the result is not known"
            return
    for file in found:
        target = facts.get(file.move_to)
        if file.move_to and (target is None or target.kind is not FileKind.MISSING):
            yield f"a file is moved to {file.move_to}, which may exist already and is replaced"


def _edits(kind: ToolKind, args: JsonObject) -> tuple[TextEdit, ...] | None:
    """The replacements of a call, or None if one of them does not have the known form."""
    listed, flag = kind.first(ArgRole.EDITS), kind.first(ArgRole.EVERY)
    if listed is None:
        every = bool(flag and args.get(flag.name))
        return (TextEdit(kind.text(ArgRole.OLD, args), kind.text(ArgRole.NEW, args), every, kind.takes_line_end),)
    values = args.get(listed.name)
    found: list[TextEdit] = []
    for item in values if isinstance(values, list) else ():
        if not isinstance(item, dict) or item.keys() - {"old_string", "new_string", "replace_all"}:
            return None
        old, new, replace_all = item.get("old_string"), item.get("new_string"), item.get("replace_all")
        if not isinstance(old, str) or not isinstance(new, str) or not isinstance(replace_all, bool | None):
            return None
        found.append(TextEdit(old, new, bool(replace_all), kind.takes_line_end))
    return tuple(found) or None


def _state(path: str, facts: FileFacts | None) -> FileChange:
    """A file as it is now; `after` is not known yet."""
    if facts is None or facts.kind is FileKind.UNKNOWN:
        return FileChange(path, problem=(facts and facts.problem) or _NOT_READ)
    if facts.kind is FileKind.FOLDER:
        return FileChange(path, problem="it is a folder", warnings=(f"{path} is a folder",))
    if facts.kind is FileKind.OTHER:
        text = f"{path} is neither a file nor a folder"
        return FileChange(path, problem=facts.problem or "it is not a regular file", warnings=(text,))
    if facts.kind is FileKind.MISSING:
        return FileChange(path)
    return FileChange(path, before=facts.text, problem="" if facts.text is not None else facts.problem or _NOT_READ)


def _written(path: str, content: str, facts: FileFacts | None) -> FileChange:
    now = _state(path, facts)
    if now.problem:
        return now
    if now.before is None:
        return FileChange(path, None, content)
    return FileChange(path, now.before, content, notes=_line_ends(now.before, content))


def _line_ends(before: str, after: str) -> tuple[str, ...]:
    """What to say about line ends, which a diff does not show."""
    was, now = (("CRLF" if "\r\n" in text else "LF") if "\n" in text else "" for text in (before, after))
    return (f"line ends: {was} in the file, {now} in the new text",) if was and now and was != now else ()


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _edited(path: str, edits: Sequence[TextEdit] | None, facts: FileFacts | None, *, is_loose: bool) -> FileChange:
    """The file after these edits. Tools compare line by line, so CRLF counts as a newline."""
    if edits is None:
        return FileChange(path, problem="the edits do not have the known form", warnings=("its edits are not known",))
    now = _state(path, facts)
    if now.problem:
        return now
    if len(edits) * (len(now.before or "") + 1000) > _MOST_WORK:
        return FileChange(path, problem="there are too many edits", warnings=("there are too many edits to show",))
    if now.before is None and edits[0].old:
        text = "the file does not exist, so there is nothing to replace"
        return FileChange(path, problem="the file does not exist", warnings=(text,))
    before = _plain(now.before or "")
    text = before
    warnings: list[str] = []
    for number, edit in enumerate(edits, start=1):
        name = "the text to replace" if len(edits) == 1 else f"the text to replace in edit {number}"
        text, warning = _replaced(text, edit, name, is_loose=is_loose)
        warnings += [warning] if warning else []
    has_crlf = "\r\n" in (now.before or "")
    notes = tuple(note for note, counts in ((_CRLF, has_crlf), (_LOOSE, is_loose)) if counts)
    if warnings:
        return FileChange(path, now.before, None, "the edit does not fit the file", notes, tuple(warnings))
    return FileChange(path, None if now.before is None else before, text, notes=notes)


def _replaced(text: str, edit: TextEdit, name: str, *, is_loose: bool) -> tuple[str, str]:
    """The text after one edit, and what is odd about it, or ""."""
    old, new = _plain(edit.old), _plain(edit.new)
    if old == new:
        return text, f"{name} is the same as the new text, so nothing changes"
    if not old:
        return (new, "") if not text else (text, f"{name} is empty, but the file is not")
    count = text.count(old)
    if not count:
        looser = (
            "; the tool may still replace similar text" if is_loose or edit.takes_line_end else ""
        )  # at least other quotes
        return text, f"{name} is not in the file{looser}"
    if count > 1 and not edit.every:
        return text, f"{name} is in the file {count:,} times, and the call does not say which"
    if len(text) + count * (len(new) - len(old)) > _LARGEST_RESULT:
        return text, f"{name} is in the file {count:,} times: the result is too large to show"
    if edit.takes_line_end and not new and not old.endswith("\n") and f"{old}\n" in text:
        old += "\n"
    return text.replace(old, new), ""


def _patched_file(file: FilePatch, folder: str, files: Mapping[str, FileFacts]) -> Iterator[FileChange]:
    now = _state(file.path, files.get(absolute(file.path, folder)))
    if now.problem:
        yield now
    elif file.does == "add":
        warnings = (f"{file.path} exists already and is replaced",) if now.before is not None else ()
        yield FileChange(file.path, now.before, file.content, warnings=warnings)
    elif now.before is None:
        yield FileChange(file.path, problem="the file does not exist", warnings=(f"{file.path} does not exist",))
    elif file.does == "delete":
        yield FileChange(file.path, now.before, "", deletes=True)
    else:
        before = _plain(now.before)
        after = patched(before, file.chunks)
        if after is None:
            text = f"the patch does not fit {file.path} exactly; the tool may still change similar lines"
            yield FileChange(file.path, now.before, None, "the patch does not fit the file", warnings=(text,))
        else:
            found = ((_CRLF, before != now.before), (f"is moved to {file.move_to}", bool(file.move_to)))
            notes = tuple(note for note, counts in found if counts)
            yield FileChange(file.path, before, after, notes=notes)


def change_preview(changes: Sequence[FileChange]) -> PreviewResult | None:
    """The changes as the operator sees them: a diff for each file, or why there is none."""
    if not changes:
        return None
    problems = dict.fromkeys(change.problem for change in changes if change.problem)
    rows = [row for number, change in enumerate(changes, 1) for row in _rows(change, number, len(changes))]
    return PreviewResult(tuple(rows), "; ".join(problems))


def _rows(change: FileChange, number: int, count: int) -> Iterator[Row]:
    suffix = f" {number} of {count}" if count > 1 else ""
    if count > 1:
        yield Row(f"File{suffix}", change.path)
    for note in change.notes:
        yield Row(f"Note{suffix}", note)
    if change.problem:
        if count > 1:
            yield Row(f"Change{suffix}", f"not known: {change.problem}")
    elif change.before is None:
        yield Row(f"Now{suffix}", "new file")
        if count > 1:
            yield Row(f"New text{suffix}", change.after or "", multiline=True)
    elif change.deletes:
        yield Row(f"Now{suffix}", f"deleted: {_count(change.before)}")
        yield from _diff_rows(change.before, "", suffix)
    else:
        yield from _diff_rows(change.before, change.after or "", suffix)


def _diff_rows(before: str, after: str, suffix: str) -> Iterator[Row]:
    was, now = _plain(before), _plain(after)
    diff = unified_diff(was, now)
    if not diff:
        yield Row(f"Change{suffix}", "nothing changes" if before == after else "only line ends change")
    elif len(diff) <= max(_LARGEST_DIFF, 4 * len(now)):
        yield Row(f"Change{suffix}", diff, multiline=True)
    else:
        yield Row(f"Now{suffix}", f"the whole file is replaced: {_count(was)} → {_count(now)}")
        yield Row(f"New text{suffix}", now, multiline=True)


def _count(text: str) -> str:
    count = text.count("\n") + (not text.endswith("\n") and text != "")
    return "1 line" if count == 1 else f"{count:,} lines"
