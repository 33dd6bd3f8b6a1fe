"""Starts the metrics of a gate, and makes the token that may read them."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.files.agent_tokens import read_token, write_token
from aileron_tui.gate.gate_metrics import NO_EXTRA, GateMetrics
from aileron_tui.gate.gate_state import GateState, log

_FILE: Final = "metrics.token"


def start_metrics(state: GateState, problem: Callable[[], str], ledger: Path) -> str:
    """Counts what the gate does, if the configuration asks for it. If that is not possible, the gate works on.

    Returns the hash of the token for metrics, "" if there is none.
    """
    if not state.setup.config.metrics.enabled:
        return ""
    try:
        from aileron_tui.gate.prometheus_metrics import PrometheusMetrics  # noqa: PLC0415  # it needs an extra
    except ImportError:
        state.metrics = GateMetrics(NO_EXTRA)
        log.error("%s", NO_EXTRA)
        return ""
    state.metrics = PrometheusMetrics(state, problem, ledger)
    try:
        return _token(state.setup.data)
    except AileronError as error:
        log.error("only approvers can read the metrics, because there is no token for them: %s", inline(str(error)))
        return ""


def _token(data: Path) -> str:
    """The hash of the token that may read the metrics and nothing else. The first time, the token is made."""
    path = data / _FILE
    if not path.exists():
        write_token(path, secrets.token_urlsafe(32))
    return token_hash(read_token(path))
