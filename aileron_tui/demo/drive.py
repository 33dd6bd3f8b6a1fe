"""The sample service's files: metadata in memory, answered in the shape of the Drive API."""

import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_data import ADDRESS, FILES, FOLDER, SampleFile

_IN_FOLDER = re.compile(r"'((?:[^'\\]|\\.)*)' in parents(?: and trashed = false)?")
_DEFAULT_FIELDS = ("id", "name", "mimeType")


class Unanswerable(ValueError):
    """A query the service does not understand; the text says which."""


@dataclass(frozen=True, slots=True)
class File:
    """One stored file or folder."""

    id: str
    sample: SampleFile

    def shape(self, fields: tuple[str, ...]) -> JsonObject:
        """Those fields of the file that were asked for and that it has."""
        sample = self.sample
        everything: JsonObject = {
            "id": self.id,
            "name": sample.name,
            "mimeType": sample.mime_type,
            "parents": list(sample.parents),
            "modifiedTime": sample.modified,
            "owners": [{"displayName": "Sam", "emailAddress": ADDRESS}],
            "permissions": [
                {"emailAddress": address, "role": role} for address, role in ((ADDRESS, "owner"), *sample.shared_with)
            ],
            "webViewLink": f"https://files.example.com/{self.id}",
        }
        if sample.description:
            everything["description"] = sample.description
        if sample.mime_type != FOLDER:
            everything["size"] = str(sample.size)  # 64-bit numbers travel as text in this API
        wanted = everything if "*" in fields else fields
        return {field: everything[field] for field in wanted if field in everything}


class Drive:
    """Files by id. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files = {id_: File(id_, sample) for id_, sample in FILES.items()}
        self._deleted: list[str] = []

    @property
    def files(self) -> Mapping[str, File]:
        """The files as they are now."""
        with self._lock:
            return dict(self._files)

    @property
    def deleted(self) -> tuple[str, ...]:
        """The ids of everything that was deleted, in order."""
        with self._lock:
            return tuple(self._deleted)

    def list_files(self, query: str, limit: int, fields: str) -> JsonObject:
        """The files that a query finds; the only query known is "in this folder"."""
        folder = None
        if query:
            found = _IN_FOLDER.fullmatch(query)
            if found is None:
                raise Unanswerable("Invalid Value: q")
            folder = re.sub(r"\\(.)", r"\1", found[1])
        inner = re.fullmatch(r"files\((.*)\)", fields)
        wanted = _fields(inner[1] if inner else "")
        listed: list[Json] = [
            file.shape(wanted) for file in self.files.values() if folder is None or folder in file.sample.parents
        ]
        return {"kind": "drive#fileList", "incompleteSearch": len(listed) > limit, "files": listed[:limit]}

    def get_file(self, id_: str, fields: str) -> JsonObject | None:
        """What is known about one file."""
        file = self.files.get(id_)
        return None if file is None else file.shape(_fields(fields))

    def change_file(
        self, id_: str, *, name: str | None, add: list[str], remove: list[str], fields: str
    ) -> JsonObject | None:
        """Rename a file, move it, or both."""
        with self._lock:
            file = self._files.get(id_)
            if file is None:
                return None
            strangers = [folder for folder in add if self._kind(folder) != FOLDER]
            if strangers:
                raise Unanswerable(f"File not found: {strangers[0]}.")
            kept = [folder for folder in file.sample.parents if folder not in {*add, *remove}]
            sample = replace(
                file.sample,
                name=file.sample.name if name is None else name,
                parents=(*kept, *add),
                modified=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            )
            file = self._files[id_] = File(id_, sample)
        return file.shape(_fields(fields))

    def delete_file(self, id_: str) -> bool:
        """Forget a file; says whether there was one."""
        with self._lock:
            if self._files.pop(id_, None) is None:
                return False
            self._deleted.append(id_)
            return True

    def _kind(self, id_: str) -> str:
        file = self._files.get(id_)
        return "" if file is None else file.sample.mime_type


def _fields(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) or _DEFAULT_FIELDS
