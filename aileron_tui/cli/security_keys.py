"""`key security-key`: adds, lists and removes security keys and passkeys that may approve on this gate."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from aileron_tui.cli import confirmation, source_options
from aileron_tui.cli.output import print_json, print_lines, write
from aileron_tui.cli.page_opening import CODE_SECONDS, has_browser, open_in_browser
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing.approvers import Approver
from aileron_tui.signing.errors import KeyFault
from aileron_tui.signing.key_store import UnlockedKey, key_name
from aileron_tui.signing.security_key import SecurityKey
from aileron_tui.signing.terminal_input import ask_line
from aileron_tui.surface.key_enrolment import enroll_signed, read_approvers, revoke_signed

if TYPE_CHECKING:
    from aileron_tui.surface.security_key_registration import RegisteredKey

_KEY: Final = "the key to sign with; required if there are several"
_COMPARE: Final = "  The page in your browser must show the same fingerprint."
_CLOSING_SECONDS: Final = 2.0
_NONE_LEFT: Final = 'high_risk is "key", so nothing at high risk can be approved until you add one'


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    commands = parser.add_subparsers(dest="security_key_command", required=True, metavar="COMMAND")
    add = commands.add_parser("add", help="let a security key or passkey approve on this gate")
    add.add_argument("--name", required=True, help="the key's name")
    add.add_argument("--page", action="store_true", help="register a passkey in the browser instead of a USB key")
    add.add_argument("--key", metavar="NAME", help=_KEY)
    listing = commands.add_parser("list", help="list the security keys and passkeys that may approve on this gate")
    listing.add_argument("--json", action="store_true", help="print JSON")
    remove = commands.add_parser("remove", help="stop a security key or passkey from approving on this gate")
    remove.add_argument("name", metavar="NAME", help="the key's name or fingerprint")
    remove.add_argument("--key", metavar="NAME", help=_KEY)


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    match options.security_key_command:
        case "add":
            _add(options)
        case "list":
            _list(as_json=options.json)
        case "remove":
            _remove(options)


def _add(options: argparse.Namespace) -> None:
    name = key_name(options.name)
    confirmation.check_terminal(load_config(paths().config).policy, "adding a security key")
    approvers = read_approvers(paths().data)
    if any(approver.name == name for approver in approvers.active):
        raise KeyFault(f"another key named {name} is already enrolled", hint="Choose another name with --name.")
    with source_options.unlocked_key(options.key) as key:
        if options.page:
            registered = _registered_on_page(name, key)
        else:
            registered = _registered_by_usb(name, approvers.security_keys)
        enroll_signed(
            paths().data,
            name,
            registered.public,
            key,
            backup_eligible=registered.backup_eligible,
            added_on="page" if options.page else "usb",
        )
    print_lines(f"{name} may approve on this gate", f"  {registered.public.fingerprint}", f"  {copies(registered)}")


def _registered_by_usb(name: str, known: tuple[Approver, ...]) -> "RegisteredKey":
    from aileron_tui.cli.security_key_prompt import TerminalTouch  # noqa: PLC0415  # only here
    from aileron_tui.surface.security_key_registration import registered  # noqa: PLC0415

    return registered(name, known, TerminalTouch())


def _registered_on_page(name: str, key: UnlockedKey) -> "RegisteredKey":
    """What was registered in the browser, if the person confirms that it is theirs.

    The page stays open meanwhile. If somebody else has used its code, the gate notices when the browser uses it, so
    the gate is asked again after the answer.
    """
    from aileron_tui.runtime.gate_discovery import discover_here  # noqa: PLC0415  # only here
    from aileron_tui.runtime.page_client import PageClient  # noqa: PLC0415
    from aileron_tui.surface.security_key_registration import RegisteredKey  # noqa: PLC0415

    with PageClient(discover_here(), key) as client:
        code = client.page_code(name)
        found = None
        with _opened(code.url):
            while found is None:
                found = client.registered_passkey(code.enrolment)
            registered = RegisteredKey(found.public, found.backup_eligible)
            write(sys.stderr, f"Registered {found.public.fingerprint}", f"  {copies(registered)}", _COMPARE)
            if ask_line(f"Let it approve as {name}? [y/N]").lower() not in ("y", "yes"):
                raise confirmation.NotDecided("nothing was added")
        if client.registered_passkey(code.enrolment) != found:
            raise KeyFault("the gate has another passkey now", hint="Nothing was added. Try again.")
    return registered


@contextmanager
def _opened(url: str) -> Iterator[None]:
    """Opens the page in the browser until the block ends, or prints its address if there is no browser."""
    if not has_browser():
        ask = f"Open this address in a browser on this machine within {CODE_SECONDS} seconds. It works once."
        write(sys.stderr, ask, f"  {inline(url)}")
        yield
        return
    write(sys.stderr, f"Opening {inline(url.partition('#')[0])} in your browser. Press ctrl+c to cancel.")
    done = Event()
    browser = Thread(target=open_in_browser, args=(url,), kwargs={"wait": done.wait}, daemon=True)
    browser.start()
    try:
        yield
    finally:
        done.set()
        browser.join(_CLOSING_SECONDS)  # removes its file


def _list(*, as_json: bool) -> None:
    found = read_approvers(paths().data).security_keys
    if as_json:
        print_json({"security_keys": [_fields(approver) for approver in found]})
        return
    if not found:
        print_lines("no security keys yet; add one with `aileron-tui key security-key add`")
    for approver in found:
        added = "in the browser" if approver.added_on == "page" else "over USB"
        print_lines(
            f"{inline(approver.name)}  {approver.public.fingerprint}",
            f"  added {added} at {approver.enrolled} · {copies(approver)}",
        )


def _remove(options: argparse.Namespace) -> None:
    policy = load_config(paths().config).policy
    confirmation.check_terminal(policy, "removing a security key")
    approvers = read_approvers(paths().data)
    removed = approvers.named(options.name)
    if not isinstance(removed.public, SecurityKey):
        raise KeyFault(f"{removed.name} is not a security key", hint=f"Run `aileron-tui key revoke {removed.name}`.")
    with source_options.unlocked_key(options.key) as key:
        revoke_signed(paths().data, removed.public.fingerprint, key)
    print_lines(f"{inline(removed.name)} may no longer approve on this gate", f"  {removed.public.fingerprint}")
    if policy.high_risk == SECURITY_KEY and len(approvers.security_keys) == 1:
        sys.stderr.write(f"warning: {_NONE_LEFT}\n")


def _fields(approver: Approver) -> JsonObject:
    return {
        "name": approver.name,
        "fingerprint": approver.public.fingerprint,
        "public_key": approver.public.line(approver.name),
        "added_on": approver.added_on,
        "backup_eligible": approver.backup_eligible,
        "enrolled": approver.enrolled,
    }


def copies(key: "Approver | RegisteredKey") -> str:
    """Whether a key may be copied to other devices, in words."""
    return "may be copied to other devices of its owner" if key.backup_eligible else "cannot be copied to other devices"
