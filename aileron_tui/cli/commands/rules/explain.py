"""Says which rule answered or would answer a request, and why."""

import argparse

from aileron_tui.cli.commands.rules.rule_text import rule_lines
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_json, print_lines, write_error
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.rule_answer import request_call
from aileron_tui.core.rule_match import answer, difference, obstacle
from aileron_tui.core.times import utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.files.boot_clock import boot_clock
from aileron_tui.ledger.rule_calls import RuleUse
from aileron_tui.ledger.store import LedgerReader
from aileron_tui.signing.rules import KnownRule, Rules
from aileron_tui.surface.local_ledgers import gate_ledger

_NOTE = "The ledger does not have the warnings of a prompt, nor its manifest: the gate checks both when it is called."


def run(options: argparse.Namespace) -> int:
    """Returns 5 if there is no such request."""
    with local_reader(gate_ledger(), indexed=True) as reader:
        record = reader.find(options.id) if reader else None
        if reader is None or record is None:
            write_error(f"no request {options.id}", "", "`aileron-tui history` lists the requests.")
            return NOT_FOUND
        rules = Rules.of(reader)
        _explain_answered(options, record, rules) if record.rule else _explain(options, record, rules, reader)
    return OK


def _explain_answered(options: argparse.Namespace, record: HistoryRecord, rules: Rules) -> None:
    known = rules.get(record.rule)
    if options.json:
        print_json({"request": record.id, "answered_by": record.rule, "valid": known is not None, "rules": []})
        return
    print_lines(f"{inline(record.id)}  {inline(record.answered)}")
    if known is None:
        print_lines("  ! There is no valid rule with this id. Run `aileron-tui history verify`.")
        return
    now = utc_now()
    in_force = known.in_force(now, boot_clock())
    print_lines(*(f"  {line}" for line in rule_lines(known, RuleUse(0, ""), now, in_force=in_force)[:-1]))


def _explain(options: argparse.Namespace, record: HistoryRecord, rules: Rules, reader: LedgerReader) -> None:
    entries = reader.of_request(record.id)
    digests = [str(entry.body.get("digest", "")) for entry in entries if entry.kind == EntryKind.PREVIEWED]
    shown = digests[-1] if digests else ""
    in_force = [known for known in rules.in_force(utc_now(), boot_clock()) if known.rule.agent == record.agent]
    reasons = {known.rule.id: _reason(known, entries[0].body, shown) for known in in_force}
    fitting = [known.rule for known in in_force if not reasons[known.rule.id]]
    found = answer(fitting, request_call(entries[0].body, fitting[0].runs, shown)) if fitting else None
    if options.json:
        listed: list[JsonObject] = [
            {"rule": known.rule.id, "verdict": known.rule.verdict, "why_not": reasons[known.rule.id]}
            for known in in_force
        ]
        would = found.id if found else None
        print_json({"request": record.id, "answered_by": None, "would_answer": would, "rules": [*listed]})
        return
    by = f" {inline(record.answered)}" if record.answered else ""
    print_lines(f"{inline(record.id)}  no rule answered it{f'; it was answered on{by}' if by else ''}")
    if found:
        print_lines(f"  {found.id} would answer it now: {found.verdict}")
    elif not in_force:
        print_lines(f"  No rule for the agent {inline(record.agent) or '(unknown)'} is in force.")
    for known in in_force:
        if why := reasons[known.rule.id]:
            print_lines(f"  {known.rule.id} would not answer it: {inline(why)}")
    print_lines(f"  {_NOTE}")


def _reason(known: KnownRule, body: JsonObject, shown: str) -> str:
    """Why a rule would not answer a request, as far as the ledger knows; "" if it would."""
    call = request_call(body, known.rule.runs, shown)
    return difference(known.rule, call) or obstacle(known.rule, call)
