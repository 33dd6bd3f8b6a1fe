"""A search uses an index: what it costs does not grow with the ledger."""

from collections.abc import Iterator

import pytest

from aileron_tui.core.outcome_words import OUTCOME_FILTERS
from aileron_tui.ledger.history_filter import ALL, HistoryFilter
from aileron_tui.ledger.sqlite.reader import SqliteReader
from tests.ledger.scenes import Scene

APPROVED = tuple(OUTCOME_FILTERS["approved"])
SINCE, UNTIL = "2026-05-12T10:00:00", "2026-05-12T10:00:10"


@pytest.fixture
def reader(scene: Scene) -> Iterator[SqliteReader]:
    """Ten approved requests of claude, and one denied request of codex."""
    for number in range(10):
        scene.approved(f"act-{number}")
    scene.denied("act-x", agent="codex")
    with SqliteReader(scene.ledger.path) as opened:
        yield opened


def plans(reader: SqliteReader, wanted: HistoryFilter, before: int | None) -> tuple[list[str], list[str]]:
    """How SQLite finds a page, each query with its values, and the ids that are found."""
    queries: list[str] = []
    reader.db.set_trace_callback(queries.append)
    found = [record.id for record in reader.page(wanted, before=before, limit=50)]
    reader.db.set_trace_callback(None)
    # The others are those of the full-text index.
    own = (query for query in queries if "FROM requests" in query or "JOIN requests" in query)
    steps = [row[3] for query in own for row in reader.db.execute(f"EXPLAIN QUERY PLAN {query}")]
    return steps, found


@pytest.mark.parametrize("before", [None, 40])
@pytest.mark.parametrize(
    "wanted",
    [
        HistoryFilter(outcomes=APPROVED),
        HistoryFilter(outcomes=APPROVED, since=SINCE),
        HistoryFilter(outcomes=("denied",), until=UNTIL),
        HistoryFilter(outcomes=APPROVED, since=SINCE, until=UNTIL),
        HistoryFilter(since=SINCE),
        HistoryFilter(until=UNTIL),
        HistoryFilter(since=SINCE, until=UNTIL),
        HistoryFilter(agents=("codex",), outcomes=APPROVED),
        HistoryFilter(actions=("send-draft",), outcomes=APPROVED, since=SINCE),
        HistoryFilter(surfaces=("tui",), agents=("claude",), actions=("send-draft",)),
        HistoryFilter(outcomes=("by_rule",)),
        HistoryFilter(signer="SHA256:x"),
        HistoryFilter(text="claude", outcomes=APPROVED, since=SINCE),
    ],
    ids=str,
)
def test_no_search_goes_through_every_request(reader: SqliteReader, wanted: HistoryFilter, before: int | None) -> None:
    steps, _ = plans(reader, wanted, before)
    # Without a range of numbers or an index, the newest requests are read until the page is full.
    newest_first = {"SCAN r"} if wanted == HistoryFilter(until=UNTIL) and before is None else set()
    read = {step for step in steps if step.startswith(("SCAN", "SEARCH"))}
    assert read
    allowed = ("SEARCH ", "SCAN search VIRTUAL TABLE INDEX", "SCAN (subquery")
    assert not {step for step in read if not step.startswith(allowed)} - newest_first, steps


def test_the_unfiltered_list_is_read_in_its_own_order(reader: SqliteReader) -> None:
    steps, found = plans(reader, ALL, None)
    assert steps == ["SCAN r"]
    assert found[0] == "act-x"


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (HistoryFilter(outcomes=("executed",), agents=("codex",)), "requests_by_agent"),
        (HistoryFilter(outcomes=("denied",), agents=("claude",)), "requests_by_outcome"),
        (HistoryFilter(outcomes=APPROVED, surfaces=("page",)), "requests_by_surface"),
        (HistoryFilter(outcomes=("by_rule",)), "requests_by_surface"),
        (HistoryFilter(signer="SHA256:x"), "requests_by_signer"),
    ],
)
def test_the_index_that_finds_the_fewest_is_used(reader: SqliteReader, wanted: HistoryFilter, index: str) -> None:
    steps, found = plans(reader, wanted, None)
    assert index in steps[-1]
    assert found == []
