"""Set the pins of actions to the hash of the connector that they require, and sign and pack a release."""

import argparse
from pathlib import Path
from shlex import quote

from aileron_tui.cli.exit_codes import FAILED, OK, USAGE
from aileron_tui.cli.output import print_json, print_lines, write_error
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.packages.release import (
    SourceAction,
    SourceConnector,
    pack_release,
    private_key,
    read_actions,
    read_connectors,
    replace_file,
    sign_release,
)
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.signing.terminal_input import ask_passphrase


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a connector, a bundle or a repository")
    parser.add_argument("actions", metavar="ACTION", type=Path, nargs="*", help="the actions; default: those of FOLDER")
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if a pin is wrong")
    parser.add_argument("--sign", metavar="KEY.pem", type=Path, help="sign with the publisher's private key")
    parser.add_argument("--pack", metavar="DIR", type=Path, help="write the archives of the release to this folder")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if something cannot be pinned or --check found a wrong pin, 2 for usage."""
    if options.check and (options.sign or options.pack):
        write_error("--check changes nothing, so it cannot be used with --sign or --pack")
        return USAGE
    connectors = read_connectors(options.folder)
    actions = read_actions(options.folder, tuple(options.actions), connectors)
    written: list[Path] = []
    if not options.check:
        written = _write(options, connectors, actions)
    wrong = options.check and any(action.changed for action in actions)
    if options.json:
        print_json(_document(options, connectors, actions, written))
    else:
        _print(options, connectors, actions, written)
    return FAILED if wrong else OK


def _write(
    options: argparse.Namespace, connectors: tuple[SourceConnector, ...], actions: tuple[SourceAction, ...]
) -> list[Path]:
    """Writes pins, signatures and archives; returns the last two."""
    sign = None
    if options.sign:
        protect_process()
        sign = private_key(options.sign, lambda: ask_passphrase(f"Passphrase of {options.sign}")).sign
    for action in actions:
        if action.changed:
            replace_file(action.file, action.pinned)
    written = sign_release(connectors, actions, sign) if sign else []
    return written + (pack_release(options.pack, connectors, actions, sign) if options.pack else [])


def _print(
    options: argparse.Namespace,
    connectors: tuple[SourceConnector, ...],
    actions: tuple[SourceAction, ...],
    written: list[Path],
) -> None:
    for connector in connectors:
        print_lines(f"{inline(connector.connector.name)} {inline(connector.connector.version)}", f"  {connector.hash}")
    for action in actions:
        state = ("wrong pin" if options.check else "pinned") if action.changed else "right already"
        print_lines(f"{inline(str(action.file))}: {state}", *(f"  ! {inline(each)}" for each in action.warnings))
    print_lines(*(f"wrote {inline(str(path))}" for path in written))
    if options.check and any(action.changed for action in actions):
        print_lines(f"  Set the pins with `aileron-tui pin {quote(inline(str(options.folder)))}`.")


def _document(
    options: argparse.Namespace,
    connectors: tuple[SourceConnector, ...],
    actions: tuple[SourceAction, ...],
    written: list[Path],
) -> JsonObject:
    return {
        "connectors": [
            {"name": each.connector.name, "version": each.connector.version, "hash": each.hash} for each in connectors
        ],
        "actions": [
            {"file": str(each.file), "right": not each.changed or not options.check, "warnings": [*each.warnings]}
            for each in actions
        ],
        "written": [str(path) for path in written],
    }
