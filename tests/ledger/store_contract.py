"""What every database behind `aileron_tui.ledger.store` must do.

`test_store.py` runs this against the store the program opens. For a second database, subclass these classes and return
it from the fixtures `opener`, `reading`, `results` and `ids`. They do not run by themselves.
"""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import GENESIS, ChainWalker, decode
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import InvalidTransition, RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.ledger.entry_check import verify
from aileron_tui.ledger.errors import EntryRefused, EntryTooLarge, LedgerError, LedgerHeld
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.store import (
    LARGEST_ENTRY,
    EntryDraft,
    IdSet,
    Ledger,
    LedgerReader,
    LedgerView,
    ResultStore,
    StoredResult,
)
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from tests.signing.decisions import statement
from tests.stepping_clock import SteppingClock

START = datetime(2026, 5, 12, 10, 0, tzinfo=UTC)
TIME = "2026-05-12T10:00:00.000000Z"

OpenLedger = Callable[..., Ledger]
OpenReader = Callable[[Path], LedgerReader]


def request(action: str = "send-draft", **more: Any) -> JsonObject:
    return {
        "action": action,
        "connector": {"name": "mail"},
        "agent": "claude",
        "says": "",
        "risk": "high",
        "args": {},
    } | more


def enrol(ledger: Ledger) -> UnlockedKey:
    key = for_this_run("laptop")
    ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment(key.name, key.public))
    return key


def decide(ledger: Ledger, key: UnlockedKey, id_: str, verdict: Verdict = Verdict.APPROVE, **changes: Any) -> Head:
    head = changes.pop("head", ledger.head.hash)
    nonce = changes.pop("nonce", f"{ledger.head.seq:032x}")
    times = {"time": TIME, "expires": "2026-05-12T10:10:00.000000Z"}
    signed = sign(statement(request=id_, verdict=verdict, head=head, nonce=nonce, **times, **changes), key)
    return ledger.append(EntryKind.DECIDED, {"envelope": signed.fields()}, id_)


class ContractLedger:
    """The writer and the reader of a ledger."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "data" / "ledger.db"

    @pytest.fixture
    def ledger(self, opener: OpenLedger, path: Path) -> Any:
        with opener(path, clock=SteppingClock(START)) as ledger:
            yield ledger

    @pytest.fixture
    def reader(self, reading: OpenReader, ledger: Ledger) -> Any:
        with reading(ledger.path) as reader:
            yield reader

    def test_a_new_ledger_is_empty(self, ledger: Ledger, reader: LedgerReader) -> None:
        assert ledger.head == reader.head() == Head(0, GENESIS)
        assert [*reader.rows(), *reader.entries(), *reader.every()] == []
        assert (reader.page(), reader.key_changes(), reader.last_key_change()) == ((), (), 0)
        assert (reader.entry(1), reader.find("act-1"), reader.standing("act-1")) == (None, None, None)
        assert reader.indexed()
        assert reader.check_storage() == ""

    def test_appending_extends_one_chain(self, ledger: Ledger, reader: LedgerReader) -> None:
        ledger.append(EntryKind.STARTED, {"instance": "gate-1"})
        head = ledger.append_all([EntryDraft(EntryKind.FELL_BACK, {"n": 1}), EntryDraft(EntryKind.STOPPED)])
        walker = ChainWalker()
        for seq, data, raw in reader.rows():
            assert walker.check(seq, data, f"sha256:{raw.hex()}") is None
            assert decode(data) == reader.entry(seq)
        assert head == ledger.head == reader.head() == Head(3, walker.head)
        assert [entry.kind for entry in reader.entries(1)] == ["surface.fell_back", "gate.stopped"]
        assert reader.noted() == head

    def test_what_is_old_is_reduced_and_the_chain_stays(
        self, opener: OpenLedger, reading: OpenReader, path: Path
    ) -> None:
        clock = SteppingClock(START)
        with opener(path, clock=clock) as ledger:
            key = enrol(ledger)
            for id_ in ("act-1", "act-2"):
                ledger.append(EntryKind.REQUESTED, request(args={"note": "xylophone"}), id_)
            decide(ledger, key, "act-1", Verdict.DENY, reason="xylophone")
            head = ledger.head
            clock.now += timedelta(days=2)
            with pytest.raises(EntryRefused, match="for a day at least"):
                ledger.reduce(timestamp(clock.now), "1d")
            assert (ledger.head, ledger.unerased) == (head, False)
            step = ledger.reduce(timestamp(clock.now - timedelta(days=1)), "1d")
            assert (step.requests, step.entries, step.next, ledger.unerased) == (1, 2, 0, True)
            more = ledger.erase()
            while more:
                more = ledger.erase(go_on=True)
            assert not ledger.unerased
        with reading(path) as reader:
            report = verify(reader.rows(), RecordedSigners(), [head], reader.shown)
            assert (report.fault, report.reduced) == (None, 2)
            assert [record.id for record in reader.page(HistoryFilter("xylophone"))] == ["act-2"]
            reduced = reader.find("act-1")
            assert reduced is not None
            assert (reduced.outcome, reduced.reason, reduced.reduced[:10]) == ("denied", "", "2026-05-14")

    def test_several_facts_are_recorded_all_or_none(self, ledger: Ledger, reader: LedgerReader) -> None:
        drafts = [EntryDraft(EntryKind.REQUESTED, request(), id_) for id_ in ("act-1", "act-2", "act-1")]
        with pytest.raises((EntryRefused, InvalidTransition)):
            ledger.append_all(drafts)
        assert reader.head().seq == 0
        assert reader.page() == ()

    def test_a_choice_sees_the_ledger_it_extends(self, ledger: Ledger) -> None:
        def choose(view: LedgerView) -> list[EntryDraft]:
            known = view.standing("act-1")
            return [EntryDraft(EntryKind.EXPIRED if known else EntryKind.REQUESTED, request(), "act-1")]

        assert [ledger.append_given(choose).seq for _ in range(2)] == [1, 2]
        with pytest.raises(ZeroDivisionError):
            ledger.append_given(lambda _: [][1 // 0])
        assert ledger.append_given(lambda _: []).seq == 2

    def test_an_entry_beyond_the_limit_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(EntryTooLarge):
            ledger.append(EntryKind.CONFIG_CHANGED, {"x": "x" * LARGEST_ENTRY})
        assert ledger.head.seq == 0

    def test_steps_must_follow(self, ledger: Ledger, reader: LedgerReader) -> None:
        ledger.append(EntryKind.REQUESTED, request(), "act-1")
        for kind in (EntryKind.REQUESTED, EntryKind.RUNNING, EntryKind.EXECUTED):
            with pytest.raises((EntryRefused, InvalidTransition)):
                ledger.append(kind, {}, "act-1")
        ledger.append(EntryKind.EXPIRED, {}, "act-1")
        with pytest.raises(InvalidTransition):
            ledger.append(EntryKind.WITHDRAWN, {}, "act-1")
        found = reader.find("act-1")
        assert found is not None
        assert (found.outcome, found.action, found.connector, found.agent) == (
            "expired",
            "send-draft",
            "mail",
            "claude",
        )

    def test_a_decision_is_bound_to_request_head_and_nonce(self, ledger: Ledger, reader: LedgerReader) -> None:
        key = enrol(ledger)
        old = ledger.head.hash
        for id_ in ("act-1", "act-2"):
            ledger.append(EntryKind.REQUESTED, request(), id_)
        with pytest.raises(EntryRefused, match="ledger head"):
            decide(ledger, key, "act-1", head=old)
        decide(ledger, key, "act-1", nonce="0f" * 16, reason="fine", surface="tui")
        with pytest.raises(EntryRefused, match="nonce"):
            decide(ledger, key, "act-2", nonce="0f" * 16)
        with pytest.raises(InvalidTransition):
            decide(ledger, key, "act-1", Verdict.DENY)
        assert (reader.nonce_used("0f" * 16), reader.nonce_used("00" * 16)) == (True, False)
        found = reader.find("act-1")
        assert found is not None
        assert (found.outcome, found.surface, found.signer) == ("approved", "tui", key.public.fingerprint)
        known = reader.standing("act-1")
        assert known is not None
        assert (known.state, known.seq, known.daemon) == (RequestState.APPROVED, 2, False)

    def test_a_whole_history_verifies(self, ledger: Ledger, reader: LedgerReader) -> None:
        key = enrol(ledger)
        for number in range(3):
            id_ = f"act-{number}"
            ledger.append(EntryKind.REQUESTED, request(), id_)
            decide(ledger, key, id_, Verdict.DENY if number else Verdict.APPROVE)
        assert verify(reader.rows(), RecordedSigners(), [ledger.head], reader.shown).fault is None
        assert [entry.seq for entry in reader.key_changes()] == [1]
        assert reader.last_key_change() == 1

    def test_positions_are_found_in_a_range(self, ledger: Ledger, reader: LedgerReader) -> None:
        heads = [ledger.append(EntryKind.STARTED, {}) for _ in range(4)]
        assert reader.position(heads[1].hash, 1, 5) == 2
        assert reader.position(heads[1].hash, 2, 3) == 2
        assert reader.position(heads[1].hash, 3, 5) is None
        assert reader.position(heads[1].hash, 1, 2) is None

    def test_what_a_daemon_reports(self, ledger: Ledger, reader: LedgerReader) -> None:
        key = enrol(ledger)
        for id_ in ("apr-1", "apr-2"):
            ledger.append(EntryKind.REQUESTED, request(daemon="daemon-1"), id_)
            decide(ledger, key, id_)
        assert reader.unfinished(10) == ("apr-2", "apr-1")
        assert reader.unfinished(1) == ("apr-2",)
        ledger.append(EntryKind.TOLD, {"outcome": "executed"}, "apr-2")
        assert reader.unfinished(10) == ("apr-1",)
        with pytest.raises(EntryRefused):
            ledger.append(EntryKind.TOLD, {"outcome": "failed"}, "apr-2")
        known = reader.standing("apr-2")
        assert known is not None
        assert (known.state, known.daemon, known.told) == (RequestState.EXECUTED, True, True)

    def test_the_history_is_paged_filtered_and_searched(self, ledger: Ledger, reader: LedgerReader) -> None:
        for number in range(5):
            action = "send-draft" if number % 2 else "list-drafts"
            ledger.append(
                EntryKind.REQUESTED, request(action, args={"to": f"person{number}@example.com"}), f"act-{number}"
            )
        ledger.append(EntryKind.EXPIRED, {}, "act-3")

        def ids(wanted: HistoryFilter, **options: int) -> list[str]:
            return [record.id for record in reader.page(wanted, **options)]

        assert ids(HistoryFilter()) == ["act-4", "act-3", "act-2", "act-1", "act-0"]
        assert ids(HistoryFilter(), limit=2) == ["act-4", "act-3"]
        assert ids(HistoryFilter(), limit=2, before=4) == ["act-2", "act-1"]
        assert ids(HistoryFilter(actions=("send-draft",))) == ["act-3", "act-1"]
        assert ids(HistoryFilter(outcomes=("expired",))) == ["act-3"]
        assert ids(HistoryFilter("person2@example.com")) == ["act-2"]
        assert ids(HistoryFilter("PERSON2")) == ["act-2"]
        assert ids(HistoryFilter("pers*", outcomes=("expired",))) == ["act-3"]
        assert ids(HistoryFilter('"')) == ids(HistoryFilter("absent")) == []
        assert ids(HistoryFilter(since="2026-05-12T10:00:04", until="2026-05-12T10:00:05")) == ["act-3"]
        assert [record.id for record in reader.every(HistoryFilter(actions=("send-draft",)))] == ["act-3", "act-1"]
        with pytest.raises(LedgerError):
            ids(HistoryFilter("\ud800a"))

    def test_the_newest_entries_may_be_narrowed_but_nothing_wanted_is_left_out(
        self, ledger: Ledger, reader: LedgerReader
    ) -> None:
        for number in range(4):
            connector: JsonObject = {"name": "mail" if number % 2 else "files"}
            ledger.append(EntryKind.REQUESTED, request(connector=connector), f"act-{number}")
        ledger.append(EntryKind.WITHDRAWN, {"error": "network_error: none"}, "act-0")
        assert [entry.seq for entry in reader.newest_entries()] == [5, 4, 3, 2, 1]
        mail = [entry.seq for entry in reader.newest_entries(connector="mail")]
        assert {4, 2} <= set(mail)
        assert 5 in [entry.seq for entry in reader.newest_entries(text="network_error")]
        assert mail == sorted(mail, reverse=True)

    def test_the_entries_of_a_request_are_in_order(self, ledger: Ledger, reader: LedgerReader) -> None:
        ledger.append(EntryKind.REQUESTED, request(), "act-1")
        ledger.append(EntryKind.REQUESTED, request(), "act-2")
        ledger.append(EntryKind.SHOWN, {"surface": "tui"}, "act-1")
        assert [entry.seq for entry in reader.of_request("act-1")] == [1, 3]
        assert reader.shown("act-1") == (1, "pending")
        assert reader.shown("act-9") is None

    def test_the_index_can_be_rebuilt(self, ledger: Ledger, reader: LedgerReader) -> None:
        key = enrol(ledger)
        ledger.append(EntryKind.REQUESTED, request(), "act-1")
        decide(ledger, key, "act-1", edits={"to": "you"}, reason="fine")
        before = reader.page()
        ledger.rebuild_index()
        assert reader.page() == before
        assert before[0].edited

    def test_a_snapshot_does_not_move(self, ledger: Ledger, reader: LedgerReader) -> None:
        ledger.append(EntryKind.STARTED, {})
        with reader.snapshot():
            assert reader.head().seq == 1
            ledger.append(EntryKind.STOPPED, {})
            assert reader.head().seq == 1
        assert reader.head().seq == 2

    def test_what_was_acknowledged_is_there_after_closing(
        self, opener: OpenLedger, reading: OpenReader, path: Path
    ) -> None:
        with opener(path) as ledger:
            head = ledger.append(EntryKind.STARTED, {})
            ledger.close()
        with opener(path) as again, reading(path) as reader:
            assert again.head == reader.head() == head

    def test_there_is_one_writer_and_guests_change_only_keys(self, opener: OpenLedger, ledger: Ledger) -> None:
        with pytest.raises(LedgerHeld):
            opener(ledger.path, wait=0)
        with opener(ledger.path, role="key", guest=True) as guest:
            guest.append(EntryKind.CONFIG_CHANGED, {"change": "x"})
            with pytest.raises(EntryRefused):
                guest.append(EntryKind.REQUESTED, request(), "act-1")
        assert ledger.append(EntryKind.STOPPED, {}).seq == 2

    def test_a_shared_ledger_has_several_writers(self, opener: OpenLedger, reading: OpenReader, path: Path) -> None:
        with opener(path, shared=True) as one, opener(path, shared=True) as other:
            writers = [threading.Thread(target=_append_many, args=(ledger, 20)) for ledger in (one, other)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            assert one.head == other.head
            assert one.head.seq == 40
        with reading(path) as reader:
            assert verify(reader.rows(), RecordedSigners()).fault is None

    def test_reading_what_is_not_there_fails_in_words(self, reading: OpenReader, path: Path) -> None:
        with pytest.raises(LedgerError):
            reading(path)


def _append_many(ledger: Ledger, count: int) -> None:
    for _ in range(count):
        ledger.append(EntryKind.FELL_BACK, {})


class ContractResults:
    """Results that agents have not fetched yet."""

    def test_a_result_is_kept_delivered_once_and_forgotten(self, results: ResultStore) -> None:
        assert results.find("act-1") is None
        results.put(StoredResult("act-1", {"status": "completed", "n": 1}), "call-1", "2026-05-12T10:00:00.000000Z")
        results.put(StoredResult("act-1", {"status": "failed"}), "call-1", "2026-05-12T10:00:01.000000Z")
        assert results.find("act-1") == StoredResult("act-1", {"status": "completed", "n": 1})
        assert results.undelivered("call-1") == results.find("act-1")
        assert (results.deliver("act-1"), results.deliver("act-1")) == (True, False)
        assert results.undelivered("call-1") is None
        found = results.find("act-1")
        assert found is not None
        assert found.delivered
        results.forget("2026-05-12T10:00:00.000000Z", "2026-05-13")
        assert results.find("act-1") is not None
        results.forget("2026-05-13", "2026-05-01")
        assert results.find("act-1") is None

    def test_the_newest_undelivered_result_of_a_call_is_given(self, results: ResultStore) -> None:
        for number in range(3):
            ended = f"2026-05-12T10:00:0{number}.000000Z"
            results.put(StoredResult(f"act-{number}", {"n": number}), "call-1", ended)
        for number in (2, 1, 0):
            found = results.undelivered("call-1")
            assert found is not None
            assert found.body == {"n": number}
            assert results.deliver(found.request)
        assert results.undelivered("call-1") is None
        assert results.undelivered("call-2") is None

    def test_results_of_one_kind_are_forgotten_apart_from_the_others(self, results: ResultStore) -> None:
        for id_ in ("act-1", "act-2"):
            results.put(StoredResult(id_, {}), id_, "2026-05-12T10:00:00.000000Z")
        results.deliver("act-1")
        results.forget("2026-05-13", "2026-05-11")
        assert (results.find("act-1"), results.find("act-2")) == (None, StoredResult("act-2", {}))


class ContractIdSet:
    """A set of ids."""

    def test_ids_are_remembered(self, ids: IdSet) -> None:
        assert "act-1" not in ids
        for id_ in ("act-1", "act-1", "", "\ud800"):
            ids.add(id_)
        assert all(id_ in ids for id_ in ("act-1", "", "\ud800"))
        assert "act-2" not in ids
