"""The files of the sample service: metadata in memory, in the format of the Drive API."""

import re
import threading
from collections.abc import Mapping
from dataclasses import replace

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.times import utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_data import ADDRESS, FILES, FOLDER, SampleFile

_IN_FOLDER = re.compile(r"'((?:[^'\\]|\\.)*)' in parents(?: and trashed = false)?")
_DEFAULT_FIELDS = ("id", "name", "mimeType")


class UnsupportedQuery(ValueError):
    """A query that the service does not support; the text says which."""


@dataclass(frozen=True, slots=True)
class File:
    """One stored file or folder."""

    id: str
    sample: SampleFile

    def to_json(self, fields: tuple[str, ...]) -> JsonObject:
        """Returns the requested fields, without those that the file does not have."""
        sample = self.sample
        all_fields: JsonObject = {
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
            all_fields["description"] = sample.description
        if sample.mime_type != FOLDER:
            all_fields["size"] = str(sample.size)  # the API sends 64-bit numbers as text
        wanted = all_fields if "*" in fields else fields
        return {field: all_fields[field] for field in wanted if field in all_fields}


class Drive:
    """Files by id. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files = {id_: File(id_, sample) for id_, sample in FILES.items()}
        self._deleted: list[str] = []

    @property
    def files(self) -> Mapping[str, File]:
        """The current files."""
        with self._lock:
            return dict(self._files)

    @property
    def deleted(self) -> tuple[str, ...]:
        """The ids of all deleted files, in order."""
        with self._lock:
            return tuple(self._deleted)

    def list_files(self, query: str, limit: int, fields: str) -> JsonObject:
        """Lists the files that match a query; the only supported query is "in this folder"."""
        folder = None
        if query:
            found = _IN_FOLDER.fullmatch(query)
            if found is None:
                raise UnsupportedQuery("Invalid Value: q")
            folder = re.sub(r"\\(.)", r"\1", found[1])
        inner = re.fullmatch(r"files\((.*)\)", fields)
        wanted = _fields(inner[1] if inner else "")
        listed: list[Json] = [
            file.to_json(wanted) for file in self.files.values() if folder is None or folder in file.sample.parents
        ]
        return {"kind": "drive#fileList", "incompleteSearch": len(listed) > limit, "files": listed[:limit]}

    def get_file(self, id_: str, fields: str) -> JsonObject | None:
        """Returns the metadata of one file."""
        file = self.files.get(id_)
        return None if file is None else file.to_json(_fields(fields))

    def update_file(
        self, id_: str, *, name: str | None, add: list[str], remove: list[str], fields: str
    ) -> JsonObject | None:
        """Renames a file, moves it, or both."""
        with self._lock:
            file = self._files.get(id_)
            if file is None:
                return None
            unknown_folders = [folder for folder in add if self._mime_type(folder) != FOLDER]
            if unknown_folders:
                raise UnsupportedQuery(f"File not found: {unknown_folders[0]}.")
            kept = [folder for folder in file.sample.parents if folder not in {*add, *remove}]
            sample = replace(
                file.sample,
                name=file.sample.name if name is None else name,
                parents=(*kept, *add),
                modified=utc_now().strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            )
            file = self._files[id_] = File(id_, sample)
        return file.to_json(_fields(fields))

    def delete_file(self, id_: str) -> bool:
        """Deletes a file; returns whether it existed."""
        with self._lock:
            if self._files.pop(id_, None) is None:
                return False
            self._deleted.append(id_)
            return True

    def _mime_type(self, id_: str) -> str:
        file = self._files.get(id_)
        return "" if file is None else file.sample.mime_type


def _fields(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) or _DEFAULT_FIELDS
