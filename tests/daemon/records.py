"""What a daemon keeps in its home folder, and what tests want to know afterwards."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.daemon.entries import Entry
from tests.daemon.gotext import Object, encode, from_go_time

STATE: Final = ".aileron"
WITNESS: Final = "witness.jsonl"


class Lines:
    """A file of JSON lines that is only appended to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", buffering=0)

    def append(self, value: Object) -> None:
        """One line more; it survives a kill."""
        self._file.write(json.dumps(value).encode() + b"\n")

    def replace(self, values: list[Object]) -> None:
        """These lines instead of all others."""
        self._file.close()
        spare = self._path.with_suffix(".tmp")
        spare.touch(0o600)
        spare.write_bytes(b"".join(json.dumps(value).encode() + b"\n" for value in values))
        spare.replace(self._path)
        self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)

    def close(self) -> None:
        self._file.close()


def read_lines(path: Path) -> Iterator[Any]:
    """Every whole line of such a file; none if there is no file."""
    if path.exists():
        for line in path.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)


class Journal:
    """`approvals.jsonl`: the whole entry at each step; the last line of an id counts."""

    def __init__(self, state: Path) -> None:
        self._path = state / "approvals.jsonl"
        self._lines = Lines(self._path)

    def read(self) -> list[Entry]:
        """All entries, in the order of their registration."""
        found = {line["id"]: line for line in read_lines(self._path)}
        return sorted((Entry(**line) for line in found.values()), key=lambda entry: entry.requested_ns)

    def keep(self, entry: Entry) -> None:
        self._lines.append(entry.saved())

    def compact(self, entries: list[Entry]) -> None:
        """One line for each entry, as at a clean stop."""
        self._lines.replace([entry.saved() for entry in entries])

    def close(self) -> None:
        self._lines.close()


class Audit:
    """`audit.jsonl`, and its events in the API's JSON."""

    def __init__(self, state: Path) -> None:
        path = state / "audit.jsonl"
        self._events: list[Object] = [
            {
                "audit_id": line["event"]["EventID"],
                "event_type": line["event"]["EventType"],
                "timestamp": line["event"]["Timestamp"],
                "actor": line["event"]["Actor"],
                "payload": line["event"]["Payload"],
            }
            for line in read_lines(path)
        ]
        self._lines = Lines(path)

    def add(self, event_type: str, actor: tuple[str, str], payload: Object, at: str) -> str:
        """A new event; gives its id."""
        event: Object = {
            "audit_id": str(uuid.uuid4()),
            "event_type": event_type,
            "timestamp": at,
            "actor": {"type": actor[0], "id": actor[1]},
            "payload": payload,
        }
        self._events.append(event)
        names = {"EventID": "audit_id", "EventType": "event_type", "Actor": "actor", "Payload": "payload"}
        written = {name: event[key] for name, key in names.items()} | {"Timestamp": at}
        self._lines.append({"event": written})
        return str(event["audit_id"])

    def find(self, limit: int, since: int = 0, **wanted: str) -> list[Object]:
        """Newest first. `wanted` are the filters of the API by name; an empty one filters nothing."""
        found = []
        for event in reversed(self._events):
            payload = event["payload"]
            has = {
                "audit_id": event["audit_id"],
                "connector_fqn": payload.get("aileron.connector.fqn", ""),
                "class": payload.get("aileron.failure.class", ""),
            }
            if all(not value or has.get(name) == value for name, value in wanted.items()) and (
                not since or from_go_time(event["timestamp"]) >= since
            ):
                found.append(event)
            if len(found) == limit:
                break
        return found

    def close(self) -> None:
        self._lines.close()


class Witness:
    """What a test asks about: each decision that came in, as it came, and each effect. Not part of a daemon."""

    def __init__(self, home: Path) -> None:
        self._lines = Lines(home / WITNESS)

    def decision(self, id_: str, body: bytes, *, applied: bool, status: int) -> None:
        """A decide call, and what was made of it."""
        said = {"body": body.decode("utf-8", "backslashreplace"), "applied": applied, "status": status}
        self._lines.append({"what": "decision", "id": id_, **said})

    def effect(self, entry: Entry, **what: Any) -> None:
        """Something happened in the world because of an approval."""
        self._lines.append({"what": "effect", "id": entry.id, "kind": entry.kind, **what})

    def headers(self, headers: Object) -> None:
        """The headers that an agent gave with an http request: they are sent, and nobody is told of them."""
        self._lines.append({"what": "headers", "id": "", "headers": headers})

    def close(self) -> None:
        self._lines.close()


def write_private(path: Path, content: Object) -> None:
    """A file of mode 0600 that appears whole."""
    spare = path.with_name(f".{path.name}.{os.getpid()}")
    spare.unlink(missing_ok=True)
    descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(encode(content))
    spare.replace(path)
