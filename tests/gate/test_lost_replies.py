"""An approved op whose reply was lost: one approval sends one mail at most, and nobody is told that it is done."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.sandbox.connector_package import ConnectorPackage
from tests.gate.conftest import GateEnv, ask, dig, previewed_request, result_of, run_async
from tests.sandbox import guests
from tests.sandbox.packages import pin_of
from tests.sandbox.upstream import Upstream, upstream


@pytest.fixture
def bot_api() -> Iterator[Upstream]:
    with upstream() as running:
        yield running


def use_connector(env: GateEnv, folder: Path, bot_api: Upstream, wasm: bytes) -> None:
    """Puts this module in the place of the mail connector, renews the pins, and asks for no previews."""
    env.manifests = materialise(folder, bot_api.port)
    connector = folder / "connectors" / "mail"
    manifest, module = connector / "manifest.toml", connector / "connector.wasm"
    old = pin_of(ConnectorPackage(module.read_bytes(), manifest.read_bytes()))
    module.write_bytes(wasm)
    new = pin_of(ConnectorPackage(wasm, manifest.read_bytes()))
    for action in (folder / "actions").glob("*.md"):
        text = action.read_text("utf-8").replace(old, new)
        action.write_text(
            re.sub(r"\[approval\.preview].*?^\+\+\+", "+++", text, flags=re.DOTALL | re.MULTILINE), "utf-8"
        )


def approved(env: GateEnv, bot_api: Upstream, *requests: str) -> JsonObject:
    """The result of an approved op that sends these requests, which are `METHOD /path`, whatever comes of them."""
    words = [request.split(" ", 1) for request in requests]
    wasm = guests.sending([{"method": method, "url": bot_api.url(path)} for method, path in words])
    use_connector(env, env.folder / "attack", bot_api, wasm)

    async def work() -> JsonObject:
        async with env.gate() as gate:
            accepted = await ask(gate)
            item = await previewed_request(gate, str(accepted.body["approval_id"]))
            assert (await gate.decide(str(item["id"]), env.decision(item))).status == 200
            return await result_of(gate, str(item["id"]))

    return run_async(work())


def recorded_end(env: GateEnv) -> EntryKind:
    with open_reader(env.data / LEDGER_FILE) as reader:
        kinds = [entry.kind for entry in reader.entries()]
    return next(EntryKind(kind) for kind in reversed(kinds) if kind in (*ENDS, EntryKind.EXECUTED))


ENDS = (EntryKind.UNKNOWN, EntryKind.FAILED)


@pytest.mark.parametrize(
    "requests",
    [
        *((f"POST {lost}", "POST /draft") for lost in ("/hang_up", "/status?code=503", "/status?code=408", "/cut")),
        ("POST /status?code=499", "POST /draft"),
        ("POST /hang_up", "GET /draft"),
        ("POST /status?code=500", "GET /draft"),
        ("GET /hang_up",),
        ("GET /hang_up", "GET /draft"),
        ("GET /retry?after=0",),
    ],
    ids=" then ".join,
)
def test_a_lost_reply_is_never_done(env: GateEnv, bot_api: Upstream, requests: tuple[str, ...]) -> None:
    result = approved(env, bot_api, *requests)
    assert dig(result, "failure", "error", "class") == "outcome_unknown"
    assert dig(result, "failure", "error", "retriable") is False
    assert recorded_end(env) is EntryKind.UNKNOWN
    assert [request.method for request in bot_api.received].count("POST") <= 1
    assert len(bot_api.received) == len({request for request in requests if request != "POST /draft"})


@pytest.mark.parametrize(
    "requests", [("POST /status?code=429", "POST /draft"), ("GET /draft", "POST /draft"), ("GET /draft",)], ids=str
)
def test_a_definite_answer_is_done(env: GateEnv, bot_api: Upstream, requests: tuple[str, ...]) -> None:
    assert approved(env, bot_api, *requests)["status"] == "completed"
    assert recorded_end(env) is EntryKind.EXECUTED
    assert len(bot_api.received) == len(requests)
