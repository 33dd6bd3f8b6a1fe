"""Stop a connector from using an account, and remove its secret from this machine."""

import argparse
import sys
from contextlib import ExitStack

from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli import consent_question, source_options
from aileron_tui.cli.bindings_here import bindings_here
from aileron_tui.cli.connector_choice import NoConnector, choose_connector
from aileron_tui.cli.exit_codes import DENIED, NOT_FOUND, OK
from aileron_tui.cli.output import print_error, print_json, print_lines, write
from aileron_tui.cli.security_key_prompt import touch
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing.bindings import KnownBinding
from aileron_tui.signing.errors import NoBinding
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.signing.terminal_input import ask_line
from aileron_tui.surface import binding_changes
from aileron_tui.surface.local_ledgers import gate_ledger


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("connector", metavar="CONNECTOR", help="the connector, by its name or a unique part of it")
    parser.add_argument("--account", metavar="NAME", help="the account; required if the connector has several")
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if it is unbound, 1 on failure, 3 if you said no, 5 if there is no such binding."""
    consent_question.check_terminal()
    protect_process()
    try:
        known = _chosen(options)
    except (NoBinding, NoConnector) as error:
        print_error(error)
        return NOT_FOUND
    binding = known.binding
    write(sys.stderr, f"{inline(binding.connector)} will no longer use the account {inline(binding.account)}.")
    write(sys.stderr, "Its secret is removed from this machine. To revoke it everywhere, use the provider's own page.")
    if ask_line("Unbind? [y/N]").lower() not in ("y", "yes"):
        print_lines("nothing was changed")
        return DENIED
    ledger, stores = gate_ledger(), SecretStores(paths().data)
    with ExitStack() as stack:
        if load_config(paths().config).policy.high_risk == SECURITY_KEY:
            change = binding_changes.statement(ledger, binding_changes.ending(binding))
            left = binding_changes.unbind(ledger, stores, binding, (change, touch(change).envelope))
        else:
            key = stack.enter_context(source_options.unlocked_key(options.key))
            left = binding_changes.unbind(ledger, stores, binding, key)
    if options.json:
        print_json({"unbound": binding.fields(), "not_removed": [*left]})
        return OK
    print_lines(f"unbound {inline(binding.connector)} from the account {inline(binding.account)}")
    for why in left:
        print_lines(f"! its secret could not be removed: {inline(why)}")
    if left:
        print_lines("  It counts no longer. The next `bind` or `unbind` tries to remove it again.")
    print_lines("  The provider still accepts the secret until you revoke it there.")
    return OK


def _chosen(options: argparse.Namespace) -> KnownBinding:
    bindings = bindings_here()
    name = choose_connector(options.connector, {place[0] for place in bindings}, "connectors with a bound account")
    found = bindings.of_connector(name)
    if options.account is not None:
        found = [known for known in found if known.binding.account == options.account]
    accounts = ", ".join(known.binding.account for known in bindings.of_connector(name))
    if not found:
        raise NoBinding(f"{name} has no account named {options.account}", f"its accounts: {accounts}")
    if len(found) > 1:
        raise NoBinding(f"{name} has several accounts", accounts, "Choose one with --account.")
    return found[0]
