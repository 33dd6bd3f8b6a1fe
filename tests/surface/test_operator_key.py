"""The operator's key: created at the first run, or made for one run, and enrolled on the gate of this home."""

from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.surface.key_enrolment import changing_keys, read_approvers
from aileron_tui.surface.operator_key import FIRST_KEY, StoredOperatorKey, first_key, stored_key, temporary_key


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))


def active() -> list[str]:
    return [approver.name for approver in read_approvers(paths().data).active]


def is_unlocked(holder: StoredOperatorKey) -> bool:
    return holder.key is not None


def test_the_first_key_is_stored_enrolled_and_unlocked_until_the_end() -> None:
    passphrase = bytearray(b"correct horse")
    with first_key(passphrase) as holder:
        assert (holder.name, is_unlocked(holder), active()) == (FIRST_KEY, True, [FIRST_KEY])
    assert not is_unlocked(holder)
    assert not any(passphrase), "the passphrase is wiped"
    with stored_key() as again:
        assert (again.name, is_unlocked(again), again.lockable) == (FIRST_KEY, False, True)
        again.unlock(bytearray(b"correct horse"))
        assert is_unlocked(again)


def test_a_lost_first_key_keeps_its_name_in_the_ledger() -> None:
    paths().data.mkdir(parents=True, mode=0o700)
    with key_store.for_this_run(FIRST_KEY) as lost, changing_keys(paths().data) as (ledger, approvers):
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment(FIRST_KEY, lost.public))
    with first_key(bytearray(b"correct horse")) as holder:
        assert holder.name.startswith(f"{FIRST_KEY}-")
        assert active() == [FIRST_KEY, holder.name]


@pytest.mark.parametrize("enroll", [True, False])
def test_a_temporary_key_may_approve_only_while_it_exists(enroll: bool) -> None:
    with temporary_key(enroll=enroll) as holder:
        assert not holder.lockable
        assert active() == ([holder.name] if enroll else [])
    assert active() == []
    assert key_store.stored(paths().keys) == ()
