"""What the demo installs and binds: recorded and signed, used by its gate, and nothing of the user's is touched."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.core.binding_change import FILE
from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_home import sample_home
from aileron_tui.demo.sample_packages import ACCOUNT, SamplePackages, install_samples
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL
from aileron_tui.gate.gate_log import GateLog
from aileron_tui.ledger.file_names import FILE as LEDGER_FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.gate_client import AgentClient, ApproverClient
from aileron_tui.runtime.gate_discovery import agent_token
from aileron_tui.signing.bindings import Bindings
from aileron_tui.signing.packages import Packages
from aileron_tui.surface.embedded_gate import EmbeddedGate
from tests.compiled import shared_cache
from tests.gate.gate_harness import wait_until


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_cache(tmp_path_factory)


@pytest.fixture
def packages(cache: Path) -> Iterator[SamplePackages]:
    with sample_home(cache) as home:
        yield install_samples(home)


@contextmanager
def clients(packages: SamplePackages, journal: GateLog | None = None) -> Iterator[tuple[AgentClient, ApproverClient]]:
    with (
        EmbeddedGate(packages.setup, journal=journal) as gate,
        AgentClient(gate.found, agent_token(gate.found)) as agent,
        ApproverClient(gate.found, packages.home.key) as approver,
    ):
        packages.unlock(gate.found)
        yield agent, approver


def asked(agent: AgentClient, approver: ApproverClient, action: str, **args: str) -> Request:
    """A request with its preview."""
    id_ = str(agent.run(action, {**args})["approval_id"])
    wait_until(lambda: not approver.item(id_).fetching)
    return approver.item(id_)


def test_prompts_name_the_account_and_the_digest_covers_it(packages: SamplePackages) -> None:
    with clients(packages) as (agent, approver):
        mail = asked(agent, approver, "send-draft", draft_id="r-12345")
        file = asked(agent, approver, "move-file", file_id="f-1001", folder_id="d-reports")
        for request in (mail, file):
            (step,) = request.prompt.steps
            assert step.connector.account == ACCOUNT
            assert request.prompt.preview
            assert request.prompt.preview.rows
            other = replace(step, connector=replace(step.connector, account="another"))
            assert replace(request.prompt, steps=(other,)).digest != request.prompt.digest
        approver.decide(mail, Verdict.APPROVE)
        wait_until(lambda: approver.item(mail.id).state is RequestState.EXECUTED)
    assert [sent.header("Subject") for sent in packages.home.service.sent] == ["Weekly recap"]


def test_both_are_signed_in_the_ledger_that_verifies(
    packages: SamplePackages, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = packages.home
    with open_reader(home.setup.data / LEDGER_FILE) as reader:
        installed, bound = Packages.of(reader), Bindings.of(reader)
    assert [(name, known.approved_by) for name, known in installed.items()] == [("samples", home.key.name)]
    assert set(bound) == {("local://aileron/mail", ACCOUNT), ("local://aileron/files", ACCOUNT)}
    assert not installed.invalid
    assert not bound.invalid
    monkeypatch.setenv("AILERON_TUI_HOME", str(home.root))
    assert cli.main(["history", "verify"]) == 0
    assert cli.main(["installed"]) == 0
    assert "approved" in capsys.readouterr().out


def test_no_secret_is_plain_or_in_the_keyring(packages: SamplePackages) -> None:
    assert {binding.store for binding in packages.bindings} == {FILE}
    data = b"".join(path.read_bytes() for path in packages.home.setup.data.rglob("*") if path.is_file())
    for secret in (MAIL_CREDENTIAL, FILES_CREDENTIAL):
        assert secret.encode() not in data


def test_nothing_is_compiled_again_and_no_file_of_the_user_is_read(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An Aileron home of the user would be reported as not approved."""
    user = tmp_path / "user"
    (user / "actions").mkdir(parents=True)
    (user / "actions" / "broken.md").write_text("+++\n", "utf-8")
    monkeypatch.setenv("AILERON_TUI_HOME", str(user))
    compiled = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    log = io.StringIO()
    with sample_home(cache) as home, clients(install_samples(home), GateLog(log)) as (agent, approver):
        asked(agent, approver, "send-draft", draft_id="r-12345")
    assert "loaded 12 actions from 1 installed package" in log.getvalue()
    assert str(user) not in log.getvalue()
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == compiled
    assert [path.name for path in user.rglob("*")] == ["actions", "broken.md"]
