"""List the accounts of connectors and whether they can be used, or unlock them for the gate.

Secrets that are not in the keyring are in an encrypted file. A gate can use them once somebody has unlocked them since
it was started: a console does so by itself, `--unlock` does it here.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from aileron_tui.accounts.binding_state import StateName
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli import source_options
from aileron_tui.cli.binding_states import ListedBinding, listed_bindings, vault_keys
from aileron_tui.cli.bindings_here import bindings_here, connectors_here
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.output import print_json, print_lines, write
from aileron_tui.cli.secret_place import able_key
from aileron_tui.core.binding_change import FILE
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import paths
from aileron_tui.signing.key_store import INSECURE
from aileron_tui.signing.secret_memory import protect_process

_GOOD = (StateName.OK, StateName.LOCKED)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--unlock", action="store_true", help="let the running gate use the accounts")
    parser.add_argument("--key", metavar="NAME", help="the key to unlock with")
    parser.add_argument(
        "--manifests",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="compare with the connectors in this folder; default: what is installed",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 1 if an account cannot be used or could not be unlocked."""
    protect_process()
    here = paths()
    stores = SecretStores(here.data)
    bindings = bindings_here()
    unlocked = _unlock(options, stores) if options.unlock else ""
    able = vault_keys(stores, here.keys)
    rows = listed_bindings(bindings, connectors_here(options.manifests), stores, able)
    bad = bool(bindings.invalid) or any(row.state.name not in _GOOD for row in rows)
    if options.json:
        unlock: JsonObject = {"unlocked": not unlocked} if options.unlock else {}
        print_json({"bindings": [_fields(row) for row in rows], "invalid": [*bindings.invalid], **unlock})
    else:
        for row in rows:
            print_lines(*_lines(row))
        if not rows:
            print_lines("no connector has an account yet", "  Bind one with `aileron-tui bind CONNECTOR`.")
        print_lines(*(f"! ignored {inline(line)}" for line in bindings.invalid))
    if unlocked:
        write(sys.stderr, f"error: the accounts were not unlocked: {inline(unlocked)}")
    return FAILED if bad or unlocked else OK


def _unlock(options: argparse.Namespace, stores: SecretStores) -> str:
    """Unlocks the encrypted file here and in the running gate. Returns why the gate could not be unlocked, or ""."""
    from aileron_tui.surface.account_unlocking import gate_accounts, unlock_gate  # noqa: PLC0415  # loads an HTTP client

    if not stores.vault.exists:
        return "no secret is in the encrypted file, so there is nothing to unlock"
    name = able_key(stores, paths().keys, options.key).name
    with source_options.unlocked_key(name) as key:
        stores.vault.unlock(stores.vault.open_with(key))
        if not gate_accounts():
            return "no gate is running here"
        why = unlock_gate(key, stores)
    if not why and not options.json:
        print_lines("the gate can use the accounts until it stops", "")
    return why


def _fields(row: ListedBinding) -> JsonObject:
    known, state = row.known, row.state
    about: JsonObject = {
        "approved": known.approved,
        "approved_by": known.approved_by,
        "state": state.name,
        "why": state.why,
        "fix": state.fix,
        "insecure": bool(row.insecure),
    }
    return known.binding.fields() | about


def _lines(row: ListedBinding) -> Iterator[str]:
    binding, state = row.known.binding, row.state
    yield f"{inline(binding.connector)}  {inline(binding.account)}"
    yield f"  {'  ' if state.name in _GOOD else '! '}{state.name}{f': {inline(state.why)}' if state.why else ''}"
    if state.fix:
        yield f"    {inline(state.fix)}"
    kept = "the encrypted file" if binding.store == FILE else "the keyring of this system"
    scopes = f": {', '.join(inline(scope) for scope in binding.scopes)}" if binding.scopes else ""
    yield f"    {inline(binding.kind)}{scopes}"
    yield f"    in {kept}"
    when = f"{row.known.approved[:16].replace('T', ' ')} UTC"
    yield f"    approved {when} by the key {inline(row.known.approved_by)}"
    if row.known.revoked:
        yield f"  ! that key was revoked on {row.known.revoked[:10]}; bind the account again if you do not trust it"
    if row.insecure:
        yield f"  ! the key {inline(row.insecure)} is {INSECURE}, so the secret is as good as not encrypted"
