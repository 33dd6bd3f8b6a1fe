"""Writes docs/http-api.md from the routes of the gate; `--check` only checks that it is up to date.

Run it as `python -m tools.http_api`. The text before the reference is in `tools/http_api_guide.md`.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, cast

from aileron_tui.doors.claude_route import claude_routes
from aileron_tui.gate.http_app import GateApp
from aileron_tui.gate.origin_check import OriginCheck
from aileron_tui.gate.route_table import Route

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "http-api.md"


def routes() -> tuple[Route, ...]:
    """Every route of a gate. They are only read here and never called, so there is no gate behind them."""
    no_gate = cast("Gate", SimpleNamespace(instance="", ledger_id="", approvers=None))
    return GateApp(no_gate, OriginCheck("127.0.0.1", 8722), doors=claude_routes).table.routes
