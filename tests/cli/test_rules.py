"""The rules command, as a person meets it: at a terminal, and where there is none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aileron_tui import cli
from aileron_tui.cli import confirmation
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK, USAGE
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_tools import pinned
from aileron_tui.doors.known_servers import KnownServer, write_server
from aileron_tui.files.paths import paths
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger, open_reader
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.runtime.errors import Rejected, RuntimeFault
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.runtime.no_rules import NoRules
from aileron_tui.signing import key_store
from aileron_tui.signing.rules import Rules
from tests.cli.test_gate_commands import Home, enrol, gate
from tests.compiled import shared_cache

PASSPHRASE = "correct horse"
DENY = ("rules", "add", "deny", "--agent", "laptop", "--action", "send-draft", "--for", "8h")


class Terminal:
    """A person at a terminal: `answers` are what is typed, in order, and `asked` the questions."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.asked: list[str] = []
        self._answers: list[str] = []
        self._capsys = capsys

    def line(self, question: str) -> str:
        self.asked.append(question)
        return self._answers.pop(0)

    def passphrase(self, question: str) -> bytearray:
        return bytearray(self.line(question).encode())

    def run(self, *words: str, answers: tuple[str, ...] = ()) -> int:
        self._answers, self.asked = list(answers), []
        self._capsys.readouterr()
        code = cli.main(list(words))
        self.out, self.err = self._capsys.readouterr()
        assert self._answers == [], self.err
        return code

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def rules(self) -> Rules:
        with open_reader(self.home / "data" / FILE) as reader:
            return Rules.of(reader)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    enrol(home, PASSPHRASE)
    return at(home, monkeypatch, capsys)


def at(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    made = Terminal(home, capsys)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    monkeypatch.setattr(confirmation, "ask_line", made.line)
    monkeypatch.setattr(confirmation, "_has_terminal", lambda: True)
    monkeypatch.setattr(confirmation, "SHOWN_SECONDS", 0.0)
    monkeypatch.setattr("aileron_tui.cli.source_options.ask_passphrase", made.passphrase)
    for module in ("cli.commands.rules.add", "cli.commands.rules.end", "cli.source_options"):
        monkeypatch.setattr(f"aileron_tui.{module}.protect_process", lambda: None)
    return made


def asked(terminal: Terminal, *requests: tuple[str, str, str]) -> None:
    """Records requests: their id, agent and draft."""
    with open_ledger(terminal.home / "data" / FILE, role="test") as ledger:
        for id_, agent, draft in requests:
            body: JsonObject = {"action": "send-draft", "agent": agent, "says": "", "risk": "high"}
            args: JsonObject = {"draft_id": draft}
            connector: JsonObject = {"name": "local://aileron/mail", "hash": "sha256:" + "c0" * 32}
            ledger.append_all([EntryDraft(EntryKind.REQUESTED, body | {"args": args, "connector": connector}, id_)])


def test_a_rule_is_made_listed_and_ended(terminal: Terminal) -> None:
    assert terminal.run(*DENY, answers=(PASSPHRASE, "y")) == OK
    assert "Denies send-draft from laptop with any inputs, until" in terminal.out
    (known,) = terminal.rules().values()
    assert terminal.run("rules", "list") == OK
    assert known.rule.id in terminal.out
    assert "with the key default; not used yet" in terminal.out
    assert terminal.run("rules", "list", "--json") == OK
    assert [(rule["id"], rule["in_force"]) for rule in terminal.json["rules"]] == [(known.rule.id, True)]
    assert terminal.run("rules", "end", known.rule.id[:9], answers=(PASSPHRASE,)) == OK
    assert terminal.run("rules", "list") == OK
    assert "no rules in force" in terminal.out
    assert terminal.run("rules", "list", "--all") == OK
    assert "ended by the key default" in terminal.out
    assert terminal.run("rules", "end", known.rule.id) == NOT_FOUND
    assert "already ended" in terminal.err
    assert terminal.run("history", "verify") == OK


@pytest.mark.parametrize(
    ("words", "says", "risk"),
    [
        (("--tool", "Read"), "Allows Read from laptop with any inputs that only read, until", "low"),
        (("--tool", "Write", "--folder", "/src"), "Allows Write from laptop with any inputs in /src, until", "normal"),
        (
            ("--tool", "Bash", "--folder", "/src", "--command", "make test"),
            "Allows Bash from laptop with exactly the command make test in /src, until",
            "high",
        ),
        (
            ("--tool", "search", "--server", "docs"),
            "Allows search of the server docs from laptop with any inputs that only read, until",
            "low",
        ),
    ],
    ids=str,
)
def test_a_rule_for_a_tool_is_made_by_its_name(
    terminal: Terminal, words: tuple[str, ...], says: str, risk: str
) -> None:
    add = ("rules", "add", "allow", "--agent", "laptop", *words, "--for", "8h")
    assert terminal.run(*add, answers=(PASSPHRASE, "y")) == OK
    assert says in terminal.out
    (known,) = terminal.rules().values()
    assert (known.rule.kind, known.rule.risk) == ("tool", risk)
    assert terminal.run("history", "verify") == OK


def test_a_rule_is_bound_to_the_pinned_definition_of_a_tool(terminal: Terminal) -> None:
    tool = pinned({"name": "search", "description": "Searches."})
    write_server(paths().data, KnownServer("docs", "mcp-docs", ("x",), tools=(tool,)))
    words = ("rules", "add", "allow", "--agent", "mcp-docs", "--server", "docs", "--for", "8h", "--definition")
    assert terminal.run(*words, "pinned", "--tool", "search", answers=(PASSPHRASE, "y")) == OK
    assert terminal.run(*words, tool.hash, "--tool", "search", answers=(PASSPHRASE, "y")) == OK
    assert {(known.rule.runs, known.rule.risk) for known in terminal.rules().values()} == {(tool.hash, "normal")}
    assert terminal.run(*words, "pinned", "--tool", "other") == FAILED
    assert "it has: search" in terminal.err
    assert terminal.run(*words, "sha256:12", "--tool", "search") == USAGE


def test_nothing_is_made_without_a_yes_or_with_a_wrong_passphrase(terminal: Terminal) -> None:
    assert terminal.run(*DENY, answers=(PASSPHRASE, "n")) == FAILED
    assert "no rule was made" in terminal.err
    assert terminal.run(*DENY, answers=("wrong horse",)) == FAILED
    assert terminal.rules() == {}


def test_nothing_is_made_without_a_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirmation, "_has_terminal", lambda: False)
    assert terminal.run(*DENY) == FAILED
    assert "making a rule needs a terminal" in terminal.err
    assert terminal.rules() == {}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("allow", "--agent", "laptop", "--action", "send-draft", "--for", "8h"), "give it with --from"),
        (("deny", "--agent", "laptop", "--for", "8h"), "give --agent and --action"),
        (("deny", "--from", "act-1", "--agent", "laptop", "--for", "8h"), "cannot be given too"),
        (("deny", "--agent", "laptop", "--action", "x", "--reach", "call", "--for", "8h"), "--reach call needs --args"),
        (
            ("allow", "--agent", "laptop", "--tool", "Bash", "--command", "ls", "--for", "8h"),
            "--command needs --folder",
        ),
        (("deny", "--agent", "laptop", "--action", "x", "--folder", "/x", "--for", "8h"), "need --tool"),
        (("deny", "--agent", "laptop", "--tool", "x", "--reach", "folder", "--for", "8h"), "reach any, not folder"),
    ],
)
def test_options_that_do_not_fit_are_explained(terminal: Terminal, words: tuple[str, ...], says: str) -> None:
    assert terminal.run("rules", "add", *words) == USAGE
    assert says in terminal.err


@pytest.mark.parametrize(
    "words",
    [
        ("deny", "--agent", "laptop", "--action", "send-draft"),
        ("deny", "--agent", "laptop", "--action", "send-draft", "--for", "ever"),
        ("deny", "--agent", "laptop", "--action", "send-draft", "--until", "tomorrow"),
        ("permit", "--agent", "laptop", "--action", "send-draft", "--for", "8h"),
    ],
)
def test_an_end_is_required(terminal: Terminal, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        terminal.run("rules", "add", *words)
    assert ended.value.code == USAGE


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--agent", "Laptop", "--action", "x", "--for", "8h"), "not a valid agent name"),
        (("--agent", "laptop", "--action", "x", "--for", "8h", "--args", "[1]"), "--args"),
        (("--agent", "laptop", "--action", "x", "--for", "8h", "--match", '{"to": 1}'), "--match"),
        (("--agent", "laptop", "--action", "x", "--for", "8h", "--not-match", "{}"), "matches example 1"),
        (
            ("--agent", "laptop", "--action", "x", "--for", "8h", "--args", "{}", "--match", '{"args": {"a": 1}}'),
            "does not match example 1",
        ),
    ],
)
def test_a_rule_that_is_not_valid_is_refused_before_the_passphrase(
    terminal: Terminal, words: tuple[str, ...], says: str
) -> None:
    assert terminal.run("rules", "add", "deny", *words) == FAILED
    assert says in terminal.err
    assert terminal.asked == []


def test_a_rule_that_lasts_too_long_is_refused(terminal: Terminal) -> None:
    words = ("rules", "add", "deny", "--agent", "laptop", "--action", "x", "--until", "2199-01-01")
    assert terminal.run(*words, answers=(PASSPHRASE, "y")) == FAILED
    assert "at most 366 days" in terminal.err


def test_explain_says_which_rule_would_answer(terminal: Terminal) -> None:
    asked(terminal, ("act-1", "laptop", "r-1"), ("act-2", "other", "r-1"))
    assert terminal.run("rules", "explain", "act-1") == OK
    assert "No rule for the agent laptop is in force" in terminal.out
    assert terminal.run(*DENY, "--args", '{"draft_id": "r-1"}', answers=(PASSPHRASE, "y")) == OK
    other = ("--args", '{"draft_id": "r-2"}')
    assert terminal.run(*DENY, *other, answers=(PASSPHRASE, "y")) == OK
    assert terminal.run("rules", "explain", "act-1") == OK
    assert "would answer it now: deny" in terminal.out
    assert "would not answer it: the rule is for other inputs" in terminal.out
    assert terminal.run("rules", "explain", "act-1", "--json") == OK
    assert terminal.json["would_answer"] in {rule["rule"] for rule in terminal.json["rules"]}
    assert terminal.run("rules", "explain", "act-2", "--json") == OK
    assert terminal.json["would_answer"] is None
    assert terminal.run("rules", "explain", "act-9") == NOT_FOUND


def test_replay_says_what_a_rule_would_have_answered(terminal: Terminal) -> None:
    asked(terminal, *((f"act-{number}", "laptop", f"r-{number % 2}") for number in range(6)), ("act-x", "other", "r-1"))
    assert terminal.run("rules", "replay") == OK
    assert "no rules in force" in terminal.out
    assert terminal.run(*DENY, "--args", '{"draft_id": "r-1"}', answers=(PASSPHRASE, "y")) == OK
    assert terminal.run("rules", "replay", "--since", "7d") == OK
    assert "would have answered 3 of 6 calls of this agent to this action since" in terminal.out
    named = ("--agent", "laptop", "--action", "send-draft")
    assert terminal.run("rules", "replay", *named, "--args", '{"draft_id": "r-0"}', "--json") == OK
    (found,) = terminal.json["replays"]
    assert (found["asked"], found["answered"], len(found["examples"])) == (6, 3, 3)
    assert terminal.run("rules", "replay", *named, "--json") == OK
    assert terminal.json["replays"][0]["answered"] == 0  # at high risk, a rule allows only an exact call
    assert terminal.run("rules", "replay", "rule-f00") == NOT_FOUND
    assert terminal.run("rules", "replay", "rule-f00", "--agent", "laptop") == USAGE


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with gate(tmp_path_factory.mktemp("rules") / "home", PASSPHRASE, compiled=shared_cache(tmp_path_factory)) as home:
        yield home


def test_a_rule_is_made_from_a_waiting_request(
    served: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = at(served.folder, monkeypatch, capsys)
    call = ("run", "send-draft", "--arg", "draft_id=r-12345")
    terminal.run(*call)
    id_ = terminal.json["approval_id"]
    add = ("rules", "add", "allow", "--from", id_)
    assert terminal.run(*add, "--reach", "any", "--for", "1h", answers=(PASSPHRASE,)) == FAILED
    assert "only an exact call" in terminal.err
    assert terminal.run(*add, "--for", "1h", answers=(PASSPHRASE, "y")) == OK
    assert terminal.asked[-1] == "High risk. Make this rule? [y/N]"
    assert "team@example.com" in terminal.err  # the prompt was shown
    assert "it would have answered 1 of 1 call" in terminal.err
    assert terminal.run("deny", id_, answers=(PASSPHRASE,)) == OK
    terminal.run("run", "send-draft", "--arg", "draft_id=r-12345")  # the result of the denied call
    assert terminal.run(*call) == OK
    assert terminal.json["status"] == "completed"
    assert len(served.service.sent) == 1
    assert terminal.run("history", "--search", "allowed by a rule", "--json") == OK
    assert len(terminal.json["requests"]) == 1
    request = terminal.json["requests"][0]["id"]
    assert terminal.run("history", "show", request) == OK
    assert "answered    allowed by a rule (rule-" in terminal.out
    assert "good, the rule was made by default" in terminal.out
    assert terminal.run("rules", "explain", request) == OK
    assert "allowed by a rule" in terminal.out
    assert terminal.run("rules", "list") == OK
    assert "used 1 time" in terminal.out
    gone = ("rules", "add", "allow", "--from", "act-gone", "--for", "1h")
    assert terminal.run(*gone, answers=(PASSPHRASE,)) == NOT_FOUND
    secret = bytearray(PASSPHRASE.encode())
    with (
        key_store.unlock(served.folder / "keys", "default", secret) as key,
        ApproverClient(discover(), key) as client,
    ):
        (listed,) = client.rules()
        assert (listed.used, listed.in_force, listed.made_by) == (1, True, "default")
        client.end_rule(listed.rule.id)
        assert [rule.in_force for rule in client.rules()] == [False]
        with pytest.raises(Rejected, match="already ended"):
            client.end_rule(listed.rule.id)


def test_a_daemon_says_that_it_has_no_rules() -> None:
    with pytest.raises(RuntimeFault, match="a daemon has no rules"):
        NoRules().rules()
    with pytest.raises(RuntimeFault, match="a daemon has no rules"):
        NoRules().rule_offers("act-1")
