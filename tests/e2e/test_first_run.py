"""Somebody opens the program for the first time, or with a gate inside."""

from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from tests.e2e.conftest import House, answer
from tests.e2e.person import approve
from tests.e2e.terminal import DOWN, ENTER, clean


def approvers(house: House) -> list[str]:
    with open_reader(house.home / "data" / FILE) as reader:
        return [approver.name for approver in Approvers.of(reader.key_changes()).active]


def test_it_says_what_is_missing_and_can_be_left(house: House) -> None:
    with house.console() as terminal:
        shown = terminal.until("enter choose")
        assert "No daemon and no gate is running here" in shown
        assert "There is no key yet" in shown
        terminal.press("q")
        assert terminal.end() == 0
        assert clean(terminal)
    assert not (house.home / "keys").exists()
    assert not (house.home / "data").exists()


def test_a_key_is_made_and_the_gate_runs_inside(house: House) -> None:
    with house.console("--manifests", str(house.home / "manifests")) as terminal:
        terminal.until("enter choose")
        terminal.press(DOWN, ENTER)
        terminal.until("at least 8")
        terminal.press("correct horse", ENTER)
        terminal.still(0.5)
        terminal.press("correct horse", ENTER)
        terminal.until("● connected")
        call = house.call("move-file", file_id="f-1001", folder_id="d-reports")
        terminal.until("Quarterly report.pdf")
        approve(terminal)
        assert answer(call)[0] == 0
        terminal.press("q")
        assert terminal.end() == 0
        assert clean(terminal)
        assert "correct horse" not in terminal.raw.decode(errors="replace")
    assert house.service.drive.files["f-1001"].sample.parents == ("d-reports",)
    assert [key.protection for key in key_store.stored(house.home / "keys")] == ["passphrase"]
    assert approvers(house) == ["default"]


def test_a_key_for_this_run_leaves_no_file_and_no_right(house: House) -> None:
    with house.console("--standalone") as terminal:
        terminal.until("enter choose")
        terminal.press(DOWN, DOWN, ENTER)
        terminal.until("● connected")
        assert [name[:4] for name in approvers(house)] == ["run-"]
        terminal.press("q")
        assert terminal.end() == 0
    assert key_store.stored(house.home / "keys") == ()
    assert approvers(house) == []


def test_a_key_with_a_passphrase_is_unlocked_on_the_screen(house: House) -> None:
    house.make_key("correct horse")
    with house.console("--manifests", str(house.home / "manifests")) as terminal:
        terminal.until("passphrase")
        terminal.press("wrong horse", ENTER)
        terminal.until("✗")
        terminal.press("correct horse", ENTER)
        terminal.until("● connected")
        terminal.press("L")
        terminal.until("Locked")
        terminal.press("correct horse", ENTER)
        terminal.until("● connected")
        assert "correct horse" not in terminal.raw.decode(errors="replace")
