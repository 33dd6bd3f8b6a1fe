"""Create and manage signing keys, and the keys that may approve on this gate."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.cli import confirmation, security_keys, source_options
from aileron_tui.cli.exit_codes import NOT_FOUND, OK
from aileron_tui.cli.output import print_json, write_error
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.errors import KeyFault, NoKey
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.public_key import PublicKey, read_ed25519
from aileron_tui.signing.secret_memory import protect_process, wipe
from aileron_tui.signing.security_key import SecurityKey
from aileron_tui.signing.terminal_input import ask_new_passphrase, ask_passphrase
from aileron_tui.surface.key_enrolment import (
    enroll_first,
    enroll_signed,
    read_approvers,
    revoke_signed,
    revoke_unsigned,
)
from aileron_tui.surface.operator_key import FIRST_KEY

_LARGEST_FILE: Final = 8192
_ONE_KEY: Final = "the key's name; required if there are several"
_SIGNER: Final = "the key that signs the change; required if there are several. The first key needs none"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    init = commands.add_parser("init", help="create a key and let it approve on this gate")
    init.add_argument("--name", default=FIRST_KEY, help=f"the key's name; default: {FIRST_KEY}")
    init.add_argument("--no-passphrase", action="store_true", help="do not encrypt the key (insecure)")
    init.add_argument("--key", metavar="NAME", help=_SIGNER)
    show = commands.add_parser("show", help="show a key")
    show.add_argument("name", metavar="NAME", nargs="?", help=_ONE_KEY)
    show.add_argument("--json", action="store_true", help="print JSON")
    listing = commands.add_parser("list", help="list the keys on this machine and the approvers of this gate")
    listing.add_argument("--json", action="store_true", help="print JSON")
    enroll = commands.add_parser("enroll", help="let a public key approve on this gate")
    enroll.add_argument("file", metavar="FILE", help="a file with the public key, or - for standard input")
    enroll.add_argument("--name", required=True, help="the key's name")
    enroll.add_argument("--key", metavar="NAME", help=_SIGNER)
    revoke = commands.add_parser("revoke", help="stop a key from approving on this gate")
    revoke.add_argument("name", metavar="NAME", help="the key's name or fingerprint")
    revoke.add_argument("--key", metavar="NAME", help=_SIGNER)
    security_key = commands.add_parser("security-key", help="add, list and remove security keys and passkeys")
    security_keys.arguments(security_key)
    passphrase = commands.add_parser("passphrase", help="change a key's passphrase")
    passphrase.add_argument("name", metavar="NAME", nargs="?", help=_ONE_KEY)


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 on failure, 5 if there is no such key."""
    protect_process()
    try:
        match options.command:
            case "init":
                _init(options.name, options.key, secure=not options.no_passphrase)
            case "show":
                _show(_chosen(options.name), as_json=options.json)
            case "list":
                _list(as_json=options.json)
            case "enroll":
                _enroll(options.file, options.name, options.key)
            case "revoke":
                _revoke(options.name, options.key)
            case "security-key":
                security_keys.run(options)
            case "passphrase":
                _passphrase(_chosen(options.name))
    except NoKey as error:
        write_error(error.title, error.hint)
        return NOT_FOUND
    return OK


def _init(name: str, signer: str | None, *, secure: bool) -> None:
    key_store.key_name(name)
    if any(approver.name == name for approver in read_approvers(paths().data).active):
        raise KeyFault(f"a key named {name} can already approve", hint="Choose another name with --name.")
    if key_store.exists(paths().keys, name):
        raise KeyFault(f"a key named {name} already exists", hint="Choose another name with --name.")
    with _signing_key(signer) as signing:
        passphrase = ask_new_passphrase(name) if secure else None
        try:
            created = key_store.create(paths().keys, name, passphrase)
        finally:
            if passphrase is not None:
                wipe(passphrase)
        _let_approve(name, created.public, signing, insecure=created.insecure)
    about = (created.public.fingerprint, f"in {created.path}", "may approve on this gate")
    _print(f"created key {name} ({created.protection})", *about)
    if created.insecure:
        warning = "anyone who can read the file can approve; protect it with `aileron-tui key passphrase`"
        sys.stderr.write(f"warning: {warning}\n")


def _show(key: key_store.StoredKey, *, as_json: bool) -> None:
    fields = _described(key.name, key, read_approvers(paths().data).get(key.public.fingerprint))
    if as_json:
        print_json(fields)
        return
    width = max(map(len, fields))
    for name, value in fields.items():
        sys.stdout.write(f"{name.replace('_', ' '):<{width}}  {inline(str(value))}\n")


def _list(*, as_json: bool) -> None:
    approvers = read_approvers(paths().data)
    mine = key_store.stored(paths().keys)
    rows = [_described(key.name, key, approvers.get(key.public.fingerprint)) for key in mine]
    local = {key.public for key in mine}
    rows += [_described(other.name, None, other) for other in approvers.values() if other.public not in local]
    if as_json:
        print_json({"keys": list(rows)})
    elif not rows:
        _print("no keys yet; create one with `aileron-tui key init`")
    for row in () if as_json else rows:
        sys.stdout.write(f"{inline(str(row['name']))}  {inline(str(row['fingerprint']))}\n")
        sys.stdout.write(f"  {inline(str(row['protection']))} · {inline(str(row['enrolled']))}\n")


def _enroll(file: str, name: str, signer: str | None) -> None:
    public = read_ed25519(_read_text(file))
    read_approvers(paths().data).check_new(key_store.key_name(name), public)
    with _signing_key(signer) as signing:
        _let_approve(name, public, signing)
    _print(f"{name} may approve on this gate", public.fingerprint)


def _revoke(name: str, signer: str | None) -> None:
    approver = read_approvers(paths().data).named(name)
    with _signing_key(signer) as signing:
        if signing:
            revoke_signed(paths().data, name, signing)
        else:
            revoke_unsigned(paths().data, name)
    _print(f"{inline(approver.name)} may no longer approve on this gate", approver.public.fingerprint)


def _let_approve(name: str, public: PublicKey, signing: UnlockedKey | None, *, insecure: bool = False) -> None:
    if signing:
        enroll_signed(paths().data, name, public, signing, insecure=insecure)
    else:
        enroll_first(paths().data, name, public, insecure=insecure)


@contextmanager
def _signing_key(name: str | None) -> Iterator[UnlockedKey | None]:
    """The key that signs a change of keys, until the block ends; None if nobody can have signed it yet."""
    approvers = read_approvers(paths().data)
    if not approvers.need_signature:
        yield None
        return
    confirmation.check_terminal(load_config(paths().config).policy, "changing keys")
    able = {approver.public.fingerprint for approver in approvers.active}
    if not any(stored.public.fingerprint in able for stored in key_store.stored(paths().keys)):
        names = ", ".join(approver.name for approver in approvers.active)
        hint = f"If it is lost, start again with a new ledger: move {paths().data} away."
        raise KeyFault("only a key that may approve can change keys", f"{names}: not on this machine", hint)
    with source_options.unlocked_key(name) as signing:
        yield signing


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
    _print(f"changed the passphrase of {key.name}")


def _chosen(name: str | None) -> key_store.StoredKey:
    return key_store.choose(paths().keys, name, "by its name")


def _described(name: str, key: key_store.StoredKey | None, approver: Approver | None) -> JsonObject:
    public = key.public if key else approver.public if approver else None
    if public is None:
        raise NoKey(f"no key named {name}")
    protection = key.protection if key else "not on this machine"
    if isinstance(public, SecurityKey) and approver:
        protection = f"security key, {security_keys.copies(approver)}"
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
        return f"revoked on this gate ({approver.revoked})"
    return f"may approve on this gate (since {approver.enrolled})"


def _read_text(file: str) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(_LARGEST_FILE)
        else:
            with Path(file).open("rb") as source:
                data = source.read(_LARGEST_FILE)
        return data.decode("ascii")
    except OSError as error:
        raise KeyFault("cannot read the public key", f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KeyFault("not a public key", file) from None


def _print(first: str, *more: str) -> None:
    sys.stdout.write("".join([f"{inline(first)}\n", *(f"  {inline(line)}\n" for line in more)]))
