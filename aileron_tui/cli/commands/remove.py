"""Remove installed packages. Their waiting requests are withdrawn."""

import argparse
import sys

from aileron_tui.cli import consent_question, package_consent, source_options
from aileron_tui.cli.exit_codes import DENIED, NOT_FOUND, OK
from aileron_tui.cli.output import counted, print_error, print_json, print_lines, write
from aileron_tui.cli.security_key_prompt import touch
from aileron_tui.core.package_change import PackageRef
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.packages.installed import InstalledPackages
from aileron_tui.signing.errors import NoPackage
from aileron_tui.signing.packages import KnownPackage, Packages
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.signing.terminal_input import ask_line
from aileron_tui.surface import package_changes
from aileron_tui.surface.local_ledgers import gate_ledger


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("names", metavar="NAME", nargs="+", help="the package; `aileron-tui installed` lists them")
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if they were removed, 1 on failure, 3 if you said no, 5 if there is no such package."""
    consent_question.check_terminal()
    protect_process()
    known = package_consent.installed()
    packages = Packages()
    packages.update({package.known.grant.name: package.known for package in known.packages})
    try:
        found = {each.grant.name: each for each in map(packages.named, options.names)}
    except NoPackage as error:
        print_error(error)
        return NOT_FOUND
    _show(list(found.values()), known)
    if ask_line("Remove? [y/N]").lower() not in ("y", "yes"):
        print_lines("nothing was removed")
        return DENIED
    references = [PackageRef(each.grant.name, each.grant.version, each.grant.hash) for each in found.values()]
    _remove(references, options.key)
    if options.json:
        print_json({"removed": [reference.fields() for reference in references]})
    else:
        print_lines(*(f"removed {inline(reference.name)}" for reference in references))
    return OK


def _remove(references: list[PackageRef], key_name: str | None) -> None:
    ledger = gate_ledger()
    if load_config(paths().config).policy.high_risk == SECURITY_KEY:
        change = package_changes.statement(ledger, package_changes.removing(references))
        package_changes.remove(ledger, references, (change, touch(change).envelope))
        return
    with source_options.unlocked_key(key_name) as key:
        package_changes.remove(ledger, references, key)


def _show(found: list[KnownPackage], known: InstalledPackages) -> None:
    """Says what goes, and which other packages need it."""
    gone = {each.grant.name for each in found}
    connectors = {connector.name for each in found for connector in each.grant.connectors}
    for each in found:
        count = counted(len(each.grant.actions), "action")
        write(sys.stderr, f"Remove {inline(f'{each.grant.name} {each.grant.version}'.strip())}, with {count}")
    for package in known.packages:
        grant = package.known.grant
        if grant.name in gone:
            continue
        users = [
            action.name
            for action in grant.actions
            if any(op.partition(" ")[0] in connectors for op in action.ops)
            and not any(connector.name in connectors for connector in grant.connectors)
        ]
        if users:
            write(sys.stderr, f"! These actions stop working: {', '.join(inline(name) for name in users)}")
