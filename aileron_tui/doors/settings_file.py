"""Writing the settings of an agent: whole or not at all, with a backup, and taking that back."""

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from aileron_tui.core import toml_changes
from aileron_tui.core.json_edit import JsonTextError
from aileron_tui.core.settings_changes import EMPTY, Change, Changed, Undone, apply, undo
from aileron_tui.core.toml_edit import TomlTextError
from aileron_tui.core.values import dataclass
from aileron_tui.doors.settings_findings import SettingsFault, read_text
from aileron_tui.doors.setup_plan import FilePlan
from aileron_tui.doors.setup_record import FileRecord

_BACKUP: Final = ".before-aileron"
_NEW_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file as it is and as it would be. `base` is what it was before any setup, None if there was none.

    `link` is the symbolic link that led to it.
    """

    plan: FilePlan
    path: Path
    link: Path | None
    before: str | None
    base: str | None
    after: str
    changes: tuple[Change, ...]

    @property
    def differs(self) -> bool:
        """Whether something would be written."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class UndonePlan:
    """A file as it is and as it would be once the setup is undone; `after` is None if it would be removed.

    `exact` means that it becomes what it was, byte for byte. `left` are changes that somebody else has changed since.
    """

    record: FileRecord
    before: str | None
    after: str | None
    exact: bool
    left: tuple[Change, ...] = ()


def digest(text: str) -> str:
    """Identifies a text."""
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def planned(plan: FilePlan, record: FileRecord | None) -> PlannedFile:
    """What the plan means for the file as it is now. `record` is what an earlier setup did to it."""
    path, link = _target(plan.path)
    before = read_text(path)
    base = undone(record, before).after if record else before
    if plan.text:
        return PlannedFile(plan, path, link, before, base, plan.text, ())
    text = base if base and base.strip() else _empty(path)
    changed = _applied(plan, path, text)
    after = changed.text if changed.changes or base is None or changed.text != text else base
    return PlannedFile(plan, path, link, before, base, after, changed.changes)


def undone(record: FileRecord, current: str | None) -> UndonePlan:
    """What the file would be without what a setup did to it."""
    if current is None:
        return UndonePlan(record, None, None, exact=not record.existed)
    if digest(current) == record.after:
        if not record.existed:
            return UndonePlan(record, current, None, exact=True)
        backup = read_text(Path(record.backup)) if record.backup else None
        if backup is not None and digest(backup) == record.before:
            return UndonePlan(record, current, backup, exact=True)
    if not record.changes:
        return UndonePlan(record, current, current, exact=False)
    result = _without_changes(record, current)
    after = None if not record.existed and result.text.strip() == _empty(Path(record.path)).strip() else result.text
    return UndonePlan(record, current, after, exact=False, left=result.left)


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


def _empty(path: Path) -> str:
    """The text of settings that do not exist yet."""
    return "" if _is_toml(path) else EMPTY


def _applied(plan: FilePlan, path: Path, text: str) -> Changed:
    try:
        if _is_toml(path):
            return toml_changes.apply(text, plan.wanted)
        return apply(text, plan.wanted, comments=plan.comments, stale=plan.stale)
    except JsonTextError as error:
        detail = f"line {error.line}: {error.title}" if error.line else error.title
        raise SettingsFault(f"{path} cannot be changed", detail, "Fix it, then try again.") from None
    except TomlTextError as error:
        detail = f"{error.title}: {error.detail}" if error.detail else error.title
        raise SettingsFault(f"{path} cannot be changed", detail, error.hint or "Fix it, then try again.") from None


def _without_changes(record: FileRecord, current: str) -> Undone:
    try:
        if _is_toml(Path(record.path)):
            return toml_changes.undo(current, record.changes)
        return undo(current, record.changes, comments=record.comments)
    except JsonTextError as error:
        detail = f"line {error.line}: {error.title}" if error.line else error.title
        raise SettingsFault(f"{record.path} cannot be read", detail, "Fix it, then try again.") from None
    except TomlTextError as error:
        detail = f"{error.title}: {error.detail}" if error.detail else error.title
        raise SettingsFault(
            f"{record.path} cannot be changed", detail, error.hint or "Fix it, then try again."
        ) from None


def record_of(file: PlannedFile) -> FileRecord:
    """What has to be remembered to take the change back. Writes the backup."""
    folders = [str(folder) for folder in _missing_folders(file.path.parent)]
    backup = ""
    if file.base is not None:
        backup = str(_write_backup(file.path, file.base))
    return FileRecord(
        path=str(file.path),
        existed=file.base is not None,
        backup=backup,
        before=digest(file.base) if file.base is not None else "",
        after=digest(file.after),
        changes=file.changes,
        comments=file.plan.comments,
        folders=tuple(folders),
    )


def foreign_record(path: Path, before: str | None, known: FileRecord | None) -> FileRecord:
    """What has to be remembered of a file that the agent's own program is about to change. Writes the backup.

    What an earlier setup remembered (`known`) is kept if the file was not changed since.
    """
    if known is not None and before is not None and digest(before) == known.after:
        return known
    if before is None:
        return FileRecord(str(path), existed=False, backup="", before="", after="")
    backup = str(_write_backup(path, before))
    return FileRecord(str(path), existed=True, backup=backup, before=digest(before), after="")


def write(path: Path, text: str, expected: str | None) -> None:
    """Writes the whole file or nothing, keeping its mode. Refuses if it is no longer what was `expected`."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = _mode(path)
        temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
        try:
            _write_new(temporary, text, mode)
            if read_text(path) != expected:
                hint = "Nothing was written. Run the command again."
                raise SettingsFault(f"{path} was changed in the meantime", hint=hint)
            temporary.replace(path)
            _sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None


def take_back(plan: UndonePlan) -> None:
    """Writes what `undone` found, and removes folders that were made for the file."""
    path = Path(plan.record.path)
    if plan.after is not None:
        if plan.after != plan.before:
            write(path, plan.after, plan.before)
    elif plan.before is not None:
        if read_text(path) != plan.before:
            raise SettingsFault(f"{path} was changed in the meantime", hint="Run the command again.")
        try:
            path.unlink()
        except OSError as error:
            raise _unwritable(path, error) from None
    if plan.exact and plan.record.backup:
        with suppress(OSError):
            Path(plan.record.backup).unlink()
    for folder in plan.record.folders:
        with suppress(OSError):  # it is not empty
            Path(folder).rmdir()


def _target(path: Path) -> tuple[Path, Path | None]:
    """The file that a path leads to, and the path if it is a symbolic link."""
    try:
        resolved = path.resolve()
        status = resolved.stat() if resolved.exists() else None
    except (OSError, RuntimeError) as error:
        raise SettingsFault(f"cannot use {path}", str(error)) from None
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise SettingsFault(f"{resolved} is not a regular file")
    if status is not None and status.st_uid != os.geteuid():
        raise SettingsFault(f"{resolved} belongs to another user", f"user {status.st_uid}")
    return resolved, path if path.is_symlink() or path.parent.is_symlink() else None


def _missing_folders(folder: Path) -> list[Path]:
    """The folders that do not exist yet, the innermost first."""
    return [place for place in (folder, *folder.parents) if not place.exists()]


def _write_backup(path: Path, text: str) -> Path:
    """Keeps a text beside a file, for its owner only. A backup with another content is not overwritten."""
    backup, number = path.with_name(f"{path.name}{_BACKUP}"), 1
    while os.path.lexists(backup):
        with suppress(SettingsFault):
            if not backup.is_symlink() and read_text(backup) == text:
                return backup
        number += 1
        backup = path.with_name(f"{path.name}{_BACKUP}-{number}")
    try:
        _write_new(backup, text, _NEW_MODE)
        _sync(path.parent)
    except OSError as error:
        with suppress(OSError):
            backup.unlink()
        raise _unwritable(backup, error) from None
    return backup


def _write_new(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _NEW_MODE)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(text.encode())
        file.flush()
        os.fsync(descriptor)


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return _NEW_MODE


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> SettingsFault:
    hint = "Nothing was changed. Check the free disk space and your permission to write there."
    return SettingsFault(f"cannot write {path}", (error.strerror or str(error)).lower(), hint)
