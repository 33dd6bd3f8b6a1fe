"""Shows one request: its outcome, its signature, its edits and its entries."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from aileron_tui.cli.commands.history.record_text import fields, outcome
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import columns, print_json, write
from aileron_tui.core.alert_words import alert_words, recorded_alerts
from aileron_tui.core.deadline_extension import extended_words
from aileron_tui.core.edits import arg_rows, paired
from aileron_tui.core.entry_chain import Damage, Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import Json, JsonObject, plain
from aileron_tui.core.key_change import is_security_key
from aileron_tui.core.outcomes import EDITED_ELSEWHERE, ELSEWHERE, unknown_outcome
from aileron_tui.core.prompt import EDITED, row_lines
from aileron_tui.core.time_words import span
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import Visible, block, inline
from aileron_tui.ledger import history_pages
from aileron_tui.ledger.store import LedgerReader
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.signing.rules import Rules
from aileron_tui.surface.history_records import shown_in_ledger

_INDENT: Final = " " * 14
_HIDDEN: Final = "The preview was kept. --preview shows it, and asks for your passphrase."


def run(ledger: Path, options: argparse.Namespace) -> int:
    """Prints everything the ledger has about a request."""
    with local_reader(ledger, indexed=True) as reader:
        record = reader.find(options.id) if reader else None
        if reader is None or record is None:
            sys.stderr.write(f"error: no request {inline(options.id)}\n")
            return NOT_FOUND
        entries = reader.of_request(options.id)
        signature = _rule_signature(record, reader) if record.rule else ""
        signature = signature or _signature(record, entries, reader.key_changes())
        extended = _extended(entries, reader.key_changes())
        edit = history_pages.edit(record, entries)
    alerted = alert_words(recorded_alerts(entry.fields() for entry in entries))
    if kept := any(map(_has_preview, entries)):
        entries = _with_previews(entries) if options.preview else tuple(map(_without_preview, entries))
    hidden = _HIDDEN if kept and not options.preview else _not_kept(entries)
    if options.json:
        listed = [_entry_fields(entry) for entry in entries]
        more: JsonObject = {"signature": signature, "extended": extended, "alerted": alerted}
        more |= {"edit": edit, "entries": [*listed]}
        print_json({**fields(record), **more})
        return OK
    _print_record(record, {"alerted": alerted, "extended": extended, "signature": signature}, edit, hidden)
    for entry in entries:
        _print_entry(entry)
    return OK


def _entry_fields(entry: Entry) -> JsonObject:
    fields: JsonObject = {"seq": entry.seq, "time": entry.time, "kind": entry.kind, "body": entry.body}
    return fields | {"removed": entry.removed} if entry.removed else fields


def _print_record(record: HistoryRecord, found: Mapping[str, str], edit: JsonObject | None, hidden: str) -> None:
    """Prints the facts of a request; `found` is what its entries say, in words."""
    glyph, word = outcome(record)
    write(sys.stdout, f"{glyph} {word}: {inline(record.action)}", indent=_INDENT)
    about = {
        "id": record.id,
        "kind": record.kind,
        "connector": record.connector,
        "agent": record.agent,
        "says it is": record.says,
        "risk": record.risk,
        "answered" if record.rule or record.unsigned_denial else "surface": record.answered,
        "decided in": "" if record.took is None else span(record.took),
        "alerted": found["alerted"],
        "extended": found["extended"],
        "reason": record.reason,
        "error": record.error,
        "reduced": record.removed,
        "signature": found["signature"],
        "note": unknown_outcome(record, utc_now()),
        "not shown": hidden,
        "edited": "" if not record.edited else EDITED if edit or record.reduced else EDITED_ELSEWHERE,
    }
    for name, value in about.items():
        if value:
            write(sys.stdout, f"  {name:<10}  {inline(value)}", indent=_INDENT)
    if edit:
        sys.stdout.write("".join(f"{line}\n" for line in _edit_lines(edit)))


def _has_preview(entry: Entry) -> bool:
    return entry.kind == EntryKind.PREVIEWED and "preview" in entry.body


def _with_previews(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The entries as they are, once the operator's key is unlocked."""
    from aileron_tui.cli.source_options import unlocked_key  # noqa: PLC0415  # only for previews

    with unlocked_key(None):
        return entries


def _without_preview(entry: Entry) -> Entry:
    if not _has_preview(entry):
        return entry
    return replace(entry, body={name: value for name, value in entry.body.items() if name != "preview"})


def _not_kept(entries: Sequence[Entry]) -> str:
    """What was shown and is not in the ledger, and how to keep it."""
    if any(entry.removed for entry in entries):
        return ""  # said already
    listed: list[Json] = [{"kind": entry.kind, "body": entry.body} for entry in entries]
    return shown_in_ledger({"entries": listed}).note


def _edit_lines(edit: JsonObject) -> Iterator[Visible]:
    """All inputs of an edited call, with + and - in the first column for what was changed."""
    asked, approved = edit["asked"], edit["approved"]
    if isinstance(asked, dict) and isinstance(approved, dict):
        yield from row_lines(paired(arg_rows(approved), arg_rows(asked)), columns(sys.stdout))


def _print_entry(entry: Entry) -> None:
    sys.stdout.write("\n")
    write(sys.stdout, f"{entry.seq}  {inline(entry.time)}  {inline(entry.kind)}", indent=_INDENT)
    shown = {name: value for name, value in entry.body.items() if name != "envelope"}
    if entry.removed:
        write(sys.stdout, f"  removed; its digest was {entry.removed}", indent="  ")
    for line in block(plain(shown)) if shown else ():
        write(sys.stdout, f"  > {line}", indent="  > ")


def _rule_signature(record: HistoryRecord, reader: LedgerReader) -> str:
    """In words: whether the rule that answered a request was signed by a key that was allowed to approve."""
    known = Rules.of(reader).get(record.rule)
    if known is None or known.signer != record.signer:
        return f"BAD: nobody signed {record.rule}"
    return f"good, the rule was made by {known.made_by} ({known.signer})"


def _signature(record: HistoryRecord, entries: tuple[Entry, ...], key_changes: tuple[Entry, ...]) -> str:
    """In words: whether the decision that counted was signed by a key that was allowed to approve."""
    decision = next((entry for entry in reversed(entries) if entry.kind == EntryKind.DECIDED), None)
    if record.surface == ELSEWHERE:
        late = "; an answer from here came too late" if decision else ""
        return f"none: answered elsewhere, not signed{late}"
    if record.unsigned_denial:
        return f"none: {_denied_by(entries, key_changes)}"
    if decision is None:
        return "none: not decided"
    if decision.removed:
        return "cannot be checked any more, because it was removed with the contents"
    signers = _signers(key_changes, decision)
    statement, text = signers.check(decision.body.get("envelope"))
    if isinstance(statement, Damage):
        return f"BAD: {text}"
    if statement.request != decision.request:
        return f"BAD: it was made for request {statement.request}"
    approver = signers.approvers[text]
    kind = "the security key " if is_security_key(text) else ""
    return f"good, by {kind}{approver.name} ({text}{', insecure: no passphrase' if approver.insecure else ''})"


def _denied_by(entries: tuple[Entry, ...], key_changes: tuple[Entry, ...]) -> str:
    """In words: in which session a request was denied without a signature."""
    denial = next((entry for entry in reversed(entries) if entry.kind == EntryKind.DENIED_UNSIGNED), None)
    opened_by = str(denial.body.get("opened_by", "")) if denial else ""
    names = {str(change.body.get("fingerprint")): str(change.body.get("name")) for change in key_changes}
    return f"denied in a session that {names.get(opened_by, opened_by)} opened" if opened_by else "denied without a key"


def _extended(entries: tuple[Entry, ...], key_changes: tuple[Entry, ...]) -> str:
    """In words: how often the deadline was extended, and by which keys that were allowed to."""
    names: list[str] = []
    for entry in entries:
        if entry.kind == EntryKind.EXTENDED:
            signers = _signers(key_changes, entry)
            extension, text = signers.check_extension(entry.body.get("envelope"))
            if isinstance(extension, Damage):
                return f"BAD: entry {entry.seq}: {text}"
            names.append(signers.approvers[text].name)
    return extended_words(names)


def _signers(key_changes: tuple[Entry, ...], entry: Entry) -> RecordedSigners:
    """The keys that were enrolled when an entry was written."""
    signers = RecordedSigners()
    for change in key_changes:
        if change.seq < entry.seq:
            signers.learn(change)
    return signers
