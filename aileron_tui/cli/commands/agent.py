"""Add, list and revoke agents. Each agent has its own token; its name is shown in every prompt."""

import argparse
import sys
from pathlib import Path
from shlex import quote

from aileron_tui.cli import confirmation
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_error, print_json, print_lines
from aileron_tui.cli.source_options import unlocked_key
from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.store import LedgerReader
from aileron_tui.signing.agents import Agent, Agents
from aileron_tui.signing.errors import NoAgent
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.agent_changes import add_agent, revoke_agent, rotate_agent
from aileron_tui.surface.local_ledgers import gate_ledger

_MISSING = "missing"
_OUTDATED = "out of date"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the agents of this gate")
    listing.add_argument("--json", action="store_true", help="print JSON")
    for command, words in (
        ("add", "add an agent and write its token to a file"),
        ("rotate", "give an agent a new token; the old one stops working at once"),
        ("revoke", "revoke an agent for good and withdraw its waiting requests"),
    ):
        change = commands.add_parser(command, help=words)
        change.add_argument("name", metavar="NAME", help="the agent's name")
        change.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
        change.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 on failure, 5 if there is no such agent."""
    if options.command == "list":
        _list(as_json=options.json)
        return OK
    protect_process()
    try:
        _change(options)
    except NoAgent as error:
        print_error(error)
        return NOT_FOUND
    return OK


def _change(options: argparse.Namespace) -> None:
    """Adds, rotates or revokes an agent. What can be refused without the passphrase is refused before asking for it."""
    name, ledger = options.name, gate_ledger()
    confirmation.check_terminal(load_config(paths().config).policy, "changing agents")
    with local_reader(ledger, indexed=True) as reader:
        agents = Agents.of(reader) if reader else Agents()
    if options.command == "add":
        agents.check_new(name)
    else:
        agents.named(name)
    with unlocked_key(options.key) as key:
        if options.command == "revoke":
            revoke_agent(ledger, name, key)
            _report(options, f"revoked agent {name}", None)
        else:
            made = add_agent if options.command == "add" else rotate_agent
            done = "added agent" if options.command == "add" else "new token for agent"
            _report(options, f"{done} {name}", made(ledger, name, key))


def _report(options: argparse.Namespace, done: str, token_file: Path | None) -> None:
    if options.json:
        fields: JsonObject = {"name": options.name, "state": "active" if token_file else "revoked"}
        print_json(fields | {"token_file": str(token_file)} if token_file else fields)
    elif token_file is None:
        print_lines(done, "  Its token no longer works, and its waiting requests are withdrawn.")
    else:
        print_lines(done, "  Its token is in this file, which only you can read:")
        # Not wrapped, so that both lines can be copied.
        file = inline(str(token_file))
        sys.stdout.write(f"{file}\n")
        print_lines("  Try it while the gate is running:")
        sys.stdout.write(f"aileron-tui run send-draft --arg draft_id=r-12345 --token-file {quote(file)}\n")


def _list(*, as_json: bool) -> None:
    with local_reader(gate_ledger(), indexed=True) as reader:
        agents = Agents.of(reader) if reader else Agents()
        rows = [_described(agent, reader) for agent in agents.values() if reader]
    if as_json:
        print_json({"agents": [*rows], "invalid": [*agents.invalid]})
        return
    if not rows:
        print_lines(
            "no agents yet; the gate adds one called default when it first starts",
            "  Add one with `aileron-tui agent add NAME`.",
        )
    for row in rows:
        print_lines(f"{row['name']}  {row['state']}", *(f"  {line}" for line in _details(row)))
    for line in agents.invalid:
        sys.stderr.write(f"warning: ignored {inline(line)}\n")


def _described(agent: Agent, reader: LedgerReader) -> dict[str, Json]:
    last = reader.page(HistoryFilter(agents=(agent.name,)), limit=1)
    path = token_path(gate_ledger().parent, agent.name)
    return {
        "name": agent.name,
        "state": "revoked" if agent.revoked else "active",
        "added": agent.added,
        "added_by": agent.added_by,
        "rotated": agent.rotated,
        "revoked": agent.revoked,
        "last_request": last[0].asked if last else "",
        "token_file": "" if agent.revoked else str(path),
        "token_file_state": "" if agent.revoked else _file_state(agent, path),
    }


def _file_state(agent: Agent, path: Path) -> str:
    if not path.exists() and not path.is_symlink():
        return _MISSING
    try:
        return "ok" if token_hash(read_token(path)) == agent.token else _OUTDATED
    except PrivateFileError as error:
        return str(error)


def _details(row: dict[str, Json]) -> list[str]:
    """The lines below an agent's name."""
    by = f"by the key {inline(str(row['added_by']))}" if row["added_by"] else "by the gate"
    lines = [f"added {_minute(row['added'])} {by}"]
    lines += [f"{what} {_minute(row[what])}" for what in ("rotated", "revoked") if row[what]]
    if row["last_request"]:
        lines.append(f"last request {_minute(row['last_request'])}")
    if row["token_file"]:
        lines.append(f"token file {inline(str(row['token_file']))}")
    match row["token_file_state"]:
        case "" | "ok":
            pass
        case str(state) if state in (_MISSING, _OUTDATED):
            lines.append(f"! The file is {state}. Run `aileron-tui agent rotate {row['name']}`.")
        case state:
            lines.append(f"! {inline(str(state))}")
    return lines


def _minute(time: Json) -> str:
    """A time of the ledger, to the minute."""
    return f"{str(time)[:16].replace('T', ' ')} UTC"
