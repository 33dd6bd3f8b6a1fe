"""What a gate counts, for Prometheus. Imported only if metrics are wanted: their library is an extra.

The number of series is limited: names of connectors and rules beyond a limit are counted together, as `other`.
"""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from aileron_tui import __version__
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import inline
from aileron_tui.gate.gate_metrics import GateMetrics
from aileron_tui.gate.presence import SURFACES

if TYPE_CHECKING:
    from aileron_tui.gate.gate_state import GateState

_MOST_CONNECTORS: Final = 50
_MOST_RULES: Final = 200
_LONGEST_NAME: Final = 120
_OTHER: Final = "other"
_DECIDING_SECONDS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800)
_CALL_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_VERDICTS: Final = {RuleVerdict.ALLOW: "allowed", RuleVerdict.DENY: "denied", RuleVerdict.ASK: "asked"}
_SURFACES: Final = frozenset({*SURFACES, "notification"})


class PrometheusMetrics(GateMetrics):
    """The metrics of one gate, in a registry of their own."""

    def __init__(self, state: "GateState", problem: Callable[[], str], ledger: Path) -> None:
        super().__init__("")
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the series
        self._registry = registry = CollectorRegistry()
        self._connectors, self._rules = _Names((), _MOST_CONNECTORS), _Names((), _MOST_RULES)
        self._surfaces = _Names(_SURFACES, 0)

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"aileron_{name}", meaning, labels, registry=registry)

        def histogram(name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"aileron_{name}", meaning, labels, buckets=buckets, registry=registry)

        def gauge(name: str, meaning: str) -> Gauge:
            return Gauge(f"aileron_{name}", meaning, registry=registry)

        waiting = gauge("requests_waiting", "Requests that wait for an answer")
        waiting.set_function(lambda: sum(1 for _ in state.pending()))
        gauge("requests_open", "Requests that wait or run").set_function(lambda: len(state.open_requests))
        gauge("healthy", "1 if the gate can do its work").set_function(lambda: not problem())
        gauge("ledger_entries", "Entries in the ledger").set_function(lambda: state.recorder.head.seq)
        gauge("ledger_bytes", "Size of the ledger's files").set_function(lambda: _size(ledger))
        info = Gauge("aileron_build_info", "Always 1, with the version", ("version",), registry=registry)
        info.labels(__version__).set(1)
        self._decisions = counter("decisions", "Answers of people", "verdict", "surface")
        self._deciding = histogram("decision_seconds", "From a request to its answer by a person", _DECIDING_SECONDS)
        self._rule_answers = counter("rule_answers", "Answers of rules", "rule", "verdict")
        self._ended = counter("requests_ended", "Requests that have ended", "state")
        call = (_CALL_SECONDS, "connector", "outcome")
        self._previews = histogram("preview_seconds", "How long previews took", *call)
        self._ops = histogram("op_seconds", "How long ops took", *call)
        self._responses = counter("http_responses", "Responses of the gate", "status")
        self._reduced = counter("ledger_reduced_entries", "Entries reduced to their digests by [ledger] keep")
        self._errors = counter("errors", "Errors in the gate's log")
        self._log_counter = _ErrorCounter(self._errors)
        logging.getLogger("aileron_tui").addHandler(self._log_counter)
        ProcessCollector(registry=registry)

    def decided(self, surface: str, seconds: float, *, approved: bool) -> None:
        """A person answered a request, so many seconds after it was made."""
        self._decisions.labels("approved" if approved else "denied", self._surfaces.label(surface)).inc()
        self._deciding.observe(max(0.0, seconds))

    def ruled(self, rule: str, verdict: RuleVerdict) -> None:
        """A rule answered a request, or said that a person must be asked."""
        self._rule_answers.labels(self._rules.label(rule), _VERDICTS[verdict]).inc()

    def ended(self, state: RequestState) -> None:
        """A request has ended."""
        self._ended.labels(str(state)).inc()

    def previewed(self, connector: str, seconds: float, *, failed: bool) -> None:
        """A preview was fetched, or could not be."""
        self._previews.labels(self._connectors.label(connector), "failed" if failed else "fetched").observe(seconds)

    def ran(self, connector: str, seconds: float, outcome: str) -> None:
        """An op has ended, with approval or without."""
        self._ops.labels(self._connectors.label(connector), outcome).observe(seconds)

    def reduced(self, entries: int) -> None:
        """The bodies of so many entries were removed from the ledger."""
        self._reduced.inc(entries)

    def responded(self, status: int) -> None:
        """The gate responded to an HTTP request."""
        self._responses.labels(str(status)).inc()

    def text(self) -> bytes:
        """Everything that was counted, in the text format of Prometheus."""
        return prometheus_client.generate_latest(self._registry)

    def close(self) -> None:
        """Stops counting errors in the log."""
        logging.getLogger("aileron_tui").removeHandler(self._log_counter)


class _Names:
    """The names that may be values of a label: these, and as many others as may be added."""

    def __init__(self, known: Iterable[str], more: int) -> None:
        self._labels = {name: name for name in known}
        self._most = len(self._labels) + more

    def label(self, name: str) -> str:
        """A name as the value of a label. A name may be foreign text, so it is made visible and cut."""
        found = self._labels.get(name)
        if found is None and len(self._labels) < self._most:
            found = self._labels[name] = inline(name)[:_LONGEST_NAME]
        return found or _OTHER


class _ErrorCounter(logging.Handler):
    def __init__(self, counter: Counter) -> None:
        super().__init__(logging.ERROR)
        self._counter = counter

    def emit(self, record: logging.LogRecord) -> None:
        del record
        self._counter.inc()


def _size(ledger: Path) -> int:
    """The bytes of the ledger and of what SQLite keeps beside it."""
    total = 0
    for suffix in ("", "-wal"):
        try:
            total += ledger.with_name(ledger.name + suffix).stat().st_size
        except OSError:
            continue
    return total
