"""What was set up, kept in the data folder: for `setup --undo`, and for `doctor` to check it again."""

import json
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, read_object
from aileron_tui.core.settings_changes import Change, read_change
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import read_private, write_private

FILE: Final = "doors.json"
_VERSION: Final = 1
_LARGEST: Final = 16 * 1024 * 1024


class RecordFault(AileronError):
    """The list of what was set up cannot be read."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What a setup did to one file. `before` and `after` identify its content; `folders` were made for it."""

    path: str
    existed: bool
    backup: str
    before: str
    after: str
    changes: tuple[Change, ...] = ()
    comments: bool = False
    folders: tuple[str, ...] = ()

    def fields(self) -> JsonObject:
        """The record as JSON."""
        return {
            "path": self.path,
            "existed": self.existed,
            "backup": self.backup,
            "before": self.before,
            "after": self.after,
            "changes": [change.fields() for change in self.changes],
            "comments": self.comments,
            "folders": list(self.folders),
        }


@dataclass(frozen=True, slots=True)
class SetupRecord:
    """One agent that was set up. `word` is the kind of agent, and `agent` the name of its token.

    `folder` is the project it was set up for, "" for all projects of the user. `command` starts this program.
    """

    word: str
    agent: str
    folder: str
    command: tuple[str, ...]
    program: str
    version: str
    time: str
    files: tuple[FileRecord, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What there is only one record of."""
        return self.word, self.folder

    def fields(self) -> JsonObject:
        """The record as JSON."""
        return {
            "word": self.word,
            "agent": self.agent,
            "folder": self.folder,
            "command": list(self.command),
            "program": self.program,
            "version": self.version,
            "time": self.time,
            "files": [file.fields() for file in self.files],
        }


def read_records(data: Path) -> tuple[SetupRecord, ...]:
    """Everything that was set up here. Raises RecordFault."""
    path = data / FILE
    if not path.exists():
        return ()
    try:
        fields = read_object(read_private(path, _LARGEST))
        if fields.get("version") != _VERSION:
            hint = "Update aileron-tui."
            raise RecordFault(f"{path} was written by a newer aileron-tui", hint=hint)
        listed = fields.get("agents")
        return tuple(_record(item) for item in (listed if isinstance(listed, list) else ()))
    except JsonError as error:
        raise RecordFault(f"{path} cannot be read", str(error), "Move it away, and set the agents up again.") from None


def write_record(data: Path, record: SetupRecord) -> None:
    """Adds a record, or replaces the one for the same agent and folder."""
    others = [known for known in read_records(data) if known.key != record.key]
    _write(data, (*others, record))


def remove_record(data: Path, record: SetupRecord) -> None:
    """Removes a record."""
    _write(data, tuple(known for known in read_records(data) if known.key != record.key))


def _write(data: Path, records: tuple[SetupRecord, ...]) -> None:
    listed: JsonObject = {"version": _VERSION, "agents": [record.fields() for record in records]}
    write_private(data / FILE, json.dumps(listed, indent=2).encode() + b"\n", replace=True)


def _record(value: Json) -> SetupRecord:
    match value:
        case {
            "word": str(word),
            "agent": str(agent),
            "folder": str(folder),
            "command": [*command],
            "program": str(program),
            "version": str(version),
            "time": str(time),
            "files": [*files],
        }:
            read = tuple(map(_file, files))
            return SetupRecord(word, agent, folder, tuple(map(str, command)), program, version, time, read)
    raise JsonError("not the record of a setup")


def _file(value: Json) -> FileRecord:
    match value:
        case {
            "path": str(path),
            "existed": bool(existed),
            "backup": str(backup),
            "before": str(before),
            "after": str(after),
            "changes": [*changes],
            "comments": bool(comments),
            "folders": [*folders],
        }:
            made = tuple(map(read_change, changes))
            return FileRecord(path, existed, backup, before, after, made, comments, tuple(map(str, folders)))
    raise JsonError("not the record of a file")
