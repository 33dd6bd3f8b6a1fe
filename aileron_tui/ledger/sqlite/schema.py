"""The tables of a ledger. `entries` is the record; everything else is derived from it and can be rebuilt anytime."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from aileron_tui.ledger.errors import LedgerDamaged, LedgerNewer

APPLICATION: Final = 0x41494C45  # "AILE"
INDEX_VERSION: Final = "9"
CHANGE_LISTS: Final = ("keys", "agents", "rules", "packages", "publishers", "bindings")
"""The tables that list the entries that change something for good."""

_NEW_LISTS: Final = ("packages", "publishers", "bindings")

_ENTRIES: Final = """
CREATE TABLE entries (
    seq  INTEGER PRIMARY KEY,
    data BLOB NOT NULL CHECK (typeof(data) = 'blob'),
    hash BLOB NOT NULL CHECK (typeof(hash) = 'blob' AND length(hash) = 32)
);
CREATE TRIGGER entries_stay BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
CREATE TRIGGER entries_keep BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries follow one another without gaps'); END;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

# The only change to an entry is that its header takes its place (`core/entry_chain.py`). The database cannot compute
# the digest in it; a wrong one breaks the chain.
_REDUCIBLE_ENTRIES: Final = """
DROP TRIGGER entries_keep;
CREATE TRIGGER entries_keep BEFORE UPDATE ON entries
WHEN NEW.seq IS NOT OLD.seq OR NEW.hash IS NOT OLD.hash OR length(NEW.data) < 84
    OR substr(NEW.data, 1, 16) IS NOT CAST('{"body":"sha256:' AS BLOB)
    OR substr(NEW.data, 82) IS NOT substr(OLD.data, 81 - length(NEW.data))
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
"""

# `steps` finds the entries of a request, `keys` those that change who may approve, `agents` those that change agents,
# `rules` those that change rules, `packages` those that change packages, `publishers` those that change the trusted
# publishers, `bindings` those that change which accounts connectors use.
# `counters` has the last counter of each security key. `rule` is the rule that answered a request.
# `agent` is the name of the agent's token, and `says` is what the agent calls itself; before agents had tokens of their
# own, only the latter was known. `daemon` names the daemon that runs a request, if it is not the gate; `told` means
# that the daemon reported the outcome. `edited` means that the inputs were changed before the call was approved, and
# `edits` has the changed inputs as text for the search. `reduced` is when the contents of a request were removed.
INDEX: Final = """
DROP TABLE IF EXISTS steps;
DROP TABLE IF EXISTS keys;
DROP TABLE IF EXISTS agents;
DROP TABLE IF EXISTS rules;
DROP TABLE IF EXISTS packages;
DROP TABLE IF EXISTS publishers;
DROP TABLE IF EXISTS bindings;
DROP TABLE IF EXISTS nonces;
DROP TABLE IF EXISTS counters;
DROP TABLE IF EXISTS requests;
DROP TABLE IF EXISTS search;
CREATE TABLE steps (request TEXT, seq INTEGER, PRIMARY KEY (request, seq)) WITHOUT ROWID;
CREATE TABLE keys (seq INTEGER PRIMARY KEY);
CREATE TABLE agents (seq INTEGER PRIMARY KEY);
CREATE TABLE rules (seq INTEGER PRIMARY KEY, id TEXT NOT NULL);
CREATE INDEX rules_by_id ON rules (id, seq);
CREATE TABLE packages (seq INTEGER PRIMARY KEY);
CREATE TABLE publishers (seq INTEGER PRIMARY KEY);
CREATE TABLE bindings (seq INTEGER PRIMARY KEY);
CREATE TABLE nonces (nonce TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (key TEXT PRIMARY KEY, counter INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE requests (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    asked     TEXT NOT NULL,
    action    TEXT NOT NULL,
    connector TEXT NOT NULL,
    agent     TEXT NOT NULL,
    risk      TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    shown     TEXT NOT NULL DEFAULT '',
    decided   TEXT NOT NULL DEFAULT '',
    took      REAL,
    surface   TEXT NOT NULL DEFAULT '',
    signer    TEXT NOT NULL DEFAULT '',
    reason    TEXT NOT NULL DEFAULT '',
    ended     TEXT NOT NULL DEFAULT '',
    error     TEXT NOT NULL DEFAULT '',
    daemon    TEXT NOT NULL DEFAULT '',
    told      INTEGER NOT NULL DEFAULT 0,
    kind      TEXT NOT NULL DEFAULT '',
    says      TEXT NOT NULL DEFAULT '',
    edited    INTEGER NOT NULL DEFAULT 0,
    rule      TEXT NOT NULL DEFAULT '',
    reduced   TEXT NOT NULL DEFAULT ''
);
CREATE VIRTUAL TABLE search USING fts5 (
    action, connector, agent, says, inputs, reason, outcome, edits, columnsize = 0,
    tokenize = 'unicode61 remove_diacritics 2'
);
"""

# A table that is filled at once is filled faster without these.
_REQUEST_INDEXES: Final = """
CREATE INDEX requests_by_time ON requests (asked, seq);
CREATE INDEX requests_by_action ON requests (action, seq);
CREATE INDEX requests_by_outcome ON requests (outcome, seq);
CREATE INDEX requests_by_agent ON requests (agent, seq);
CREATE INDEX requests_by_rule ON requests (rule, asked) WHERE rule != '';
CREATE INDEX requests_by_surface ON requests (surface, seq);
CREATE INDEX requests_by_signer ON requests (signer, decided) WHERE signer != '' AND surface != 'rule';
"""


Migration = Callable[[sqlite3.Connection], None]


def _first(db: sqlite3.Connection) -> None:
    _run(db, _ENTRIES)


def _second(_: sqlite3.Connection) -> None:
    """Leaves the tables unchanged. Entries now have version 2, which older versions of the program cannot read."""


def _third(_: sqlite3.Connection) -> None:
    """Leaves the tables unchanged. Older versions of the program do not know the end `op.unknown`.

    They would take such a request for one that still runs, and record a second end.
    """


def _fourth(_: sqlite3.Connection) -> None:
    """Leaves the tables unchanged. Older versions of the program do not know requests that a rule answered.

    They would take such a request for one that ran without an approval.
    """


def _fifth(_: sqlite3.Connection) -> None:
    """Leaves the tables unchanged. Older versions of the program know neither security keys nor unsigned denials.

    They would take a request that was denied without a signature for one that still waits.
    """


def _sixth(db: sqlite3.Connection) -> None:
    """Lets bodies be removed. Older versions of the program would take such an entry for a damaged one."""
    _run(db, _REDUCIBLE_ENTRIES)


MIGRATIONS: Final[tuple[Migration, ...]] = (_first, _second, _third, _fourth, _fifth, _sixth)
VERSION: Final = len(MIGRATIONS)
OLDEST_READABLE: Final = 1
"""The oldest schema version that can be read. A reader changes nothing, so it must also read outdated ledgers."""


def version(db: sqlite3.Connection) -> int:
    """The schema version of a ledger. Raises LedgerDamaged if the file is not one, and LedgerNewer if it is too new."""
    found = int(db.execute("PRAGMA user_version").fetchone()[0])
    owner = int(db.execute("PRAGMA application_id").fetchone()[0])
    path = _path(db)
    if owner != APPLICATION and (found or _tables(db)):
        raise LedgerDamaged(path, "it is a database, but not a ledger")
    if found > VERSION:
        raise LedgerNewer(
            "the ledger was written by a newer version of aileron-tui",
            f"{path} has schema {found}; this program reads up to {VERSION}",
            "Update aileron-tui.",
        )
    return found


def migrate(db: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> bool:
    """Brings a ledger up to date, each migration in its own transaction. Returns whether anything was done."""
    start = int(db.execute("PRAGMA user_version").fetchone()[0])
    for number, step in enumerate(migrations[start:], start=start + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            if int(db.execute("PRAGMA user_version").fetchone()[0]) >= number:
                db.execute("ROLLBACK")
                continue  # another process did it in the meantime
            step(db)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    return start < len(migrations)


def reset_index(db: sqlite3.Connection, *, complete: bool = True) -> None:
    """Recreates all derived tables empty, inside the caller's transaction. `complete_index` must follow otherwise."""
    _run(db, INDEX)
    if complete:
        complete_index(db)


def complete_index(db: sqlite3.Connection) -> None:
    """Adds what makes the tables fast to search, and marks them as those of this version."""
    _run(db, _REQUEST_INDEXES)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('index', ?)", (INDEX_VERSION,))


def index_is_current(db: sqlite3.Connection) -> bool:
    """Whether the derived tables have the format of this version."""
    row = db.execute("SELECT value FROM meta WHERE name = 'index'").fetchone()
    wanted = {"steps", "keys", "agents", "rules", *_NEW_LISTS, "nonces", "counters", "requests", "search"}
    return row is not None and row[0] == INDEX_VERSION and wanted <= _tables(db)


def adapt_older_index(db: sqlite3.Connection) -> None:
    """Lets a reader, which changes nothing, read an index from before reductions, packages, rules, or tokens of agents.

    Temporary tables hide those of the same name in the file. What the oldest index calls the agent is its own claim.
    """
    columns = [str(row[1]) for row in db.execute("PRAGMA main.table_info(requests)")]
    missing = [name for name in _NEW_LISTS if name not in _tables(db)]
    if not columns or "reduced" in columns:
        return
    db.execute("PRAGMA query_only = OFF")  # the file itself is opened for reading only
    db.execute("PRAGMA temp_store = MEMORY")
    for name in missing:
        db.execute(f"CREATE TEMP TABLE {name} (seq INTEGER PRIMARY KEY)")
    _add_columns(db, columns)
    db.execute("PRAGMA query_only = ON")


def _add_columns(db: sqlite3.Connection, columns: Sequence[str]) -> None:
    named, ruled = "says" in columns, "rule" in columns
    kept = ", ".join(name for name in columns if named or name != "agent")
    added = ", ".join(["'' AS reduced", *([] if ruled else ["'' AS rule"])])
    if not named:
        added += ", '' AS agent, agent AS says"
    db.execute(f"CREATE TEMP VIEW requests AS SELECT {kept}, {added} FROM main.requests")  # noqa: S608  # names of columns only
    if not named:
        db.execute("CREATE TEMP TABLE agents (seq INTEGER PRIMARY KEY)")
    if not ruled:
        db.execute("CREATE TEMP TABLE rules (seq INTEGER PRIMARY KEY, id TEXT NOT NULL)")


def _path(db: sqlite3.Connection) -> Path:
    return Path(db.execute("PRAGMA database_list").fetchone()[2])


def _tables(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _run(db: sqlite3.Connection, script: str) -> None:
    """Runs a script statement by statement; `executescript` would commit the transaction around it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""
