"""Signing keys: make one, see them, let a public key approve on this gate, end that, change a passphrase."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.cli import OK
from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import paths
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.store import Ledger, open_ledger, open_reader
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.errors import KeyFault, NoKey
from aileron_tui.signing.public_key import read_public
from aileron_tui.signing.secret_memory import protect_process, wipe
from aileron_tui.signing.terminal_input import ask_new_passphrase, ask_passphrase

NOT_FOUND: Final = 5

_DEFAULT: Final = "default"
_LARGEST: Final = 8192


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    init = commands.add_parser("init", help="make a key; it may approve on the gate of this home")
    init.add_argument("--name", default=_DEFAULT, help=f"a name for it ({_DEFAULT})")
    init.add_argument("--no-passphrase", action="store_true", help="leave it unencrypted: insecure")
    show = commands.add_parser("show", help="name, fingerprint, public key, protection, where enrolled")
    show.add_argument("name", nargs="?", help="which key; may be left out if there is only one")
    show.add_argument("--json", action="store_true", help="as one JSON document")
    listing = commands.add_parser("list", help="keys of this machine and keys that may approve here")
    listing.add_argument("--json", action="store_true", help="as one JSON document")
    enroll = commands.add_parser("enroll", help="let a public key approve on this gate")
    enroll.add_argument("file", metavar="FILE", help="its public key, or - for standard input")
    enroll.add_argument("--name", required=True, help="a name for it")
    revoke = commands.add_parser("revoke", help="end a key's right to approve here, at once")
    revoke.add_argument("name", help="its name or fingerprint")
    passphrase = commands.add_parser("passphrase", help="change a key's passphrase")
    passphrase.add_argument("name", nargs="?", help="which key; may be left out if there is only one")


def run(options: argparse.Namespace) -> int:
    """0 if done, 1 if it failed, 5 if there is no such key."""
    protect_process()
    try:
        match options.command:
            case "init":
                _init(options.name, secure=not options.no_passphrase)
            case "show":
                _show(_chosen(options.name), as_json=options.json)
            case "list":
                _list(as_json=options.json)
            case "enroll":
                _enroll(options.file, options.name)
            case "revoke":
                _revoke(options.name)
            case "passphrase":
                _passphrase(_chosen(options.name))
    except NoKey as error:
        sys.stderr.write(f"error: {inline(error.title)}\n  {inline(error.hint)}\n")
        return NOT_FOUND
    return OK


def _init(name: str, *, secure: bool) -> None:
    key_store.key_name(name)
    with _gate() as (ledger, approvers):
        if any(approver.name == name for approver in approvers.active):
            raise KeyFault(f"a key named {name} may approve already", hint="Choose another name with --name.")
        if key_store.exists(paths().keys, name):
            raise KeyFault(f"there is already a key named {name}", hint="Choose another name with --name.")
        passphrase = ask_new_passphrase(name) if secure else None
        try:
            made = key_store.create(paths().keys, name, passphrase)
        finally:
            if passphrase is not None:
                wipe(passphrase)
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment(name, made.public, insecure=made.insecure))
    about = (made.public.fingerprint, f"in {made.path}", "it may approve on this gate")
    _say(f"made key {name} ({made.protection})", *about)
    if made.insecure:
        _warn("whoever can read the file can approve. `aileron-tui key passphrase` protects it.")


def _show(key: key_store.StoredKey, *, as_json: bool) -> None:
    fields = _described(key.name, key, _enrolled().get(key.public.fingerprint))
    if as_json:
        _print_json(fields)
        return
    width = max(map(len, fields))
    for name, value in fields.items():
        sys.stdout.write(f"{name.replace('_', ' '):<{width}}  {inline(str(value))}\n")


def _list(*, as_json: bool) -> None:
    approvers = _enrolled()
    mine = key_store.stored(paths().keys)
    rows = [_described(key.name, key, approvers.get(key.public.fingerprint)) for key in mine]
    known = {key.public for key in mine}
    rows += [_described(other.name, None, other) for other in approvers.values() if other.public not in known]
    if as_json:
        _print_json({"keys": list(rows)})
    elif not rows:
        _say("no keys yet; `aileron-tui key init` makes one")
    for row in () if as_json else rows:
        sys.stdout.write(f"{inline(str(row['name']))}  {inline(str(row['fingerprint']))}\n")
        sys.stdout.write(f"  {inline(str(row['protection']))} · {inline(str(row['enrolled']))}\n")


def _enroll(file: str, name: str) -> None:
    public = read_public(_read_text(file))
    with _gate() as (ledger, approvers):
        ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment(name, public))
    _say(f"{name} may approve on this gate", public.fingerprint)


def _revoke(name: str) -> None:
    with _gate() as (ledger, approvers):
        approver = approvers.named(name)
        ledger.append(EntryKind.KEY_REVOKED, approvers.revocation(name))
    _say(f"{inline(approver.name)} may no longer approve on this gate", approver.public.fingerprint)


def _passphrase(key: key_store.StoredKey) -> None:
    old = None if key.insecure else ask_passphrase(f"Passphrase of {key.name}")
    try:
        key_store.unlock(paths().keys, key.name, old).lock()
        new = ask_new_passphrase(key.name)
        try:
            key_store.change_passphrase(paths().keys, key.name, old, new)
        finally:
            wipe(new)
    finally:
        if old is not None:
            wipe(old)
    _say(f"{key.name} has a new passphrase")


@contextmanager
def _gate() -> Iterator[tuple[Ledger, Approvers]]:
    """The ledger of this home, for a key change beside whoever else writes it, and who may approve now."""
    path = paths().data / FILE
    with open_ledger(path, role="key", guest=True) as ledger, open_reader(path) as reader:
        yield ledger, Approvers.of(reader.key_changes())


def _enrolled() -> Approvers:
    path = paths().data / FILE
    if not path.exists():
        return Approvers()
    with open_reader(path) as reader:
        return Approvers.of(reader.key_changes())


def _chosen(name: str | None) -> key_store.StoredKey:
    return key_store.choose(paths().keys, name, "by its name")


def _described(name: str, key: key_store.StoredKey | None, approver: Approver | None) -> JsonObject:
    public = key.public if key else approver.public if approver else None
    if public is None:
        raise NoKey(f"there is no key named {name}")
    protection = key.protection if key else "not on this machine"
    if key is None and approver and approver.insecure:
        protection = key_store.INSECURE
    return {
        "name": name,
        "fingerprint": public.fingerprint,
        "public_key": public.line(name),
        "protection": protection,
        "enrolled": _enrolment(approver),
        "gate": str(paths().data),
        "file": str(key.path) if key else "",
    }


def _enrolment(approver: Approver | None) -> str:
    if approver is None:
        return "may not approve on this gate"
    if approver.revoked:
        return f"revoked on this gate since {approver.revoked}"
    return f"may approve on this gate since {approver.enrolled}"


def _read_text(file: str) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(_LARGEST)
        else:
            with Path(file).open("rb") as source:
                data = source.read(_LARGEST)
        return data.decode("ascii")
    except OSError as error:
        raise KeyFault("cannot read the public key", f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KeyFault("not a public key", file) from None


def _print_json(fields: JsonObject) -> None:
    sys.stdout.write(json.dumps(fields, indent=2) + "\n")


def _say(first: str, *more: str) -> None:
    sys.stdout.write("".join([f"{inline(first)}\n", *(f"  {inline(line)}\n" for line in more)]))


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")
