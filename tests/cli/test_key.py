"""The key command, as a person meets it: on a terminal, and where there is none."""

import json
import os
import pty
import select
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing import key_store
from aileron_tui.surface.key_enrolment import read_approvers

LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAVFSbLEOFFaBRdGPeLtU17HEBjfXbjY3ZuR/BU9idNG someone"
FINGERPRINT = "SHA256:3EWd9N28tLC/qIUJ6m8AlmBMgEyIZHzt7SV2WW+9WUY"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("aileron_tui.cli.commands.key.protect_process", lambda: None)  # pytest itself stays debuggable
    return tmp_path / "home"


@pytest.fixture
def headless(home: Path) -> Path:
    """A home where a key without a passphrase may sign without a terminal."""
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[policy]\nheadless_decisions = true\n")
    return home


def on_a_terminal(home: Path, words: list[str], answers: list[str]) -> tuple[int, str]:
    """Runs a command on a terminal of its own and types each answer when it is asked; the code and the screen."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ["AILERON_TUI_HOME"] = str(home)
        os.execv(sys.executable, [sys.executable, "-m", "aileron_tui", *words])
    screen = ""
    asked = 0
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if not ready:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        screen += data.decode()
        questions = screen.count(": ") + screen.count("[y/N] ")
        if questions > asked and screen.endswith((": ", "[y/N] ")) and answers:
            asked = questions
            os.write(terminal, answers.pop(0).encode())
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), screen


def test_a_key_is_made_on_the_terminal_enrolled_and_given_a_new_passphrase(home: Path) -> None:
    code, screen = on_a_terminal(home, ["key", "init"], ["correct horse\n", "correct horse\n"])
    assert code == 0, screen
    assert "created key default (passphrase)" in screen
    assert "correct horse" not in screen
    assert stat.S_IMODE((home / "keys" / "default.pem").stat().st_mode) == 0o600
    with open_reader(home / "data" / "ledger.db") as reader:
        assert [entry.kind for entry in reader.entries()] == [EntryKind.KEY_ENROLLED]

    code, screen = on_a_terminal(home, ["key", "passphrase"], ["wrong horse!\n"])
    assert (code, "error: wrong passphrase" in screen) == (1, True)
    code, screen = on_a_terminal(
        home, ["key", "passphrase"], ["correct horse\n", "battery staple\n", "battery staple\n"]
    )
    assert (code, "changed the passphrase of default" in screen) == (0, True)
    assert not key_store.unlock(home / "keys", "default", bytearray(b"battery staple")).locked


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["correct horse\n", "correct house\n"], "the two passphrases differ"),
        (["short\n", "short\n"], "the passphrase is too short"),
        (["\x04"], "no passphrase was given"),
    ],
)
def test_a_passphrase_that_will_not_do_makes_no_key(home: Path, answers: list[str], words: str) -> None:
    code, screen = on_a_terminal(home, ["key", "init"], answers)
    assert (code, words in screen) == (1, True), screen
    assert not list((home / "keys").glob("*.pem"))


def test_ctrl_c_leaves_nothing_behind(home: Path) -> None:
    code, screen = on_a_terminal(home, ["key", "init"], ["half a passph\x03"])
    assert code == 130, screen
    assert "Traceback" not in screen
    assert not (home / "keys").exists()


def test_without_a_terminal_no_passphrase_is_taken_from_anywhere(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "aileron_tui", "key", "init"],
        input="correct horse\ncorrect horse\n",
        env={**os.environ, "AILERON_TUI_HOME": str(home), "PASSPHRASE": "correct horse"},
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot ask for the passphrase without a terminal" in done.stderr
    assert not (home / "keys").exists()


def test_a_key_without_passphrase_is_called_insecure_everywhere(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["init", "--no-passphrase", "--name", "ci"],
        ["show"],
        ["show", "--json"],
        ["list"],
        ["list", "--json"],
    ):
        assert cli.main(["key", *words]) == 0
        assert "insecure: no passphrase" in capsys.readouterr().out


def test_show_tells_everything_about_a_key(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["key", "init", "--no-passphrase", "--name", "ci"])
    capsys.readouterr()
    assert cli.main(["key", "show", "ci", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown) == ["name", "fingerprint", "public_key", "protection", "enrolled", "gate", "file"]
    assert shown["public_key"].startswith("ssh-ed25519 AAAA")
    assert shown["enrolled"].startswith("may approve on this gate (since 20")


def test_another_machines_key_is_enrolled_and_revoked(
    headless: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["key", "init", "--no-passphrase"]) == 0
    public = tmp_path / "phone.pub"
    public.write_text(LINE)
    assert cli.main(["key", "enroll", str(public), "--name", "phone"]) == 0
    capsys.readouterr()
    assert cli.main(["key", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(key["name"], key["fingerprint"], key["protection"]) for key in listed["keys"]][1:] == [
        ("phone", FINGERPRINT, "not on this machine")
    ]
    assert cli.main(["key", "enroll", str(public), "--name", "again"]) == 1
    assert "is already enrolled, as phone" in capsys.readouterr().err
    assert cli.main(["key", "revoke", "phone"]) == 0
    assert cli.main(["key", "revoke", "phone"]) == 5
    capsys.readouterr()
    cli.main(["key", "list"])
    assert "revoked on this gate (20" in capsys.readouterr().out


def test_a_key_is_enrolled_from_standard_input(home: Path) -> None:
    command = [sys.executable, "-m", "aileron_tui", "key", "enroll", "-", "--name", "phone"]
    environment = {**os.environ, "AILERON_TUI_HOME": str(home)}
    done = subprocess.run(command, input=LINE, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, FINGERPRINT in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show"], 5),
        (["show", "nobody"], 5),
        (["passphrase"], 5),
        (["revoke", "nobody"], 5),
        (["init", "--no-passphrase", "--name", "../x"], 1),
        (["enroll", "/nowhere", "--name", "x"], 1),
        (["enroll", "/dev/null", "--name", "x"], 1),
    ],
)
def test_mistakes_have_codes_and_words(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    assert cli.main(["key", *words]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")


def test_a_name_is_taken_once(headless: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["key", "init", "--no-passphrase"]) == 0
    assert cli.main(["key", "init", "--no-passphrase"]) == 1
    assert "can already approve" in capsys.readouterr().err
    cli.main(["key", "revoke", "default"])
    assert cli.main(["key", "init", "--no-passphrase"]) == 1
    assert "a key named default already exists" in capsys.readouterr().err


def test_several_keys_must_be_named(headless: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        assert cli.main(["key", "init", "--no-passphrase", "--name", name]) == 0
    assert cli.main(["key", "show"]) == 5
    assert "Choose one by its name: one, two." in capsys.readouterr().err
    capsys.readouterr()
    assert cli.main(["key", "init", "--no-passphrase", "--name", "three"]) == 5
    assert cli.main(["key", "init", "--no-passphrase", "--name", "three", "--key", "two"]) == 0


@pytest.mark.parametrize(
    "words",
    [["init", "--no-passphrase", "--name", "mine"], ["enroll", "phone.pub", "--name", "mine"], ["revoke", "owner"]],
)
def test_nobody_changes_keys_without_the_passphrase_of_one(home: Path, tmp_path: Path, words: list[str]) -> None:
    assert on_a_terminal(home, ["key", "init", "--name", "owner"], ["correct horse\n", "correct horse\n"])[0] == 0
    (tmp_path / "phone.pub").write_text(LINE)
    words = [str(tmp_path / word) if word == "phone.pub" else word for word in words]
    code, screen = on_a_terminal(home, ["key", *words], ["wrong horse!\n"])
    assert (code, "wrong passphrase" in screen) == (1, True), screen
    assert [approver.name for approver in read_approvers(home / "data").active] == ["owner"]
    assert not (home / "keys" / "mine.pem").exists()


def test_a_second_key_is_signed_for_by_the_first(home: Path) -> None:
    assert on_a_terminal(home, ["key", "init", "--name", "one"], ["correct horse\n", "correct horse\n"])[0] == 0
    answers = ["correct horse\n", "battery staple\n", "battery staple\n"]
    code, screen = on_a_terminal(home, ["key", "init", "--name", "two"], answers)
    assert code == 0, screen
    code, screen = on_a_terminal(home, ["key", "revoke", "one", "--key", "two"], ["battery staple\n"])
    assert code == 0, screen
    assert [approver.name for approver in read_approvers(home / "data").active] == ["two"]
    assert cli.main(["history", "verify"]) == 0


def test_a_lost_key_is_not_replaced_by_another(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert on_a_terminal(home, ["key", "init"], ["correct horse\n", "correct horse\n"])[0] == 0
    for file in (home / "keys").iterdir():
        file.unlink()
    code, screen = on_a_terminal(home, ["key", "init", "--no-passphrase", "--name", "mine"], [])
    assert code == 1
    assert "only a key that may approve can change keys" in screen
    assert "default: not on this machine" in screen
    assert [approver.name for approver in read_approvers(home / "data").active] == ["default"]
