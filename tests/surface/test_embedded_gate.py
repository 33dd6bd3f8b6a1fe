"""The gate inside this process: found like any other, honest about why it cannot start, and gone without a trace."""

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.demo.sample_home import SampleHome, sample_home
from aileron_tui.gate.server import GateStartError, ListenAddress
from aileron_tui.ledger.errors import LedgerHeld
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.runtime.errors import NoGate, NotAllowed
from aileron_tui.runtime.gate_client import AgentClient, ApproverClient
from aileron_tui.runtime.gate_discovery import agent_token, discover
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface.embedded_gate import EmbeddedGate
from aileron_tui.surface.key_enrolment import changing_keys, enrolled
from tests.compiled import shared_cache


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_cache(tmp_path_factory)


@pytest.fixture
def home(compiled: Path) -> Iterator[SampleHome]:
    with sample_home(compiled) as made:
        yield made


def settled(approver: ApproverClient, id_: str) -> Request:
    for _ in range(500):
        item = approver.item(id_)
        if not item.fetching:
            return item
        threading.Event().wait(0.01)
    raise AssertionError("the preview did not come")


def test_a_call_is_asked_approved_and_run_through_http(home: SampleHome) -> None:
    with (
        EmbeddedGate(home.setup) as gate,
        AgentClient(gate.found, agent_token(gate.found)) as agent,
        ApproverClient(gate.found, home.key) as approver,
    ):
        id_ = str(agent.run("send-draft", {"draft_id": "r-12345"})["approval_id"])
        item = settled(approver, id_)
        assert [row.value for row in item.prompt.preview.rows][:2] == ["team@example.com", "Weekly recap"]  # type: ignore[union-attr]  # a missing preview fails the test just as well
        assert approver.decide(item, Verdict.APPROVE) in (
            RequestState.APPROVED,
            RequestState.RUNNING,
            RequestState.EXECUTED,
        )
        for _ in range(500):
            if agent.result(id_)["status"] == "completed":
                break
            threading.Event().wait(0.01)
    assert [mail.header("Subject") for mail in home.service.sent] == ["Weekly recap"]


def test_it_is_found_by_its_home_while_it_runs_and_not_afterwards(home: SampleHome) -> None:
    with EmbeddedGate(home.setup) as gate:
        assert discover(data=home.setup.data) == gate.found
        assert gate.found.token_file is not None
        assert gate.found.token_file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(NoGate):
        discover(data=home.setup.data)
    assert not any(thread.name == "gate" for thread in threading.enumerate())


def test_a_taken_port_is_said_where_the_gate_was_wanted(home: SampleHome) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with (
            pytest.raises(GateStartError, match="cannot listen"),
            EmbeddedGate(home.setup, ListenAddress(port=other.getsockname()[1])),
        ):
            pass
    assert not any(thread.name == "gate" for thread in threading.enumerate())


def test_a_ledger_that_is_held_is_said_where_the_gate_was_wanted(home: SampleHome) -> None:
    held = open_ledger(home.setup.data / "ledger.db", role="somebody")
    with held, pytest.raises(LedgerHeld, match="somebody"), EmbeddedGate(home.setup):
        pass


def test_an_error_inside_the_block_is_the_one_that_comes_out(home: SampleHome) -> None:
    with pytest.raises(KeyError), EmbeddedGate(home.setup):
        raise KeyError("mine")
    with EmbeddedGate(home.setup) as again:
        assert again.found.instance


def test_a_key_is_let_in_for_the_block_only(home: SampleHome) -> None:
    with EmbeddedGate(home.setup) as gate, for_this_run("guest") as key:
        with enrolled(home.setup.data, key), ApproverClient(gate.found, key) as approver:
            assert approver.waiting() == ()
        with ApproverClient(gate.found, key) as approver, pytest.raises(NotAllowed):
            approver.waiting()
    with changing_keys(home.setup.data) as (_, approvers):
        assert [approver.name for approver in approvers.active] == ["demo"]


def test_the_sample_home_leaves_nothing(compiled: Path) -> None:
    before = dict(os.environ)
    with sample_home(compiled) as home:
        assert home.root.stat().st_mode & 0o777 == 0o700
        assert os.environ != before
    assert not home.root.exists()
    assert dict(os.environ) == before
    assert home.key.locked


def test_the_sample_home_leaves_nothing_when_interrupted(compiled: Path) -> None:
    with pytest.raises(KeyboardInterrupt), sample_home(compiled) as home, EmbeddedGate(home.setup):
        raise KeyboardInterrupt
    assert not home.root.exists()


def test_without_manifests_there_is_nothing_to_call(home: SampleHome, tmp_path: Path) -> None:
    with (
        EmbeddedGate(replace(home.setup, manifests=tmp_path)) as gate,
        AgentClient(gate.found, agent_token(gate.found)) as agent,
    ):
        assert agent.actions() == {"items": []}
