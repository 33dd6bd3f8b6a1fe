"""The history of a gate without the gate: pages as `GET /v1/history` returns them, from a list in memory."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from threading import Event

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.runtime.errors import NotFound
from aileron_tui.surface.history_reader import HistoryReader

NOW = datetime.now(UTC)

_KINDS = (
    ("send-draft", "executed", "tui", 4.2, "", ""),
    ("move-file", "denied", "tui", 12.0, "wrong folder", ""),
    ("archive-thread", "executed", "cli", 0.4, "", ""),
    ("send-draft", "failed", "tui", 7.7, "", "upstream: Gmail API returned 404"),
    ("create-branch", "expired", "", None, "", ""),
    ("delete-file", "executed", "tui", 31.0, "", ""),
    ("send-draft", "withdrawn", "", None, "", ""),
    ("push-branch", "interrupted", "browser", 2.1, "", ""),
)


def record(number: int, at: datetime | None = None, changes: JsonObject | None = None) -> JsonObject:
    """One past request; the number decides what it is."""
    action, outcome, surface, took, reason, error = _KINDS[number % len(_KINDS)]
    at = at or NOW - timedelta(hours=3 * number)
    decided = timestamp(at + timedelta(seconds=took)) if took is not None else ""
    fields: JsonObject = {
        "seq": number,
        "id": f"act-{number:06}",
        "asked": timestamp(at),
        "action": action,
        "connector": "github://acme/google",
        "agent": "claude-code" if number % 3 else "nightly-report",
        "risk": "high" if number % 5 == 0 else "normal",
        "outcome": outcome,
        "shown": timestamp(at),
        "decided": decided,
        "took": took,
        "surface": surface,
        "signer": "SHA256:q1w2e3r4t5y6u7i8o9p0" if decided else "",
        "reason": reason,
        "ended": timestamp(at + timedelta(seconds=40)) if outcome == "executed" else decided,
        "error": error,
    }
    return fields | (changes or {})


def records(count: int, now: datetime = NOW) -> list[JsonObject]:
    """This many requests, newest first, about eight a day."""
    return [record(count - place, now - timedelta(hours=3.1 * place, minutes=5)) for place in range(count)]


def item(id_: str = "act-000001", **changes: object) -> Request:
    """A request that the gate still has; `text` is used wherever foreign text can be."""
    text = str(changes.get("text", "Here's the recap from this week's standup.\n\nAll green."))
    action = str(changes.get("action", "send-draft"))
    prompt = Prompt(
        "action",
        action,
        ConnectorRef("github://acme/google", "1.2.3", "sha256:" + "ab" * 32, "signed"),
        {"draft_id": str(changes.get("draft", "r-12345")), "copies": 2},
        (Row("Draft id", str(changes.get("draft", "r-12345"))),),
        PreviewResult(
            (Row("To", "team@example.com"), Row("Subject", "Weekly recap"), Row("Body", text, multiline=True))
        ),
        Asker("claude-code", "s-1", "~/projects/recap"),
        Risk(RiskLevel.NORMAL, "creates something"),
    )
    when = timestamp(NOW)
    return Request(
        id=id_,
        prompt=prompt,
        digest="sha256:" + "cd" * 32,
        state=RequestState.EXECUTED,
        requested_at=when,
        expires_at=when,
        revision=1,
        fetching=False,
        instance="gate-1",
        head="sha256:" + "ef" * 32,
        asked_again="",
        reason="",
        fields={},
    )


class HistoryGate:
    """Answers as a gate does. `error` makes it fail; answers wait for `open`, or only those on the outcome `held`."""

    def __init__(self, past: Iterable[JsonObject] = (), items: Iterable[Request] = ()) -> None:
        self.kept = list(past)
        self.items = {one.id: one for one in items}
        self.entries: dict[str, list[Json]] = {}
        self.edits: dict[str, JsonObject] = {}
        self.asked: list[dict[str, str | int | list[str]]] = []
        self.error: AileronError | None = None
        self.held: str | None = None
        self.open = Event()
        self.open.set()

    def history(self, **filters: str | int | list[str]) -> JsonObject:
        """A page."""
        self.asked.append(filters)
        if self.held is None or filters.get("outcome") == [self.held]:
            assert self.open.wait(10)
        if self.error:
            raise self.error
        limit, before = filters.get("limit", 50), filters.get("before")
        assert isinstance(limit, int)
        found = [one for one in self.kept if self._matches(one, filters)]
        if isinstance(before, int):
            found = [one for one in found if isinstance(one["seq"], int) and one["seq"] < before]
        page: list[Json] = [*found[:limit]]
        return {"items": page, "next": found[limit - 1]["seq"] if len(found) > limit else None}

    def _matches(self, one: JsonObject, filters: dict[str, str | int | list[str]]) -> bool:
        words = str(filters.get("text", "")).replace("*", "").lower().split()
        outcomes = filters.get("outcome")
        since, signer = str(filters.get("since", "")), filters.get("signer", one["signer"])
        return (
            one["signer"] == signer
            and all(word in str(one).lower() for word in words)
            and (not isinstance(outcomes, list) or one["outcome"] in outcomes)
            and str(one["asked"]) >= since
        )

    def item(self, id_: str) -> Request:
        """One request."""
        if id_ not in self.items:
            raise NotFound(404, {})
        return self.items[id_]

    def past(self, id_: str) -> JsonObject:
        """The ledger entries of one request."""
        if id_ not in self.entries:
            raise NotFound(404, {})
        kept = next((one for one in self.kept if one["id"] == id_), None)
        return {"request": kept, "entries": self.entries[id_], "edit": self.edits.get(id_)}


def archive(**gates: HistoryGate | None) -> HistoryReader:
    """A reader of several gates."""
    return HistoryReader(lambda: gates)


def alone(gate: HistoryGate) -> HistoryReader:
    """A reader of one gate, which needs no name."""
    return HistoryReader(lambda: {"": gate})
