"""The decision in an entry is read as verification reads it, and one that cannot be read is never dropped."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.core.decision import pae
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.errors import LedgerDamaged, LedgerError, LedgerNewer
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.signing.envelope import Envelope, read_envelope, sign
from aileron_tui.signing.errors import EnvelopeRefused
from tests.ledger.scenes import Scene, change_entry, tampering


def decided(envelope: Any) -> Entry:
    return Entry(1, "2026-05-12T10:15:30.000000Z", EntryKind.DECIDED, "act-1", {"envelope": envelope})


def test_url_safe_base64_is_read_as_verification_reads_it(scene: Scene) -> None:
    statement = scene.statement("act-1", reason="why???>>>~~~\uffbf")
    fields: Any = sign(statement, scene.key).fields()
    fields["payload"] = fields["payload"].replace("+", "-").replace("/", "_")
    assert {"-", "_"} & set(fields["payload"])
    assert read_envelope(fields).payload == statement.payload()
    assert decision_of(decided(fields)) == (statement, scene.key.public.fingerprint)


@pytest.mark.parametrize("extra", ["\n", " ", "!", "=", "é"])
def test_base64_with_other_characters_is_refused_as_verification_refuses_it(scene: Scene, extra: str) -> None:
    fields: Any = sign(scene.statement("act-1"), scene.key).fields()
    fields["payload"] = fields["payload"][:8] + extra + fields["payload"][8:]
    with pytest.raises(EnvelopeRefused, match="base64"):
        read_envelope(fields)
    assert decision_of(decided(fields)) is None


def newer(scene: Scene, payload: bytes) -> Any:
    type_ = "application/vnd.aileron.decision.v3+json"
    signature = scene.key.sign(pae(type_, payload))
    return Envelope(payload, type_, scene.key.public.fingerprint, signature).fields()


def damaged(scene: Scene) -> Any:
    return sign(scene.statement("act-1"), scene.key).fields() | {"payload": "!"}


@pytest.mark.parametrize(
    ("envelope", "error", "words"),
    [
        (lambda scene: newer(scene, b'{"version":3}'), LedgerNewer, r"the decision was .* newer version .*entry 5"),
        (lambda scene: newer(scene, b"\xa0"), LedgerNewer, r"the decision was .* newer version .*entry 5"),
        (damaged, LedgerDamaged, r"entry 5: the decision cannot be read: damaged base64"),
        (lambda _: None, LedgerDamaged, r"entry 5: the decision cannot be read: not a signed envelope"),
    ],
)
def test_a_rebuild_stops_at_a_decision_it_cannot_read(
    scene: Scene, envelope: Callable[[Scene], Any], error: type[LedgerError], words: str
) -> None:
    scene.denied("act-1")
    body, middle = {"envelope": envelope(scene)}, scene.ledger.head.seq
    scene.ask("act-2")
    path = scene.close()
    with tampering(path) as db:
        change_entry(db, middle, lambda entry: replace(entry, body=body))
    path.with_name("ledger.lock").unlink()  # it notes the head, which the change has moved
    with SqliteLedger(path) as ledger:
        with pytest.raises(error, match=words):
            ledger.rebuild_index()
        assert ledger._db.execute("SELECT count(*) FROM nonces").fetchone() == (1,)
    with SqliteReader(path) as reader:
        found = reader.find("act-1")
        assert found is not None
        assert found.outcome == "denied"
