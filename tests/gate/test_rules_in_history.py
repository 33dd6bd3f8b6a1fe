"""What a rule answered, in the history: found by its outcome, and nobody's own decision."""

from aileron_tui.gate.gate import LEDGER_FILE
from aileron_tui.ledger.history_pages import read_search, search
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import call, make_from, newest, waiting


def test_what_a_rule_allowed_is_found_by_its_outcome(env: GateEnv) -> None:
    def ids(**query: str) -> list[object]:
        page = search(env.data / LEDGER_FILE, read_search({name: [value] for name, value in query.items()}))
        items = page["items"]
        assert isinstance(items, list)
        return [item["id"] for item in items if isinstance(item, dict)]

    async def work() -> None:
        async with env.gate() as gate:
            await make_from(env, gate, await waiting(gate))
            assert ids(outcome="by_rule") == []
            await call(gate)
            ruled = newest(env)
            assert ids(outcome="by_rule") == [ruled.id]
            assert ids(outcome="executed") == [ruled.id]
            assert ruled.signer == env.key.public.fingerprint
            assert ruled.id not in ids(signer=ruled.signer), "nobody decided on this call"

    run_async(work())
