"""Backups of a ledger, and what is in force after one was restored."""

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_change import ended, made
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.ledger.errors import LedgerError, LedgerHeld
from aileron_tui.ledger.full_check import audit
from aileron_tui.ledger.lock_file import LockFile
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.signing.restorations import RestorationFault
from aileron_tui.signing.rules import Rules
from aileron_tui.surface.agent_changes import add_agent, revoke_agent, rotate_agent
from aileron_tui.surface.key_enrolment import enroll_first, enroll_signed, revoke_signed
from aileron_tui.surface.ledger_backup import back_up
from aileron_tui.surface.ledger_restore import RestorePlan, restoring
from tests.accounts.account_home import AccountHome
from tests.ledger.scenes import change_entry, tampering
from tests.ledger.test_rules import RULE
from tests.packages.made_packages import FIRST, SECOND, made_release
from tests.packages.package_home import PackageHome


def quiet(*_: int) -> None:
    """No progress."""


class Home:
    """A data folder with a ledger, two keys, two agents and two rules."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.ledger = self.data / "ledger.db"
        self.backup = folder / "backup.db"
        self.verified = folder / "verified"
        self.key, self.phone = for_this_run("laptop"), for_this_run("phone")
        enroll_first(self.data, "laptop", self.key.public)
        enroll_signed(self.data, "phone", self.phone.public, self.key)
        add_agent(self.ledger, "ci", self.key)
        add_agent(self.ledger, "writer", self.key)
        ends = timestamp(utc_now() + timedelta(hours=1))
        self.rules = [replace(RULE, id=f"rule-{number:016x}", ends=ends) for number in range(2)]
        for rule in self.rules:
            self.make(rule)

    def make(self, rule: Rule) -> None:
        with open_ledger(self.ledger, guest=True) as ledger:
            change = made(rule, ledger.head.hash, timestamp(utc_now()))
            ledger.append(EntryKind.RULE_MADE, change.body(sign(change, self.key).fields()))

    def end(self, rule: Rule) -> None:
        with open_ledger(self.ledger, guest=True) as ledger:
            change = ended(rule.id, ledger.head.hash, timestamp(utc_now()))
            ledger.append(EntryKind.RULE_ENDED, change.body(sign(change, self.key).fields()))

    def append(self, kind: EntryKind, request: str, **body: str) -> None:
        with open_ledger(self.ledger) as ledger:
            ledger.append(kind, {**body}, request)

    def back_up(self) -> None:
        with open_reader(self.ledger) as reader:
            assert back_up(reader, self.backup, quiet, quiet).fault is None

    def restore(self, key: UnlockedKey | None = None) -> tuple[RestorePlan, Path | None]:
        with restoring(self.ledger, self.backup, quiet, quiet) as work:
            return work.plan, work.finish(key or self.key, self.verified)

    def check(self) -> None:
        with open_reader(self.ledger) as reader:
            assert audit(reader, RecordedSigners()).fault is None


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_backup_is_one_private_file_that_verifies(home: Home) -> None:
    home.back_up()
    assert oct(home.backup.stat().st_mode)[-3:] == "600"
    assert sorted(path.name for path in home.backup.parent.iterdir()) == ["backup.db", "data"]
    with open_reader(home.backup, foreign=True) as copy, open_reader(home.ledger) as reader:
        assert list(copy.rows()) == list(reader.rows())
    with pytest.raises(LedgerError, match="already exists"):
        home.back_up()


def test_a_backup_of_a_damaged_ledger_is_not_kept(home: Home) -> None:
    with tampering(home.ledger) as db:
        db.execute("UPDATE entries SET data = replace(data, 'phone', 'fone!') WHERE seq = 2")
    with open_reader(home.ledger) as reader:
        assert back_up(reader, home.backup, quiet, quiet).fault is not None
    assert [path.name for path in home.backup.parent.iterdir()] == ["data"]


def test_a_backup_is_consistent_while_a_gate_writes(home: Home) -> None:
    stop = threading.Event()

    def write() -> None:
        with open_ledger(home.ledger) as ledger:
            while not stop.is_set():
                ledger.append(EntryKind.CONFIG_CHANGED, {"change": "x" * 2000})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            home.backup = home.backup.with_name(f"backup-{number}.db")
            home.back_up()
    finally:
        stop.set()
        writer.join()


def test_what_was_revoked_since_the_backup_stays_revoked(home: Home) -> None:
    home.back_up()
    tablet = for_this_run("tablet")
    enroll_signed(home.data, "tablet", tablet.public, home.key)
    revoke_signed(home.data, "phone", home.key)
    revoke_agent(home.ledger, "ci", home.key)
    path = rotate_agent(home.ledger, "writer", home.key)
    add_agent(home.ledger, "late", home.key)
    home.end(home.rules[0])
    plan, kept = home.restore()
    with open_reader(home.ledger) as reader:
        approvers, agents, rules = Approvers.of(reader.key_changes()), Agents.of(reader), Rules.of(reader)
    assert [approver.name for approver in approvers.active] == ["laptop"]
    assert approvers[home.phone.public.fingerprint].revoked
    assert [agent.name for agent in agents.active] == ["writer"]
    assert agents["writer"].token == token_hash(read_token(path)), "the token on disk works, the old one does not"
    assert {id_: bool(rule.ended) for id_, rule in rules.items()} == {home.rules[0].id: True, home.rules[1].id: False}
    assert plan.later == ("the key tablet", "the agent late")
    assert kept is not None
    with open_reader(kept) as old:
        assert "tablet" in [approver.name for approver in Approvers.of(old.key_changes()).active]
    home.check()
    assert not (home.data / ".restoring").exists()


@pytest.mark.parametrize("after", ["removed", "updated", "unchanged"])
def test_a_package_is_installed_only_if_it_still_is(tmp_path: Path, after: str) -> None:
    packages, backup = PackageHome(tmp_path / "data"), tmp_path / "backup.db"
    first, second = (made_release(version).write_bundle(tmp_path / version) for version in (FIRST, SECOND))
    packages.add(first)
    with open_reader(packages.ledger) as reader:
        back_up(reader, backup, quiet, quiet)
    if after == "removed":
        packages.remove("mail")
    elif after == "updated":
        packages.add(second, name="mail")
    with restoring(packages.ledger, backup, quiet, quiet) as work:
        work.finish(packages.key, tmp_path / "verified")
        later = work.plan.later
    assert bool(packages.packages()) == (after == "unchanged")
    assert bool(later) == (after == "updated")
    with open_reader(packages.ledger) as reader:
        assert audit(reader, RecordedSigners()).fault is None


@pytest.mark.parametrize("after", ["unbound", "bound again", "unchanged"])
def test_an_account_is_bound_only_if_it_still_is(tmp_path: Path, after: str) -> None:
    accounts, backup = AccountHome(tmp_path / "data"), tmp_path / "backup.db"
    accounts.bind("first secret")
    with open_reader(accounts.ledger) as reader:
        back_up(reader, backup, quiet, quiet)
    if after == "unbound":
        accounts.unbind()
    elif after == "bound again":
        accounts.bind("second secret")
    with restoring(accounts.ledger, backup, quiet, quiet) as work:
        work.finish(accounts.key, tmp_path / "verified")
        later = work.plan.later
    assert bool(accounts.bindings()) == (after == "unchanged")
    assert bool(later) == (after == "bound again")
    with open_reader(accounts.ledger) as reader:
        assert audit(reader, RecordedSigners()).fault is None


def test_nothing_that_was_restored_can_run(home: Home) -> None:
    home.append(EntryKind.REQUESTED, "act-1", action="send-draft")
    home.append(EntryKind.REQUESTED, "act-2", action="send-draft")
    home.append(EntryKind.EXPIRED, "act-2")
    home.back_up()
    home.restore()
    with open_reader(home.ledger) as reader:
        outcomes = {record.id: record.outcome for record in reader.every()}
        restored = next(entry for entry in reader.entries() if entry.kind == EntryKind.RESTORED)
    assert outcomes == {"act-1": "expired", "act-2": "expired"}
    assert "envelope" in restored.body
    home.check()


def test_a_reduced_backup_is_restored_and_stays_reduced(home: Home) -> None:
    home.append(EntryKind.REQUESTED, "act-1", action="send-draft", args="xylophone")
    home.append(EntryKind.WITHDRAWN, "act-1", error="xylophone")
    later = utc_now() + timedelta(days=3)
    with open_ledger(home.ledger, clock=lambda: later) as ledger:
        assert ledger.reduce(timestamp(later - timedelta(days=1)), "1d").entries == 2
    home.back_up()
    with pytest.MonkeyPatch.context() as patch:  # the restoration follows the reduction
        patch.setattr("aileron_tui.surface.ledger_restore.utc_now", lambda: later)
        home.restore()
    with open_reader(home.ledger) as reader:
        (record,) = reader.every()
        assert (record.outcome, record.error, bool(record.reduced)) == ("withdrawn", "", True)
        assert audit(reader, RecordedSigners()).reduced == 2
    home.check()


def test_without_keys_here_rules_end_because_nobody_knows_whether_they_did(home: Home) -> None:
    home.back_up()
    for path in home.data.glob("ledger.*"):
        path.unlink()
    plan, kept = home.restore()
    assert not plan.known
    assert kept is None
    with open_reader(home.ledger) as reader:
        assert all(rule.ended for rule in Rules.of(reader).values())
        assert [approver.name for approver in Approvers.of(reader.key_changes()).active] == ["laptop", "phone"]
    home.check()


def test_a_restoration_without_a_valid_signature_is_found(home: Home) -> None:
    home.back_up()
    home.restore()
    with open_reader(home.ledger) as reader:
        seq = next(entry.seq for entry in reader.entries() if entry.kind == EntryKind.RESTORED)
    with tampering(home.ledger) as db:
        change_entry(db, seq, lambda entry: replace(entry, body=entry.body | {"replaced": ""}))
    home.ledger.with_suffix(".lock").unlink()
    with open_reader(home.ledger) as reader:
        fault = audit(reader, RecordedSigners()).fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (seq, Damage.RESTORED)


def test_a_key_that_was_revoked_since_cannot_restore(home: Home) -> None:
    home.back_up()
    revoke_signed(home.data, "phone", home.key)
    with pytest.raises(RestorationFault, match="phone may not approve now"):
        home.restore(home.phone)
    with pytest.raises(RestorationFault, match="may not approve when the backup was made"):
        home.restore(for_this_run("stranger"))
    home.check()


def test_nothing_is_restored_while_a_gate_runs(home: Home) -> None:
    home.back_up()
    with open_ledger(home.ledger), pytest.raises(LedgerHeld):
        home.restore()


def test_nothing_is_restored_while_another_program_reads(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.back_up()
    monkeypatch.setattr("aileron_tui.ledger.sqlite.connection._BUSY_SECONDS", 0.1)
    with open_reader(home.ledger) as reader:
        head = reader.head()
        with pytest.raises(LedgerHeld, match="another program has the ledger open"):
            home.restore()
        assert reader.head() == head


def test_a_damaged_backup_is_not_restored(home: Home) -> None:
    home.back_up()
    with tampering(home.backup) as db:
        db.execute("UPDATE entries SET data = replace(data, 'phone', 'fone!') WHERE seq = 2")
    with pytest.raises(RestorationFault, match="the backup is damaged"):
        home.restore()


def _dies(*_: object, **__: object) -> None:
    os._exit(9)


def _in_a_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        with ExitStack() as stack:
            stack.callback(os._exit, 1)
            work()
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(
    ("owner", "name"),
    [(os, "link"), (LockFile, "forget"), (Path, "replace"), (LockFile, "note")],
    ids=["before the old one is kept", "before the note is cleared", "before the new one is there", "before the note"],
)
def test_a_process_that_is_killed_leaves_the_old_ledger_or_the_new_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    home.append(EntryKind.REQUESTED, "act-1", action="send-draft")
    home.back_up()
    home.append(EntryKind.WITHDRAWN, "act-1")

    def restore() -> None:
        with restoring(home.ledger, home.backup, quiet, quiet) as work:
            replacement, ready = work.replacement, work.replacement.replace

            def dying(new: Path, kept: Path) -> None:
                monkeypatch.setattr(owner, name, _dies)
                ready(new, kept)

            monkeypatch.setattr(type(replacement), "replace", lambda _, new, kept: dying(new, kept))
            work.finish(home.key, home.verified)

    assert _in_a_child(restore) == 9
    home.check()
    with open_ledger(home.ledger) as ledger:
        assert ledger.head.seq
    with open_reader(home.ledger) as reader:
        found = reader.find("act-1")
    assert found is not None
    assert found.outcome == ("expired" if name == "note" else "withdrawn")
    home.restore()
    home.check()
