"""Lists requests, newest first."""

import argparse
import shutil
import sys
from pathlib import Path

from aileron_tui.cli.commands.history.record_text import fields, rows
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_json
from aileron_tui.core.jsontext import Json
from aileron_tui.ledger.history_filter import ALL, HistoryFilter
from aileron_tui.ledger.history_summaries import summaries


def run(ledger: Path, options: argparse.Namespace, wanted: HistoryFilter) -> int:
    """Prints one page of the requests that match."""
    with local_reader(ledger, indexed=True) as reader:
        records = reader.page(wanted, before=options.before, limit=options.limit) if reader else ()
        texts = list(summaries(reader, records)) if reader else []
    more = records[-1].seq if len(records) == options.limit else None
    if options.json:
        found: list[Json] = [fields(one) | {"summary": [*text]} for one, text in zip(records, texts, strict=True)]
        print_json({"requests": found, "next": more})
        return OK
    width = shutil.get_terminal_size().columns
    for record, text in zip(records, texts, strict=True):
        sys.stdout.write("".join(f"{line}\n" for line in rows(record, width, text)))
    if not records:
        everything = wanted == ALL and not options.before
        sys.stderr.write("nothing recorded yet\n" if everything else "nothing found\n")
    elif more is not None:
        sys.stderr.write(f"for older requests use --before {more}\n")
    return OK
