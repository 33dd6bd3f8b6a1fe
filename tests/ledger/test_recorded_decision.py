"""The decision in an entry is read as verification reads it, and one that cannot be read is never dropped."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.decision import pae
from aileron_tui.core.entry_chain import Entry, EntryKind
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
