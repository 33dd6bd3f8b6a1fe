"""The demo command: what it refuses, and the agent by itself on a gate that runs already."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.commands import demo
from aileron_tui.core.decision import Verdict
from aileron_tui.demo.agent_script import SCRIPT
from aileron_tui.demo.sample_home import sample_home
from aileron_tui.demo.sample_packages import install_samples
from aileron_tui.demo.scripted_agent import AgentPace, ScriptedAgent
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.surface.embedded_gate import EmbeddedGate
from tests.compiled import shared_cache


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@contextmanager
def approving(client: ApproverClient) -> Iterator[None]:
    """Approves whatever waits."""
    stop = threading.Event()

    def answer() -> None:
        while not stop.wait(0.05):
            for item in client.waiting():
                if not item.fetching:
                    client.decide(item, Verdict.APPROVE)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_the_agent_alone_plays_on_a_gate_that_is_found(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pace = AgentPace(scene_seconds=0.5, poll_seconds=0.05)
    monkeypatch.setattr(
        "aileron_tui.cli.commands.demo.ScriptedAgent", partial(ScriptedAgent, script=SCRIPT[:1], pace=pace)
    )
    with (
        sample_home(shared_cache(tmp_path_factory)) as made,
        EmbeddedGate(made.setup) as gate,
        ApproverClient(gate.found, made.key) as client,
        approving(client),
    ):
        monkeypatch.setenv("AILERON_TUI_HOME", str(made.root))
        assert cli.main(["demo", "--agent-only"]) == 0
    said = [line.partition("  ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said[0] == "The weekly recap is ready. May I send it to the team?"
    assert "send-draft approved: the mail was sent." in said
    assert "send-draft approved: the reply to Lin was sent." in said
    assert said[-1] == "That was everything."
    assert sorted(mail.header("Subject") for mail in made.service.sent) == ["Room for Friday", "Weekly recap"]


def test_the_commands_to_go_on_can_be_typed_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a clone without an installation, only the program of the environment can be called."""
    program = tmp_path / ".venv" / "bin" / "aileron-tui"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    monkeypatch.setattr("sys.executable", str(program.with_name("python")))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    demo._say_how_to_go_on()
    said = capsys.readouterr().out.splitlines()
    assert said[2].split("  ")[1] == ".venv/bin/aileron-tui key init"
    assert max(map(len, said)) <= 80
    monkeypatch.setenv("PATH", str(program.parent))
    demo._say_how_to_go_on()
    assert capsys.readouterr().out.splitlines()[2].split("  ")[1] == "aileron-tui key init"


def test_what_is_installed_and_bound_is_said(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    with sample_home(shared_cache(tmp_path_factory)) as made:
        demo._say_what_was_done(install_samples(made))
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Installed the suite samples in a temporary home: 2 connectors, 12 actions."
    assert "aileron-tui add SOURCE" in said[1]
    assert said[2] == "Bound the account demo to local://aileron/files and local://aileron/mail."
    assert "aileron-tui bind CONNECTOR" in said[3]
    assert max(map(len, said)) <= 80


def test_the_agent_alone_needs_a_gate(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--agent-only"]) == 1
    assert "no gate is running here" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["demo"], ["demo", "--no-agent"], ["--standalone"], ["--theme", "aileron-light"]])
def test_a_screen_needs_a_terminal(home: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 1
    assert "needs a terminal" in capsys.readouterr().err
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["demo", "--no-agent", "--agent-only"], "not allowed with argument"),
        (["demo", "--theme", "pink"], "aileron-contrast"),
        (["--theme", "pink"], "aileron-contrast"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_what_cannot_be_meant_is_said(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
