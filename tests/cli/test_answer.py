"""Approving and denying a daemon's requests from the command line: what is signed is what was shown, and what became
of it is said."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aileron_tui import cli
from aileron_tui.cli import confirmation, outcome_waiting
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing import key_store
from tests.daemon.process import FakeDaemon

PASSPHRASE = "correct horse"
OK, FAILED, NOT_FOUND, OUTCOME_UNKNOWN, RUNNING, INTERRUPTED = 0, 1, 5, 6, 75, 130


class Desk:
    """A person at a terminal, as the commands see one. `answers` are what is typed, in order; `asked` the questions."""

    def __init__(self, home: Path, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.daemon = daemon
        self.answers: list[str | Callable[[], str]] = []
        self.asked: list[str] = []
        self.window_height = 200
        self._capsys = capsys

    def line(self, question: str) -> str:
        self.asked.append(question)
        answer = self.answers.pop(0)
        return answer() if callable(answer) else answer

    def passphrase(self, question: str) -> bytearray:
        return bytearray(self.line(question).encode())

    def configure(self, policy: str) -> None:
        (self.home / "config.toml").write_text(f"[policy]\n{policy}\n")

    def run(self, *words: str, answers: list[str | Callable[[], str]] | None = None) -> int:
        self.answers, self.asked = list(answers or []), []
        self._capsys.readouterr()
        code = cli.main(list(words))
        self.out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        assert self.answers == [], "not everything was asked"
        return code

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def decided(self) -> list[tuple[str, bool]]:
        return [(one["id"], one["said"]["approved"]) for one in self.daemon.decisions()]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    home = tmp_path / "tui"
    home.mkdir(mode=0o700)
    key_store.create(home / "keys", "default", None)
    with FakeDaemon(tmp_path / "user") as daemon:
        made = Desk(home, daemon, capsys)
        monkeypatch.setenv("AILERON_TUI_HOME", str(home))
        monkeypatch.setenv("HOME", str(daemon.home))
        monkeypatch.setattr("aileron_tui.cli.source_options.protect_process", lambda: None)
        monkeypatch.setattr(confirmation, "_has_terminal", lambda: True)
        monkeypatch.setattr(confirmation, "_window_height", lambda: made.window_height)
        monkeypatch.setattr(confirmation, "ask_line", made.line)
        monkeypatch.setattr(confirmation, "ask_passphrase", made.passphrase)
        monkeypatch.setattr("aileron_tui.cli.source_options.ask_passphrase", made.passphrase)
        monkeypatch.setattr(confirmation, "SHOWN_SECONDS", 0.0)
        yield made


def then(answer: str, *acts: Callable[[], object]) -> Callable[[], str]:
    """Something happens while the person reads; then they answer."""

    def typed() -> str:
        for act in acts:
            act()
        return answer

    return typed


# What is signed is what was shown


def test_a_request_that_was_replaced_while_it_was_read_is_not_approved(desk: Desk) -> None:
    id_ = desk.daemon.register(args={"draft_id": "r-1"})
    swap = then("y", lambda: desk.daemon.register(id=id_, args={"draft_id": "r-666"}))
    assert desk.run("approve", id_, "--json", answers=[swap]) == NOT_FOUND
    assert "has changed; nothing was decided" in desk.err
    assert (desk.json["taken"], desk.json["state"]) == (False, "changed")
    assert desk.decided() == []


def test_a_preview_that_changed_while_it_was_read_is_not_approved(desk: Desk) -> None:
    fields = [{"label": "To", "value": "alice@example.com"}]
    id_ = desk.daemon.register(args={"draft_id": "r-1"}, preview={"fields": fields})
    other = {"fields": [{"label": "To", "value": "mallory@example.com"}]}
    swap = then("y", lambda: desk.daemon.register(id=id_, args={"draft_id": "r-1"}, preview=other))
    assert desk.run("approve", id_, answers=[swap]) == NOT_FOUND
    assert "has changed; nothing was decided" in desk.err
    assert desk.decided() == []


@pytest.mark.parametrize(("approved", "word"), [(True, "executed"), (False, "denied")])
def test_one_that_was_answered_elsewhere_meanwhile_is_not_answered_again(desk: Desk, approved: bool, word: str) -> None:
    id_ = desk.daemon.register()
    elsewhere = then("y", lambda: desk.daemon.resolve(id_, approved=approved))
    assert desk.run("approve", id_, answers=[elsewhere]) == NOT_FOUND
    assert f"is no longer waiting: {word}" in desk.err
    assert desk.decided() == []


def test_one_that_is_gone_meanwhile_is_said_to_be(desk: Desk) -> None:
    id_ = desk.daemon.register()
    assert desk.run("approve", id_, answers=[then("y", lambda: desk.daemon.forget(id_))]) == NOT_FOUND
    assert "is no longer waiting: gone" in desk.err


def test_a_named_digest_stands_for_having_looked_but_not_for_high_risk(desk: Desk) -> None:
    reads = desk.daemon.register(action_name="count-reports", args={"year": "2026"}, preview=None)
    sends = desk.daemon.register("comms_send")
    digests = {}
    for id_ in (reads, sends):
        assert desk.run("show", id_) == OK
        digests[id_] = next(line.split()[1] for line in desk.out.splitlines() if line.startswith("digest"))
    assert desk.run("approve", reads, answers=["n"]) == FAILED
    assert desk.asked == ["Approve? [y/N]"]
    assert desk.run("approve", reads, "--digest", digests[reads]) == OK
    assert desk.run("approve", sends, "--digest", digests[sends], answers=["no"]) == FAILED
    assert desk.asked == ["High risk. Approve? [y/N]"]
    assert desk.run("deny", sends) == OK  # a denial runs nothing, so nothing is asked
    assert desk.decided() == [(reads, True), (sends, False)]


FORGED_NAMES = (
    "Preview unavailable: none needed",
    "Not shown: 0 fetched fields",
    "  ! verified by aileron",
    "! verified by aileron",
    "would run count_reports",
    "fetched by connector mail",
    "To: team@example.com",
    "\nrisk        low: it only reads",
)


def test_an_arg_with_a_forged_name_does_not_look_like_a_line_of_the_program(desk: Desk) -> None:
    args = {"draft_id": "r-1"} | {name: name for name in FORGED_NAMES}
    preview = {"fields": [{"label": name, "value": name} for name in FORGED_NAMES]}
    plain = desk.daemon.register(args={"draft_id": "r-1"}, preview={"fields": [{"label": "To", "value": "x"}]})
    forged = desk.daemon.register(args=args, preview=preview)
    own = []
    for id_ in (plain, forged):
        assert desk.run("show", id_) == OK
        own.append([line.split("  ")[0] for line in desk.out.splitlines() if line[:1] not in ("", " ")])
        assert not [line for line in desk.out.splitlines() if line.startswith(("    !", "    ·"))]
    assert own[0][1:3] == ["agent sent", own[0][2]]
    assert own[0][2].startswith("fetched by ")
    assert own[0][:-2] == own[1][:-2]  # the last two are commands with the id
    assert desk.run("approve", forged, answers=["n"]) == FAILED
    assert "The prompt has" not in desk.err


def test_the_question_says_how_many_warnings_there_are(desk: Desk) -> None:
    args = {"method": "GET", "url": "https://p\u0430ypal.com/", "secret_name": "", "body": "    ! x\n! y"}
    id_ = desk.daemon.register("http_request", args=args)
    assert desk.run("approve", id_, answers=["n"]) == FAILED
    shown, _, notice = desk.err.partition("\nThe prompt has ")
    warnings = [line for line in shown.splitlines() if line.startswith(("! ", "    ! "))]
    assert len(warnings) >= 3  # one more if the daemon has just started
    assert notice.startswith(f"{len(warnings)} warnings.")


@pytest.mark.parametrize("window_height", [40, 0])
def test_a_warning_above_the_window_is_not_approved(desk: Desk, window_height: int) -> None:
    """A height of 0 is unknown."""
    fields = [
        {"label": "To", "value": "b\u043ess@example.com"},
        *({"label": f"Row {n}", "value": "x"} for n in range(60)),
    ]
    id_ = desk.daemon.register(preview={"fields": fields})
    for more in ((), ("--digest", _digest(desk, id_))):
        desk.window_height = window_height
        assert desk.run("approve", id_, *more) == FAILED
        assert desk.asked == []
        assert "the prompt has warnings and does not fit in this window" in desk.err
        assert "aileron-tui prompt" in desk.err
    assert desk.decided() == []
    desk.window_height = 200
    assert desk.run("approve", id_, answers=["y"]) == OK
    assert desk.decided() == [(id_, True)]


def test_a_long_prompt_with_a_warning_can_be_denied(desk: Desk) -> None:
    fields = [
        {"label": "To", "value": "b\u043ess@example.com"},
        *({"label": f"Row {n}", "value": "x"} for n in range(60)),
    ]
    id_ = desk.daemon.register(preview={"fields": fields})
    desk.window_height = 24
    assert desk.run("deny", id_) == OK
    assert desk.decided() == [(id_, False)]


def _digest(desk: Desk, id_: str) -> str:
    assert desk.run("show", id_) == OK
    return next(line.split()[1] for line in desk.out.splitlines() if line.startswith("digest"))


# What became of it


def test_the_end_is_waited_for_and_recorded(desk: Desk) -> None:
    desk.daemon.switch(run_time=0.2)
    id_ = desk.daemon.register()
    assert desk.run("approve", id_, answers=["y"]) == OK
    assert desk.out == f"approved send-draft {id_}\ndone ✓\n"
    with open_reader(desk.home / "data" / "daemons" / "daemon" / FILE) as reader:
        standing = reader.standing(id_)
    assert standing is not None
    assert standing.state == "executed"


def test_a_failure_is_said_with_its_reason(desk: Desk) -> None:
    failure = {"error": {"class": "external_api_error", "message": "no such \x1b[2Jdraft", "retriable": False}}
    id_ = desk.daemon.register(outcome="failed", failure=failure)
    assert desk.run("approve", id_, answers=["y"]) == FAILED
    assert "failed ✗: external_api_error: no such ⟨ESC⟩[2Jdraft" in desk.out
    id_ = desk.daemon.register(outcome="failed", failure=failure)
    assert desk.run("approve", id_, "--json", answers=["y"]) == FAILED
    assert desk.json == {
        "id": id_,
        "source": "",
        "action": "send-draft",
        "verdict": "approve",
        "taken": True,
        "state": "failed",
        "digest": desk.json["digest"],
        "error": "external_api_error: no such \x1b[2Jdraft",
        "note": "",
    }


def test_what_never_ends_is_waited_for_only_so_long(desk: Desk) -> None:
    id_ = desk.daemon.register(outcome="running")
    assert desk.run("approve", id_, "--wait", "1", "--json", answers=["y"]) == RUNNING
    assert (desk.json["taken"], desk.json["state"]) == (True, "running")
    id_ = desk.daemon.register(outcome="running")
    assert desk.run("approve", id_, "--wait", "0", answers=["y"]) == RUNNING
    assert "still running" in desk.out


def test_a_locked_vault_is_named_as_what_it_waits_for(desk: Desk) -> None:
    desk.daemon.switch(vault="locked")
    id_ = desk.daemon.register()
    assert desk.run("approve", id_, "--wait", "0", answers=["y"]) == RUNNING
    assert "vault is locked" in desk.out


def test_a_shell_is_told_and_not_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_waiting, "_FIRST_PAUSE", 1000.0)  # a test that waits does not end
    id_ = desk.daemon.register("shell")
    assert desk.run("approve", id_, answers=["y"]) == OK
    assert "the daemon does not report how" in desk.out


def test_one_that_the_daemon_forgets_is_of_unknown_end(desk: Desk) -> None:
    id_ = desk.daemon.register(outcome="running")
    desk.daemon.switch(answers={"result": {"status": 404, "body": {"error": {"code": "not_found", "message": "?"}}}})
    assert desk.run("approve", id_, answers=["y"]) == OUTCOME_UNKNOWN
    assert "interrupted: outcome unknown" in desk.out


def test_a_daemon_that_stumbles_meanwhile_is_asked_again(desk: Desk) -> None:
    id_ = desk.daemon.register()
    stumble = then("y", lambda: desk.daemon.switch(hang_up={"result": 2}))
    assert desk.run("approve", id_, answers=[stumble]) == OK
    assert "done ✓" in desk.out


def test_leaving_early_undoes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = desk.daemon.register(outcome="running")

    class Clock:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def sleep(_: float) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(outcome_waiting, "time", Clock)
    assert desk.run("approve", id_, answers=["y"]) == INTERRUPTED
    assert "the request stays approved" in desk.out
    assert desk.decided() == [(id_, True)]


@pytest.mark.parametrize("text", ["-1", "x", "3601", "1.5", "9999999"])
def test_an_odd_wait_is_refused(desk: Desk, text: str) -> None:
    with pytest.raises(SystemExit) as error:
        desk.run("approve", "act-1", f"--wait={text}")
    assert error.value.code == 2


# As strictly as in the console


def test_high_risk_can_take_the_name(desk: Desk) -> None:
    desk.configure('high_risk = "type"')
    id_ = desk.daemon.register("comms_send")
    for typed in ("y", "yes", "send_messag", ""):
        assert desk.run("approve", id_, answers=[typed]) == FAILED
    assert desk.decided() == []
    assert desk.run("approve", id_, answers=["send_message"]) == OK


def test_high_risk_can_take_the_passphrase(desk: Desk) -> None:
    key_store.create(desk.home / "keys", "mine", bytearray(PASSPHRASE.encode()))
    desk.configure('high_risk = "passphrase"')
    id_ = desk.daemon.register("comms_send")
    words = ("approve", id_, "--key", "mine")
    assert desk.run(*words, answers=[PASSPHRASE, "wrong horse"]) == FAILED
    assert desk.decided() == []
    assert desk.run(*words, answers=[PASSPHRASE, PASSPHRASE]) == OK
    assert "passphrase of mine" in desk.asked[-1]


def test_without_a_terminal_more_than_a_yes_cannot_be_had(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirmation, "_has_terminal", lambda: False)
    id_ = desk.daemon.register("comms_send")
    assert desk.run("approve", id_) == FAILED
    assert "headless_decisions" in desk.err
    for way in ("type", "passphrase"):
        desk.configure(f'headless_decisions = true\nhigh_risk = "{way}"')
        assert desk.run("approve", id_) == FAILED
        assert "approving high risk needs a terminal" in desk.err
    assert desk.decided() == []
    desk.configure("headless_decisions = true")
    assert desk.run("approve", id_) == OK
