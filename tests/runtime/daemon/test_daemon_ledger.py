"""Our own ledger of a daemon: complete, the same for several consoles, and never more than what is known."""

import hashlib
import json
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import GENESIS, Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import Json, JsonObject, canonical
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.history_pages import BadHistoryQuery
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import LARGEST_ENTRY
from aileron_tui.runtime.daemon.daemon_ledger import DELIVERY_TIME, DaemonLedger
from aileron_tui.runtime.daemon.times import utc_time
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners

ID = "act-20260512T101530-9f1c2ab34d5e6f70"
START = datetime(2026, 5, 12, 10, 15, 40, tzinfo=UTC)
LATER = 2 * DELIVERY_TIME


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def on(self, span: timedelta = timedelta(seconds=1)) -> None:
        self.now += span


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def key() -> UnlockedKey:
    return for_this_run("laptop")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "data" / "daemons" / "work"


@pytest.fixture
def record(folder: Path, key: UnlockedKey, clock: Clock) -> Iterator[DaemonLedger]:
    """An open record, whose ledger must verify in the end."""
    with DaemonLedger(folder, key, clock=clock) as record:
        yield record
    verified(folder)


def verified(folder: Path) -> None:
    with open_reader(folder / "ledger.db") as reader:
        report = audit(reader, RecordedSigners())
    assert report.fault is None, report.fault
    with open_ledger(folder / "ledger.db", shared=True) as ledger:
        before = rows(folder)
        ledger.rebuild_index()
    assert rows(folder) == before


def rows(folder: Path) -> list[tuple[object, ...]]:
    with SqliteReader(folder / "ledger.db") as reader:
        return reader.db.execute("SELECT * FROM requests ORDER BY seq").fetchall()


def item(id_: str = ID, **changes: Any) -> Request:
    """A request as it is shown; a change of its prompt changes its digest."""
    fields: dict[str, Any] = {
        "kind": "action",
        "action": "send-draft",
        "connector": ConnectorRef("github://ALRubinger/aileron-connector-google"),
        "args": {"draft_id": "r-12345"},
        "inputs": (Row("Draft id", "r-12345"),),
        "preview": PreviewResult((Row("To", "team@example.com"),)),
        "asker": Asker("", "01J0ABCDEF", "/src", "claude"),
        "risk": Risk(RiskLevel.HIGH, "it sends"),
    }
    prompt = Prompt(**fields | {name: value for name, value in changes.items() if name in fields})
    return Request(
        id=id_,
        prompt=prompt,
        digest=prompt.digest,
        state=RequestState.PENDING,
        requested_at=changes.get("requested_at", "2026-05-12T12:15:30.123456789+02:00"),
        expires_at="",
        revision=0,
        fetching=False,
        instance=changes.get("instance", "http://127.0.0.1:54321 2026-05-12T10:00:00Z"),
        head=GENESIS,
        asked_again="",
        reason="",
        fields={},
    )


def answer(
    record: DaemonLedger,
    shown: Request,
    key: UnlockedKey,
    clock: Callable[[], datetime],
    verdict: Verdict = Verdict.APPROVE,
    *,
    edits: JsonObject | None = None,
) -> None:
    """What a console does before it sends an answer."""
    shown = replace(shown, head=record.head)
    statement = shown.statement(verdict, reason="r", edits=edits, surface="console", now=clock())
    record.record_decision(shown.id, sign(statement, key).fields())


def entries(record: DaemonLedger, id_: str = ID) -> list[Any]:
    past = record.past(id_)
    assert past is not None
    return past["entries"]  # type: ignore[return-value]  # its shape is what is tested


def kinds(record: DaemonLedger, id_: str = ID) -> list[str]:
    return [entry["kind"] for entry in entries(record, id_)]


def listed(record: DaemonLedger, id_: str = ID) -> dict[str, Any]:
    past = record.past(id_)
    assert past is not None
    return past["request"]  # type: ignore[return-value]  # its shape is what is tested


def event(type_: str, id_: str = ID, at: str = "2026-05-12T12:15:35.5+02:00", **payload: Json) -> JsonObject:
    about: JsonObject = {
        "aileron.approval.id": id_,
        "aileron.approval.kind": "action",
        "aileron.approval.action": "send-draft",
        "aileron.connector.fqn": "github://ALRubinger/aileron-connector-google",
    }
    extra: JsonObject = {f"aileron.approval.{name}": value for name, value in payload.items()}
    return {"audit_id": "audit-1", "event_type": type_, "timestamp": at, "actor": {}, "payload": about | extra}


def test_the_folders_are_private(record: DaemonLedger, folder: Path) -> None:
    for place in (folder, folder.parent, folder.parent.parent, folder.parent.parent.parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_the_head_is_that_of_the_ledger(record: DaemonLedger, folder: Path) -> None:
    with open_reader(folder / "ledger.db") as reader:
        assert record.head == reader.head().hash != GENESIS


def test_what_is_asked_is_recorded_once_with_what_was_shown(record: DaemonLedger) -> None:
    record.record_requests([item()], "console")
    head = record.head
    record.record_requests([item()], "console")
    record.record_requests([item(), item()], "console")
    assert record.head == head
    made, previewed, shown = entries(record)
    assert made["body"] == {
        "daemon": "http://127.0.0.1:54321 2026-05-12T10:00:00Z",
        "asked": "2026-05-12T10:15:30.123456Z",
        "kind": "action",
        "action": "send-draft",
        "connector": {"name": "github://ALRubinger/aileron-connector-google", "version": "", "hash": ""},
        "says": "claude",
        "session": "01J0ABCDEF",
        "folder": "/src",
        "risk": "high",
        "args": {"draft_id": "r-12345"},
    }
    assert (previewed["kind"], list(previewed["body"])) == ("preview.fetched", ["digest"])
    assert shown["body"] == {"digest": item().digest, "surface": "console"}
    assert listed(record)["asked"] == "2026-05-12T10:15:30.123456Z"
    assert record.state(ID) is RequestState.PENDING
    assert record.state("act-other") is None


def test_a_preview_that_could_not_be_fetched_says_why(record: DaemonLedger) -> None:
    record.record_requests([item(preview=PreviewResult(unavailable="timeout")), item("act-2", preview=None)], "console")
    assert entries(record)[1]["body"]["unavailable"] == "timeout"
    assert kinds(record, "act-2") == ["request.made", "prompt.shown"]


def test_all_of_a_list_is_one_commit(record: DaemonLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = []
    real = SqliteLedger.append_given

    def counted(self: SqliteLedger, choose: Any) -> Any:
        commits.append(1)
        return real(self, choose)

    monkeypatch.setattr(SqliteLedger, "append_given", counted)
    record.record_requests([item(f"act-{number}") for number in range(20)], "console")
    record.record_requests([item(f"act-{number}") for number in range(20)], "console")
    assert len(commits) == 1


def test_a_prompt_that_changed_is_recorded_as_shown_again(record: DaemonLedger, folder: Path, key: UnlockedKey) -> None:
    record.record_requests([item()], "console")
    changed = item(asker=Asker("", "01J0ABCDEF", "/src/project", "claude code"))
    record.record_requests([changed], "console")
    record.record_requests([item()], "console")
    with DaemonLedger(folder, key) as other:
        other.record_requests([changed], "list")
    assert [entry["body"]["digest"] for entry in entries(record) if entry["kind"] == "prompt.shown"] == [
        item().digest,
        changed.digest,
    ]


def test_an_answer_of_ours_to_its_end(record: DaemonLedger, key: UnlockedKey, clock: Clock) -> None:
    record.record_requests([item()], "console")
    clock.on()
    answer(record, item(), key, clock)
    assert record.state(ID) is RequestState.APPROVED
    assert record.record_report(ID, RequestState.RUNNING)
    assert not record.record_report(ID, RequestState.RUNNING)
    assert not record.record_report(ID, RequestState.APPROVED)
    assert record.record_report(ID, RequestState.EXECUTED, elsewhere=True)
    assert not record.record_report(ID, RequestState.FAILED)
    assert not record.record_report(ID, RequestState.PENDING)
    request = listed(record)
    assert (request["outcome"], request["surface"], request["signer"], request["took"]) == (
        "executed",
        "console",
        key.public.fingerprint,
        1.0,
    )
    with pytest.raises(InvalidTransition):
        answer(record, item(), key, clock)


def test_an_answer_by_a_key_is_verified_against_its_enrolment(
    record: DaemonLedger, folder: Path, key: UnlockedKey
) -> None:
    with open_reader(folder / "ledger.db") as reader:
        (enrolled,) = reader.key_changes()
    assert (enrolled.kind, enrolled.body["name"]) == (EntryKind.KEY_ENROLLED, "laptop")
    with DaemonLedger(folder, key):
        pass
    with DaemonLedger(folder, for_this_run("laptop"), temporary=True), open_reader(folder / "ledger.db") as reader:
        names = [str(entry.body["name"]) for entry in reader.key_changes()]
        assert names[0] == "laptop"
        assert names[1].startswith("laptop-")
    with open_reader(folder / "ledger.db") as reader:
        changes = [entry.kind for entry in reader.key_changes()]
    assert changes == [EntryKind.KEY_ENROLLED, EntryKind.KEY_ENROLLED, EntryKind.KEY_REVOKED]


def test_a_key_for_this_run_can_come_again(folder: Path, key: UnlockedKey, clock: Clock) -> None:
    for number in range(2):
        with DaemonLedger(folder, key, temporary=True, clock=clock) as record:
            shown = item(f"act-{number}")
            record.record_requests([shown], "console")
            answer(record, shown, key, clock)
        record.close()
    verified(folder)


def test_an_answer_that_never_arrived_is_given_again(
    record: DaemonLedger, folder: Path, key: UnlockedKey, clock: Clock
) -> None:
    record.record_requests([item()], "console")
    answer(record, item(), key, clock)
    clock.on(LATER)
    with DaemonLedger(folder, key, clock=clock) as after_a_crash:
        after_a_crash.record_requests([item()], "console")
        assert after_a_crash.state(ID) is RequestState.PENDING
        assert entries(record)[-1]["body"]["outcome"] == "pending"
        answer(after_a_crash, item(), key, clock, Verdict.DENY)
        assert after_a_crash.record_report(ID, RequestState.DENIED)
    assert record.state(ID) is RequestState.DENIED


def test_an_older_list_does_not_undo_an_answer_on_its_way(record: DaemonLedger, key: UnlockedKey, clock: Clock) -> None:
    record.record_requests([item()], "console")
    answer(record, item(), key, clock)
    record.record_requests([item()], "console")
    assert record.state(ID) is RequestState.APPROVED
    record.record_report(ID, RequestState.PENDING)
    assert record.state(ID) is RequestState.PENDING, "whoever knows better may say so at once"


@pytest.mark.parametrize("edits", [None, {"draft_id": "r-6"}])
def test_another_call_under_an_answered_id_is_recorded_at_once(
    record: DaemonLedger, key: UnlockedKey, clock: Clock, edits: JsonObject | None
) -> None:
    record.record_requests([item()], "console")
    answer(record, item(args=edits) if edits else item(), key, clock, edits=edits)
    record.record_report(ID, RequestState.RUNNING)
    another = item(args={"draft_id": "r-666"})
    assert not record.record_requests([another], "console")
    assert record.state(ID) is RequestState.PENDING
    assert [(entry["kind"], entry["body"].get("digest")) for entry in entries(record)[-2:]] == [
        ("runtime.told", None),
        ("prompt.shown", another.digest),
    ]


@pytest.mark.parametrize("edits", [None, {"draft_id": "r-6"}])
def test_an_answered_call_that_is_listed_again_is_recorded_later(
    record: DaemonLedger, key: UnlockedKey, clock: Clock, edits: JsonObject | None
) -> None:
    record.record_requests([item()], "console")
    answer(record, item(args=edits) if edits else item(), key, clock, edits=edits)
    record.record_report(ID, RequestState.RUNNING)
    assert record.record_requests([item()], "console") == {ID}
    assert record.state(ID) is RequestState.RUNNING
    clock.on(LATER)
    assert record.record_requests([item()], "console") == set()
    assert record.state(ID) is RequestState.PENDING


def test_a_list_that_contradicts_an_end_is_not_believed(record: DaemonLedger, clock: Clock) -> None:
    record.record_requests([item()], "console")
    record.record_report(ID, RequestState.DENIED, elsewhere=True)
    clock.on(LATER)
    record.record_requests([item()], "console")
    assert record.state(ID) is RequestState.DENIED


def test_somebody_else_was_faster(record: DaemonLedger, key: UnlockedKey, clock: Clock) -> None:
    record.record_requests([item()], "console")
    answer(record, item(), key, clock)
    assert record.record_report(ID, RequestState.RUNNING, elsewhere=True, decided_here=True)
    request = listed(record)
    assert (request["surface"], request["signer"], request["reason"]) == ("elsewhere", "", "")
    assert record.record_report(ID, RequestState.EXECUTED)
    assert (listed(record)["surface"], entries(record)[-1]["body"]["elsewhere"]) == ("elsewhere", True)


@pytest.mark.parametrize(
    ("outcome", "elsewhere"),
    [
        (RequestState.APPROVED, True),
        (RequestState.RUNNING, True),
        (RequestState.EXECUTED, True),
        (RequestState.DENIED, True),
        (RequestState.FAILED, False),
        (RequestState.WITHDRAWN, False),
    ],
)
def test_an_outcome_without_an_answer_of_ours(record: DaemonLedger, outcome: RequestState, elsewhere: bool) -> None:
    record.record_requests([item()], "console")
    assert record.record_report(ID, outcome)
    assert listed(record)["surface"] == ("elsewhere" if elsewhere else "")


def test_the_opposite_of_our_answer_is_anothers(record: DaemonLedger, key: UnlockedKey, clock: Clock) -> None:
    for id_, verdict, outcome in (
        ("a", Verdict.DENY, RequestState.EXECUTED),
        ("b", Verdict.APPROVE, RequestState.DENIED),
    ):
        record.record_requests([item(id_)], "console")
        answer(record, item(id_), key, clock, verdict)
        assert record.record_report(id_, outcome)
        assert listed(record, id_)["surface"] == "elsewhere"


def test_the_answer_of_another_console_is_not_called_elsewhere(
    record: DaemonLedger, folder: Path, key: UnlockedKey, clock: Clock
) -> None:
    record.record_requests([item()], "console")
    with DaemonLedger(folder, key, clock=clock) as other:
        other.record_requests([item()], "other")
        answer(other, item(), key, clock)
        assert not record.record_report(ID, RequestState.RUNNING, elsewhere=True), (
            "the other has not heard yet what came of it"
        )
        assert record.state(ID) is RequestState.APPROVED
        assert other.record_report(ID, RequestState.RUNNING)
    assert record.record_report(ID, RequestState.EXECUTED, elsewhere=True)
    assert (listed(record)["surface"], listed(record)["signer"]) == ("console", key.public.fingerprint)
    with pytest.raises(InvalidTransition):
        answer(record, item(), key, clock)


def test_the_answer_of_another_console_is_not_called_lost_while_it_may_be_on_its_way(
    record: DaemonLedger, folder: Path, key: UnlockedKey, clock: Clock
) -> None:
    with DaemonLedger(folder, key, clock=clock) as other:
        other.record_requests([item()], "other")
        answer(other, item(), key, clock)
        assert not record.record_report(ID, RequestState.PENDING, elsewhere=True)
        clock.on(LATER)
        assert record.record_report(ID, RequestState.PENDING, elsewhere=True)
        assert entries(record)[-1]["body"] == {
            "outcome": "pending",
            "elsewhere": False,
            "reason": "",
            "error": "",
            "at": "",
        }


def test_the_answer_of_a_console_that_died_is_taken_for_the_one_that_arrived(
    record: DaemonLedger, folder: Path, key: UnlockedKey, clock: Clock
) -> None:
    with DaemonLedger(folder, key, clock=clock) as other:
        other.record_requests([item()], "other")
        answer(other, item(), key, clock)
    clock.on(LATER)
    assert record.record_report(ID, RequestState.EXECUTED, elsewhere=True)
    assert (listed(record)["outcome"], listed(record)["surface"]) == ("executed", "console")


def test_nothing_is_told_of_what_is_not_known(record: DaemonLedger) -> None:
    with pytest.raises(EntryRefused, match="its own requests"):
        record.record_report("act-other", RequestState.EXECUTED)


def test_answers_from_elsewhere_are_heard(record: DaemonLedger) -> None:
    audit_events: list[Json] = [
        event("approval.approved", "act-2", "2026-05-12T10:16:00Z", wait_ms=2500, decision="approved"),
        event("execution.succeeded", "act-2"),
        event("approval.denied", reason="not now", decision="denied"),
        event("approval.requested", "act-3"),
        event("approval.requested", at="2026-05-12T12:15:30.123456789+02:00"),
    ]
    assert record.record_audit_events(audit_events) == ["act-2"]
    request = listed(record)
    assert (request["asked"], request["decided"]) == ("2026-05-12T10:15:30.123456Z", "2026-05-12T10:15:35.500000Z")
    assert (request["outcome"], request["surface"], request["reason"]) == ("denied", "elsewhere", "not now")
    assert (request["action"], request["connector"]) == ("send-draft", "github://ALRubinger/aileron-connector-google")
    assert request["took"] == pytest.approx(5.376544)
    assert listed(record, "act-2")["asked"] == "2026-05-12T10:15:57.500000Z"
    assert record.state("act-3") is None, "what waits is left to the list, which tells more"
    head = record.head
    assert record.record_audit_events(audit_events) == ["act-2"]
    assert record.head == head
    record.record_report("act-2", RequestState.EXECUTED, elsewhere=True)
    assert record.record_audit_events(audit_events) == []


def test_answers_of_ours_are_heard_as_ours(record: DaemonLedger, key: UnlockedKey, clock: Clock) -> None:
    for id_ in ("act-1", "act-2", "act-3"):
        record.record_requests([item(id_)], "console")
    answer(record, item("act-1"), key, clock)
    answer(record, item("act-2"), key, clock, Verdict.DENY)
    events: list[Json] = [event("approval.approved", id_) for id_ in ("act-3", "act-2", "act-1")]
    record.record_audit_events(events)
    assert kinds(record, "act-1")[-1] == "decision.made", "while it may be on its way, whoever sent it says so"
    clock.on(LATER)
    assert record.record_audit_events(events) == ["act-3", "act-2", "act-1"]
    surfaces = [listed(record, id_)["surface"] for id_ in ("act-1", "act-2", "act-3")]
    assert surfaces == ["console", "elsewhere", "elsewhere"]
    assert entries(record, "act-1")[-1]["body"]["elsewhere"] is False


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        7,
        [],
        {},
        {"event_type": "approval.denied"},
        {"event_type": 7, "payload": {}},
        {"event_type": "approval.denied", "payload": []},
        {"event_type": "approval.denied", "payload": {"aileron.approval.id": 7}},
        {"event_type": "approval.denied", "payload": {"aileron.approval.id": ""}},
        {"event_type": "approval.denied", "payload": {"aileron.approval.id": "x" * 5000}},
        {"event_type": "approval.denied", "payload": {"aileron.approval.id": "act-\ud800"}},
        event("approval.unheard-of"),
    ],
    ids=repr,
)
def test_garbage_among_events_is_passed_over(record: DaemonLedger, garbage: Json) -> None:
    assert record.record_audit_events(
        [event("approval.approved", "act-1"), garbage, event("approval.denied", "act-2")]
    ) == ["act-1"]
    assert ids(record.history()) == ["act-1", "act-2"]


@pytest.mark.parametrize("odd", [None, 7, "", "yesterday", {}, True, -5, 1e300, float("inf")])
def test_an_answer_with_odd_particulars_is_still_an_answer(record: DaemonLedger, odd: Json, clock: Clock) -> None:
    heard = event("approval.denied", wait_ms=odd, reason=odd, action=odd) | {"timestamp": odd}
    record.record_audit_events([heard])
    assert listed(record)["outcome"] == "denied"
    assert listed(record)["asked"] == "2026-05-12T10:15:40.000000Z"


def test_several_consoles_ask_at_once(folder: Path, clock: Clock) -> None:
    records = [DaemonLedger(folder, for_this_run("laptop"), clock=clock) for _ in range(3)]
    start = threading.Barrier(3)
    failed: list[BaseException] = []

    def work(record: DaemonLedger) -> None:
        start.wait()
        try:
            for number in range(15):
                record.record_requests([item(f"act-{number}"), item(f"act-{number + 1}")], "console")
                record.record_audit_events([event("approval.approved", f"act-{number}")])
                record.record_report(f"act-{number}", RequestState.EXECUTED, elsewhere=True)
        except BaseException as error:  # noqa: BLE001  # shown below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(record,)) for record in records]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for number in range(15):
        made = kinds(records[0], f"act-{number}")
        assert made[:3] == ["request.made", "preview.fetched", "prompt.shown"]
        assert made.count("prompt.shown") == 1
        assert records[1].state(f"act-{number}") is RequestState.EXECUTED
    for record in records:
        record.close()
    verified(folder)


def test_a_request_too_large_for_an_entry_can_be_answered(record: DaemonLedger, key: UnlockedKey, clock: Clock) -> None:
    args: JsonObject = {"to": "a@example.com", "body": "é" * (LARGEST_ENTRY + 7), "list": ["x" * 100] * 2000, "cc": 1}
    large = item(args=args, inputs=())
    record.record_requests([large], "console")
    body = entries(record)[0]["body"]
    whole = canonical(args)
    assert body["cut"] == {"args": {"digest": f"sha256:{hashlib.sha256(whole).hexdigest()}", "bytes": len(whole)}}
    assert (body["args"]["to"], body["args"]["cc"]) == ("a@example.com", 1)
    assert set(body["args"]["body"]) == {"é"}
    assert body["args"]["list"].startswith('["xxx')
    answer(record, large, key, clock)
    assert record.record_report(ID, RequestState.FAILED, error="x" * 10_000_000)
    assert entries(record)[-1]["body"]["cut"]["error"]["bytes"] == 10_000_002


def test_an_ordinary_large_request_is_kept_whole(record: DaemonLedger) -> None:
    args: JsonObject = {"body": "x" * (3 * 1024 * 1024)}
    record.record_requests([item(args=args, inputs=())], "console")
    body = entries(record)[0]["body"]
    assert body["args"] == args
    assert "cut" not in body


def test_texts_without_end_are_cut_and_counted(record: DaemonLedger) -> None:
    long = "\u202e" * 2_000_000
    odd = item(
        action=long,
        kind=long,
        connector=ConnectorRef(long, long, long),
        asker=Asker("", long, long, long),
        preview=PreviewResult(unavailable=long),
        instance=long,
        args={long: long} | {str(number): long[:60_000] for number in range(40)},
    )
    record.record_requests([odd], "console")
    body = entries(record)[0]["body"]
    assert len(json.dumps(body, ensure_ascii=False)) < LARGEST_ENTRY
    assert {"action", "kind", "says", "session", "folder", "daemon", "args"} <= set(body["cut"])


def ids(page: Any) -> list[str]:
    return [one["id"] for one in page["items"]]


def test_history_has_the_shape_of_a_gates(record: DaemonLedger) -> None:
    for number in range(5):
        record.record_requests([item(f"act-{number}", args={"n": f"number{number}"})], "console")
    record.record_report("act-3", RequestState.DENIED, elsewhere=True)
    first: Any = record.history(limit=2)
    assert ids(first) == ["act-4", "act-3"]
    assert ids(record.history(limit=2, before=first["next"])) == ["act-2", "act-1"]
    assert ids(record.history(text="number2")) == ["act-2"]
    assert ids(record.history(outcome=["denied"], surface="elsewhere")) == ["act-3"]
    assert len(ids(record.history(since="2026-05-12T10:15:30Z", until="2026-05-13"))) == 5
    assert ids(record.history(until="2026-05-12T10:15:30Z")) == []
    assert record.past("act-9") is None


@pytest.mark.parametrize("filters", [{"limit": 0}, {"outcome": "maybe"}, {"nonsense": "x"}, {"since": "yesterday"}])
def test_a_question_that_makes_no_sense(record: DaemonLedger, filters: dict[str, str | int | list[str]]) -> None:
    with pytest.raises(BadHistoryQuery):
        record.history(**filters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-12T12:15:30.123456789+02:00", "2026-05-12T10:15:30.123456Z"),
        ("2026-05-12T10:15:30Z", "2026-05-12T10:15:30.000000Z"),
        ("2026-05-12T10:15:30.5z", "2026-05-12T10:15:30.500000Z"),
        ("2026-05-12t00:15:30-11:30", "2026-05-12T11:45:30.000000Z"),
        ("2026-05-12T10:15:30.000001999+00:00", "2026-05-12T10:15:30.000001Z"),
        ("2026-05-12T10:15:30.123456Z", "2026-05-12T10:15:30.123456Z"),
        ("0001-01-01T00:00:00Z", ""),
        ("0001-01-01T00:00:00+14:00", ""),
        ("9999-12-31T23:59:59-14:00", ""),
        ("2026-05-12T10:15:30", ""),
        ("2026-05-12", ""),
        ("2026-13-12T10:15:30Z", ""),
        ("2026-05-12T24:15:30Z", ""),
        ("2026-05-12T10:15:30+99:99", ""),
        ("2026-05-12T10:15:30.Z", ""),
        ("٢٠٢٦-05-12T10:15:30Z", ""),
        ("2026-05-12T10:15:30Z\n", ""),
        ("", ""),
        (None, ""),
        (1778580930, ""),
    ],
)
def test_times_of_a_daemon(text: Json, expected: str) -> None:
    assert utc_time(text) == expected


def test_a_closed_record_says_so(folder: Path, key: UnlockedKey) -> None:
    record = DaemonLedger(folder, key)
    record.close()
    for attempt in (lambda: record.head, lambda: record.record_requests([item()], "console"), lambda: record.state(ID)):
        with pytest.raises(Exception, match="ledger cannot be used"):
            attempt()


def test_entries_are_those_of_the_ledger(record: DaemonLedger, folder: Path) -> None:
    record.record_requests([item()], "console")
    with open_reader(folder / "ledger.db") as reader:
        stored = reader.of_request(ID)
    assert [Entry(**entry) for entry in entries(record)] == list(stored)


def alerts(record: DaemonLedger) -> list[tuple[str, str, str]]:
    """Who was alerted, in order: from, to and why."""
    found = [(entry["kind"], entry["body"]) for entry in entries(record)]
    shown = [("", body["alerted"], "") for kind, body in found if kind == EntryKind.SHOWN and "alerted" in body]
    later = [(body["from"], body["to"], body["reason"]) for kind, body in found if kind == EntryKind.FELL_BACK]
    return [*shown, *later]


def test_the_first_alert_is_recorded_with_what_was_shown_and_each_further_one_by_itself(
    record: DaemonLedger, key: UnlockedKey, clock: Clock
) -> None:
    record.record_requests([item()], "console", {"alerted": "console"})
    record.record_alert(ID, before="", to="console", reason="")
    assert alerts(record) == [("", "console", "")]
    for _ in range(2):  # a second console does the same
        record.record_alert(ID, before="console", to="notification", reason="nobody reacted for 60 s")
    record.record_requests([item(args={"draft_id": "r-2"})], "console", {"alerted": "console"})
    assert alerts(record) == [("", "console", ""), ("console", "notification", "nobody reacted for 60 s")]
    answer(record, item(args={"draft_id": "r-2"}), key, clock)
    record.record_alert(ID, before="notification", to="webhook", reason="late")
    assert len(alerts(record)) == 2


def test_a_first_alert_that_was_not_known_yet_is_an_entry_of_its_own(record: DaemonLedger) -> None:
    record.record_requests([item()], "console")
    record.record_alert(ID, before="", to="notification", reason="nobody is at the console")
    record.record_alert("unknown", before="", to="console", reason="")
    assert alerts(record) == [("", "notification", "nobody is at the console")]
