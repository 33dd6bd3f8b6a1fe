"""A daemon as its bytes: plain HTTP requests, streams read line by line, and the shapes both must have."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx
import pytest

LIST = "/v1/action-approvals"
WATCH = f"{LIST}/watch"
NOBODY = "act-20000101T000000-0000000000000000"
ENVELOPE = {
    "payloadType": "application/vnd.in-toto+json",
    "payload": "e30=",
    "signatures": [{"keyid": "conformance", "sig": "AA=="}],
}
TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


@dataclass
class Wire:
    """A daemon at an address, and what this run may do to it."""

    http: httpx.Client
    token: str
    may_approve: bool
    taken: set[str] = field(default_factory=set)

    def get(self, path: str, **query: str) -> Any:
        """The JSON of a GET that succeeds."""
        response = self.http.get(path, params=query)
        assert response.status_code == 200, response.text
        return body_of(response)

    def waiting(self) -> list[Any]:
        """The list."""
        items = self.get(LIST)["items"]
        assert isinstance(items, list)
        return items

    def spare(self, kind: str = "") -> Any:
        """A waiting request for a test to use up, of the commonest kind unless one is named; without any, the test is
        skipped."""
        free = [item for item in self.waiting() if item["id"] not in self.taken]
        kinds = Counter(item.get("kind", "action") for item in free)
        wanted = kind or next((name for name, _ in kinds.most_common(1)), "")
        for item in free:
            if item.get("kind", "action") == wanted:
                self.taken.add(item["id"])
                return item
        what = f"{kind} request" if kind else "request"
        pytest.skip(f"no {what} is waiting: start the daemon with --dev-seed-approvals tests/conformance/seed.json")

    def decide(self, id_: str, **body: Any) -> httpx.Response:
        return self.http.post(f"{LIST}/{id_}/decide", json=body)

    def deny(self, id_: str, **more: Any) -> None:
        """A denial that must succeed."""
        response = self.decide(id_, approved=False, **{"reason": "conformance run", **more})
        assert response.status_code in (200, 204), response.text
        assert response.content == b""

    def result(self, id_: str) -> Any:
        return self.get(f"{LIST}/{id_}/result")

    @contextmanager
    def stream(self, patience: float = 10) -> Iterator[Stream]:
        """A stream of events that may stay silent for so many seconds."""
        with self.http.stream("GET", WATCH, timeout=httpx.Timeout(10, read=patience)) as response:
            assert response.status_code == 200
            yield Stream(response, patience)


class Stream:
    """The frames of a stream, split as any reader of server-sent events splits them."""

    def __init__(self, response: httpx.Response, patience: float) -> None:
        self.response = response
        self._patience = patience
        self._lines = response.iter_lines()

    def frame(self) -> list[str]:
        """The lines of the next frame."""
        lines: list[str] = []
        for line in self._lines:
            if line:
                lines.append(line)
            elif lines:
                return lines
        raise AssertionError("the stream ended")

    def event(self) -> tuple[str, Any]:
        """The next event; comments are passed over, but not for ever."""
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline:
            lines = self.frame()
            if any(line.startswith("data:") for line in lines):
                return parsed(lines)
        raise AssertionError("nothing but comments came")

    def snapshot(self) -> list[Any]:
        """What waits, as the very first frame tells it."""
        name, said = parsed(self.frame())
        assert name == "snapshot"
        items = said["items"]
        assert isinstance(items, list)
        return items

    def about(self, name: str, id_: str) -> Any:
        """The next event of a name that is about a request."""
        while True:
            found, said = self.event()
            if found == name and said["id"] == id_:
                return said


def parsed(lines: list[str]) -> tuple[str, Any]:
    """Name and data of an event."""
    fields: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields.setdefault(name, []).append(value.removeprefix(" "))
    assert "data" in fields, lines
    assert len(fields["event"]) == 1
    return fields["event"][0], json.loads("\n".join(fields["data"]))


def body_of(response: httpx.Response) -> Any:
    """The JSON of a response that says it is JSON."""
    assert response.headers["content-type"].split(";")[0] == "application/json", response.headers
    return response.json()


def refused(response: httpx.Response, status: int, *codes: str) -> None:
    """An error of the generic shape."""
    assert response.status_code == status, response.text
    error = body_of(response)["error"]
    assert error["code"] in codes
    assert isinstance(error["message"], str)


def moment(text: str) -> tuple[float, int]:
    """A time of the daemon, in an order that keeps nanoseconds apart."""
    found = TIME.fullmatch(text)
    assert found is not None, f"not a time: {text!r}"
    clock, fraction, offset = found.groups()
    whole = datetime.fromisoformat(clock + offset.replace("Z", "+00:00")).timestamp()
    return whole, int((fraction or "").ljust(9, "0"))


def check_request(item: Any) -> None:
    """The shape of a waiting request."""
    assert isinstance(item["id"], str)
    assert item["id"]
    assert isinstance(item["action_name"], str)
    assert isinstance(item.get("kind", ""), str)
    assert isinstance(item.get("args", {}), dict)
    assert isinstance(item.get("session_id", ""), str)
    assert isinstance(item.get("connector_fqn", ""), str)
    moment(item["requested_at"])
    for row in item.get("input_fields", []):
        check_row(row)
    if "preview" in item:
        preview = item["preview"]
        assert isinstance(preview.get("unavailable", ""), str)
        for row in preview.get("fields") or []:
            check_row(row)
        assert preview.get("unavailable") or preview.get("fields")


def check_row(row: Any) -> None:
    """The shape of a labelled value."""
    assert isinstance(row["label"], str)
    assert isinstance(row.get("value", ""), str)
    assert row.get("missing", True) is True
    assert row.get("multiline", True) is True
