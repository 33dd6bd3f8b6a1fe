"""Let a connector use an account. Shows what for and where the secret goes, and asks first.

Secrets are asked for on the terminal, or come from signing in at the provider.
"""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.accounts.secret_store import SecretStores
from aileron_tui.cli import account_input, binding_text, consent_question, source_options
from aileron_tui.cli.binding_text import ProposedBinding
from aileron_tui.cli.bindings_here import bindings_here, connectors_here
from aileron_tui.cli.connector_choice import NoConnector, choose_connector
from aileron_tui.cli.exit_codes import DENIED, NOT_FOUND, OK
from aileron_tui.cli.output import print_error, print_json, print_lines, write
from aileron_tui.cli.secret_place import choose_place, opened_place
from aileron_tui.cli.security_key_prompt import touch
from aileron_tui.core.binding_change import DEFAULT_ACCOUNT, is_account_name
from aileron_tui.core.connector import PLACEHOLDER, Credential
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.packages.connectors_in_use import ConnectorInUse
from aileron_tui.signing import key_store
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface import binding_changes
from aileron_tui.surface.account_unlocking import unlock_gate
from aileron_tui.surface.local_ledgers import gate_ledger


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("connector", metavar="CONNECTOR", help="the connector, by its name or a unique part of it")
    about = f"a name of your choice for the account, such as work; default: {DEFAULT_ACCOUNT}"
    parser.add_argument("--account", metavar="NAME", default=DEFAULT_ACCOUNT, help=about)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--paste", action="store_true", help="sign in with a browser on another machine, and paste")
    how.add_argument("--device", action="store_true", help="sign in by typing a code on another device")
    parser.add_argument(
        "--manifests",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="use the connectors in this folder, as `gate --manifests` does; default: what is installed",
    )
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
    parser.add_argument("--json", action="store_true", help="print JSON when it is done")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if it is bound, 1 on failure, 3 if it was declined, 5 if there is no such connector."""
    consent_question.check_terminal()
    protect_process()
    here = paths()
    connectors = connectors_here(options.manifests)
    able = [name for name, used in connectors.items() if used.connector.credential]
    try:
        used = connectors[choose_connector(options.connector, able, "connectors with an account")]
    except NoConnector as error:
        print_error(_explained(error, options.connector, list(connectors)))
        return NOT_FOUND
    if not is_account_name(options.account):
        hint = "Use up to 64 letters, digits, dots, dashes, underscores, @ and +, and begin with a letter or digit."
        raise AileronError("invalid account name", repr(options.account), hint)
    policy = load_config(here.config).policy
    if policy.high_risk != SECURITY_KEY:
        key_store.choose(here.keys, options.key)  # without a key, nobody needs to read all of it
    stores = SecretStores(private_folder(here.data))
    proposed = _proposed(options, used, stores)
    approved = consent_question.consented(
        "Consent required: an account",
        lambda width: binding_text.consent_rows(proposed, width),
        lambda width: binding_text.view_rows(proposed, width),
        used.connector.name if policy.high_risk == "type" else "",
    )
    binding, ledger = proposed.binding, gate_ledger()
    if not approved:
        binding_changes.record_declined(ledger, binding.connector, binding.account, binding.kind)
        print_lines("declined; nothing was changed")
        return DENIED
    left = _bind(options, proposed, stores, ledger, by_touch=policy.high_risk == SECURITY_KEY)
    _report(options, proposed, left)
    return OK


def _explained(error: NoConnector, text: str, names: list[str]) -> AileronError:
    """The same error, or a better one if there is such a connector but it uses no account."""
    try:
        found = choose_connector(text, names, "connectors")
    except NoConnector:
        return error
    return AileronError(f"{found} uses no account", "its manifest asks for no credential")


def _proposed(options: argparse.Namespace, used: ConnectorInUse, stores: SecretStores) -> ProposedBinding:
    """What is to be bound. The names of an AWS account are asked for, because they are part of it."""
    credential = used.connector.credential
    if credential is None:
        raise AileronError(f"{used.connector.name} uses no account")
    _check_client(credential, used.connector.name)
    place = choose_place(stores, paths().keys, options.key)
    region = access_key = ""
    if credential.kind == "aws_sigv4":
        region, access_key = account_input.ask_aws_names(credential)
    known = bindings_here().get((used.connector.name, options.account))
    binding = binding_changes.new_binding(
        used,
        options.account,
        place.store,
        region=region,
        access_key_id=access_key,
        replaces=known.binding.id if known else "",
    )
    return ProposedBinding(binding, used, place, known)


def _check_client(credential: Credential, name: str) -> None:
    if credential.oauth2 and credential.oauth2.client_id == PLACEHOLDER:
        hint = "Install a release of the connector. In its sources, the client is filled in later."
        raise AileronError(f"{name} has no OAuth client yet", f"its client_id is {PLACEHOLDER}", hint)


def _bind(
    options: argparse.Namespace, proposed: ProposedBinding, stores: SecretStores, ledger: Path, *, by_touch: bool
) -> list[str]:
    """Unlocks what is needed, gets the secret, and records the binding. Returns what could not be removed."""
    with ExitStack() as stack:
        opener = stack.enter_context(opened_place(proposed.place, stores))
        if by_touch:
            document = _secret(options, proposed)
            change = binding_changes.statement(ledger, binding_changes.making(proposed.binding))
            left = binding_changes.bind(ledger, stores, proposed.binding, document, (change, touch(change).envelope))
        else:
            key = opener or stack.enter_context(source_options.unlocked_key(options.key))
            binding_changes.check_key(ledger, key)
            left = binding_changes.bind(ledger, stores, proposed.binding, _secret(options, proposed), key)
        if opener and (why := unlock_gate(opener, stores)):
            write(sys.stderr, f"note: the gate could not be unlocked: {inline(why)}")
        return left


def _secret(options: argparse.Namespace, proposed: ProposedBinding) -> SecretDocument:
    binding, credential = proposed.binding, proposed.used.connector.credential
    if credential and credential.oauth2:
        from aileron_tui.accounts.sign_in import How, sign_in  # noqa: PLC0415  # loads an HTTP client
        from aileron_tui.cli.page_opening import has_browser, sign_in_opener  # noqa: PLC0415

        if not (options.paste or options.device or has_browser()):
            write(sys.stderr, "There is no browser here, so the address has to be pasted.")
            options.paste = True
        how: How = "paste" if options.paste else "device" if options.device else "browser"
        ui = account_input.TerminalSignIn()
        with sign_in_opener() as opener:
            return SecretDocument(sign_in(credential.oauth2, binding.scopes, how, ui, open_browser=opener))
    if options.paste or options.device:
        write(sys.stderr, f"note: this is an account of the kind {binding.kind}, so nobody signs in with a browser")
    if binding.kind == "aws_sigv4":
        return account_input.ask_aws_secret(binding.access_key_id, binding.region)
    return account_input.ask_api_key()


def _report(options: argparse.Namespace, proposed: ProposedBinding, left: list[str]) -> None:
    binding = proposed.binding
    if options.json:
        print_json({"binding": binding.fields(), "not_removed": [*left]})
        return
    print_lines(f"bound {inline(binding.connector)} to the account {inline(binding.account)}")
    for why in left:
        print_lines(f"! an old secret could not be removed: {inline(why)}")
    print_lines("  A gate that is running uses this within a few seconds.")
