"""The metrics of a gate: what they count, who may read them, and how many series there can be."""

import logging
import stat
import sys
from dataclasses import replace
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from aileron_tui.core.decision import Verdict
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.gate.gate import Gate
from aileron_tui.gate.prometheus_metrics import PrometheusMetrics
from tests.gate.conftest import GateEnv, ask, previewed_request, result_of, run_async
from tests.gate.ruled_gate import make, named_rule, offered_rule
from tests.gate.served_gate import DRAFT, SEND, WAITING, ServedGate, served_gate
from tests.hostile import HOSTILE

METRICS = "/v1/metrics"


@pytest.fixture
def env(env: GateEnv) -> GateEnv:
    env.metrics = True
    return env


def series(gate: Gate) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    families = text_string_to_metric_families(gate.metrics.text().decode())
    return {(item.name, *item.labels.values()): item.value for family in families for item in family.samples}


async def waiting(gate: Gate, draft: str) -> dict[str, Any]:
    return await previewed_request(gate, str((await ask(gate, draft_id=draft)).body["approval_id"]))


def test_the_metrics_count_what_happens(env: GateEnv, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with env.gate() as gate:
            approved, denied = await waiting(gate, "r-12345"), await waiting(gate, "r-other")
            assert series(gate)["aileron_requests_waiting",] == 2
            assert (await gate.decide(str(approved["id"]), env.decision(approved))).status == 200
            await result_of(gate, str(approved["id"]))
            deny = env.decision(denied, Verdict.DENY, surface="page")
            assert (await gate.decide(str(denied["id"]), deny)).status == 200
            rule = named_rule(RuleVerdict.DENY)
            await make(env, gate, rule)
            await ask(gate, draft_id="r-ruled")
            assert (await ask(gate, "list-drafts", limit=1)).status == 200
            caplog.set_level(logging.CRITICAL, "aileron_tui")
            logging.getLogger("aileron_tui.gate").critical("something broke")
            found = series(gate)
            assert found["aileron_requests_waiting",] == 0
            assert found["aileron_decisions_total", "console", "approved"] == 1
            assert found["aileron_decisions_total", "page", "denied"] == 1
            assert found["aileron_decision_seconds_count",] == 2
            assert found["aileron_rule_answers_total", rule.id, "denied"] == 1
            assert found["aileron_requests_ended_total", "executed"] == 1
            assert found["aileron_requests_ended_total", "denied"] == 2
            assert found["aileron_preview_seconds_count", "local://aileron/mail", "fetched"] >= 1
            assert found["aileron_op_seconds_count", "local://aileron/mail", "executed"] == 2
            assert found["aileron_ledger_entries",] > 10
            assert found["aileron_ledger_bytes",] > 4096
            assert found["aileron_errors_total",] == 1
            assert found["aileron_healthy",] == 1
            assert found["process_resident_memory_bytes",] > 10_000_000
            assert not [name for name, *_ in found if name.endswith("_created")]

    run_async(main())


@pytest.mark.parametrize("after_preview", [False, True])
def test_a_rule_that_says_ask_is_counted_once(env: GateEnv, after_preview: bool) -> None:
    async def main() -> None:
        async with env.gate() as gate:
            rule = named_rule(RuleVerdict.ASK)
            if after_preview:
                first = await waiting(gate, "r-12345")
                rule = replace(await offered_rule(gate, str(first["id"])), verdict=RuleVerdict.ASK)
                assert rule.shown
                deny = env.decision(first, Verdict.DENY)
                assert (await gate.decide(str(first["id"]), deny)).status == 200
                await result_of(gate, str(first["id"]))
            await make(env, gate, rule)
            await waiting(gate, "r-12345")
            assert series(gate)["aileron_rule_answers_total", rule.id, "asked"] == 1

    run_async(main())


async def status(client: httpx.AsyncClient, token: str, path: str = METRICS) -> int:
    return (await client.get(path, headers={"Authorization": f"Bearer {token}"})).status_code


def test_only_approvers_and_the_token_of_its_own_read_them(env: GateEnv) -> None:
    async def main() -> None:
        async with served_gate(env) as served:
            file = env.data / "metrics.token"
            token = file.read_text().strip()
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert len(token) >= 40
            assert (await served.agent.get(METRICS)).status_code == 403
            assert (await served.anonymous.get(METRICS)).status_code == 401
            assert await status(served.anonymous, "wrong") == 401
            assert (await served.approver.get(METRICS)).status_code == 200
            reply = await served.anonymous.get(METRICS, headers={"Authorization": f"Bearer {token}"})
            assert reply.status_code == 200
            assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert 'aileron_http_responses_total{status="403"} 1.0' in reply.text
            await check_opens_nothing_else(served, token)
            assert token not in served.log.getvalue()

    run_async(main())


async def check_opens_nothing_else(served: ServedGate, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    for path in (WAITING, f"{WAITING}/watch", "/v1/history", "/v1/actions", "/v1/viewer/requests", "/v1/nothing"):
        assert (await served.anonymous.get(path, headers=headers)).status_code in (401, 403), path
    assert (await served.anonymous.post(SEND, json=DRAFT, headers=headers)).status_code == 403


def test_the_token_stays_the_same_until_its_file_is_deleted(env: GateEnv) -> None:
    async def main() -> None:
        file, tokens = env.data / "metrics.token", list[str]()
        for _ in range(2):
            async with env.gate():
                tokens.append(file.read_text())
        file.unlink()
        async with env.gate():
            tokens.append(file.read_text())
        assert tokens[0] == tokens[1] != tokens[2]

    run_async(main())


def test_without_a_usable_token_file_approvers_still_read_them(env: GateEnv) -> None:
    async def main() -> None:
        env.data.mkdir(exist_ok=True)
        (env.data / "metrics.token").write_text("")
        async with served_gate(env) as served:
            assert (await served.approver.get(METRICS)).status_code == 200
            assert await status(served.anonymous, "x") == 401

    run_async(main())


def test_names_are_bounded_and_hostile_ones_are_escaped(env: GateEnv) -> None:
    async def main() -> None:
        async with env.gate() as gate:
            metrics = gate.metrics
            for text in HOSTILE.values():
                metrics.previewed(text, 0.1, failed=False)
                metrics.decided(text, 1.0, approved=True)
            for number in range(1000):
                metrics.previewed(f"github://example/{number}", 0.1, failed=True)
                metrics.ran(f"github://example/{number}", 0.1, "failed")
                metrics.ruled(f"rule-{number}", RuleVerdict.ALLOW)
            found = series(gate)
            text = metrics.text().decode()
            assert found["aileron_rule_answers_total", "other", "allowed"] == 800
            assert found["aileron_decisions_total", "other", "approved"] == len(HOSTILE)
            assert len({key[1] for key in found if key[0] == "aileron_op_seconds_count"}) <= 51
            assert all(char == "\n" or char.isprintable() for char in text)
            assert len(text) < 1_000_000

    run_async(main())


def test_metrics_are_off_unless_they_are_asked_for(env: GateEnv) -> None:
    async def main() -> None:
        env.metrics = False
        async with served_gate(env) as served:
            reply = await served.approver.get(METRICS)
            assert reply.status_code == 404
            assert "[metrics]" in reply.json()["error"]["message"]
            assert not (env.data / "metrics.token").exists()
            assert not isinstance(served.gate.metrics, PrometheusMetrics)

    run_async(main())


def test_a_missing_extra_says_its_name(env: GateEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "aileron_tui.gate.prometheus_metrics")
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    async def main() -> None:
        async with served_gate(env) as served:
            reply = await served.approver.get(METRICS)
            assert reply.status_code == 404
            message = reply.json()["error"]["message"]
            assert "aileron-tui doctor" in message
            assert "install '" not in message, "where the program is installed is not for the network"
            assert (await served.agent.post(SEND, json=DRAFT)).status_code == 202

    run_async(main())
