"""What a verification that found nothing wrong leaves for the next one, which then begins after the last entry checked.

A checkpoint is a private file outside the folder of the ledger. So a ledger cannot vouch for itself: one that comes
from elsewhere has no checkpoint here, and whoever can write only the ledger cannot make one. Somebody who can write all
files of the user can also write a checkpoint; a verification of everything does not use it.

It has the state of the verification: the head, the requests that have not ended, and the ids of those that have. The
entries that changed keys, agents, rules, packages and publishers are read again from the ledger, and so are requests
that still wait; the digest of each is in the checkpoint. The file has a line of JSON, then the digests of ids.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from aileron_tui.core.entry_chain import encode
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, read_object
from aileron_tui.core.states import RequestState
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import read_private, write_private
from aileron_tui.ledger.entry_check import OpenRequest, Verification
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.head import Head, read_head
from aileron_tui.ledger.id_digest import DIGEST_SIZE
from aileron_tui.ledger.range_check import Doubt, ResumedVerification
from aileron_tui.ledger.reduction_check import ReductionCheck
from aileron_tui.ledger.request_deadline import read_deadline
from aileron_tui.ledger.store import LedgerReader

FEWEST: Final = 20_000
"""A checkpoint is kept from this many entries on. Fewer are verified in a moment."""

_VERSION: Final = 2
_LARGEST: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint as it is in its file. `time` is when the entries up to the head had been checked."""

    head: Head
    time: str
    fields: JsonObject
    finished: bytes

    def resume(self, verification: ResumedVerification, reader: LedgerReader) -> None:
        """Continues after this checkpoint. Raises Doubt if what the ledger has is not what was checked."""
        fields = self.fields
        try:
            changes = _numbers(fields["changes"])
            if _digest(reader, changes) != fields["digest"]:
                raise Doubt("a change of keys, agents, rules, packages or publishers is not the one that was checked")
            verification.resume(reader, self.head.seq, changes)
            if verification.walker.head != self.head.hash:
                raise Doubt("the last entry that was checked is another one")
            verification.requests = {id_: _request(reader, known) for id_, known in _objects(fields["requests"])}
            verification.security_keys.counters = _counts(fields["counters"])
            verification.decisions = Counter(_counts(fields["decisions"]))
            verification.rule_answers = Counter(_counts(fields["rule_answers"]))
            (verification.unsigned_denials,) = _numbers([fields["unsigned_denials"]])
            (reduced,) = _numbers([fields["reduced"]])
            verification.reductions = ReductionCheck(reduced, str(fields["reduced_before"]))
        except (KeyError, TypeError, ValueError, AileronError) as error:
            raise Doubt(str(error)) from None
        verification.finished.add_digests(self.finished)


def checkpoint_path(folder: Path, reader: LedgerReader) -> Path | None:
    """The file for the checkpoint of a ledger, named after its first entry; None if it has none."""
    for _, first in reader.hashes(0, 1):
        return folder / f"{first.removeprefix('sha256:')[:32]}.checkpoint"
    return None


def read_checkpoint(path: Path) -> Checkpoint | None:
    """The checkpoint in a file, or None if there is none that can be used."""
    if not path.exists():
        return None
    try:
        line, _, finished = read_private(path, _LARGEST).partition(b"\n")
        fields = read_object(line)
        head, time = fields.get("head"), fields.get("time")
        known = fields.get("version") == _VERSION and fields.get("finished") == hashlib.sha256(finished).hexdigest()
        if not known or not isinstance(head, str) or not isinstance(time, str) or len(finished) % DIGEST_SIZE:
            return None
        return Checkpoint(read_head(head), time, fields, finished)
    except AileronError:
        return None


def write_checkpoint(path: Path, verification: Verification, reader: LedgerReader, time: str) -> None:
    """Keeps what a verification knows that found nothing wrong. Raises AileronError if that is not possible."""
    finished, changes = verification.finished.digests(), verification.changes
    fields: JsonObject = {
        "version": _VERSION,
        "head": str(Head(verification.walker.seq, verification.walker.head)),
        "time": time,
        "changes": [*changes],
        "digest": _digest(reader, changes),
        "requests": {id_: _known(reader, known) for id_, known in verification.requests.items()},
        "counters": {**verification.security_keys.counters},
        "decisions": {**verification.decisions},
        "rule_answers": {**verification.rule_answers},
        "unsigned_denials": verification.unsigned_denials,
        "reduced": verification.reductions.count,
        "reduced_before": verification.reductions.before,
        "finished": hashlib.sha256(finished).hexdigest(),
    }
    write_private(path, canonical(fields) + b"\n" + finished, replace=True)


def _digest(reader: LedgerReader, changes: Sequence[int]) -> str:
    """The digest of the entries with these numbers."""
    digest = hashlib.sha256()
    for seq in changes:
        digest.update(_stored(reader, seq) + b"\n")
    return digest.hexdigest()


def _stored(reader: LedgerReader, seq: int) -> bytes:
    entry = reader.entry(seq)
    if entry is None:
        raise LedgerError(f"entry {seq} is missing")
    return encode(entry)


def _known(reader: LedgerReader, request: OpenRequest) -> JsonObject:
    return {
        "state": request.state,
        "seq": request.seq,
        "told": request.told,
        "digest": request.digest,
        "deadline": request.deadline.body() if request.deadline else None,
        "shown": request.shown,
        "waits": request.body is not None,
        "tool": request.tool,
        "daemon": request.daemon,
        "reduced": request.reduced,
        "unproven": request.unproven,
        "made": hashlib.sha256(_stored(reader, request.seq)).hexdigest(),
    }


def _request(reader: LedgerReader, fields: JsonObject) -> OpenRequest:
    (seq,) = _numbers([fields["seq"]])
    made = reader.entry(seq)
    if made is None or hashlib.sha256(encode(made)).hexdigest() != fields["made"]:
        raise Doubt(f"entry {seq} is not the one that was checked")
    deadline = fields["deadline"]
    return OpenRequest(
        RequestState(str(fields["state"])),
        seq,
        fields["daemon"] is True,
        fields["told"] is True,
        str(fields["digest"]),
        read_deadline(deadline) if isinstance(deadline, dict) else None,
        str(fields["shown"]),
        made.body if fields["waits"] is True else None,
        fields["tool"] is True,
        fields["reduced"] is True,
        fields["unproven"] is True,
    )


def _objects(value: Json) -> list[tuple[str, JsonObject]]:
    if not isinstance(value, dict):
        raise JsonError("expected an object")
    return [(name, item) for name, item in value.items() if isinstance(item, dict)]


def _counts(value: Json) -> dict[str, int]:
    if not isinstance(value, dict):
        raise JsonError("expected an object")
    return {name: item for name, item in value.items() if type(item) is int}


def _numbers(value: Json) -> list[int]:
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise JsonError("expected numbers")
    return [item for item in value if isinstance(item, int)]
