"""Asks for the consent to packages and installs them: what `add` and `update` share."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from aileron_tui.cli import consent_question, consent_text, source_options
from aileron_tui.cli.exit_codes import DENIED, OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import counted, print_json, print_lines, write
from aileron_tui.cli.security_key_prompt import touch
from aileron_tui.core.jsontext import Json
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import SECURITY_KEY
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.packages.download import DownloadRules
from aileron_tui.packages.installed import InstalledPackages, installed_packages
from aileron_tui.packages.offer import OfferRules, PackageOffer, read_offer
from aileron_tui.packages.proposal import Proposal, propose
from aileron_tui.packages.store import PackageStore
from aileron_tui.sandbox.connector_package import load_keyring
from aileron_tui.signing import key_store
from aileron_tui.signing.packages import Packages
from aileron_tui.surface import package_changes
from aileron_tui.surface.local_ledgers import gate_ledger

_MIB = 1024 * 1024


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of commands that install."""
    redirects = "allow a download to be redirected to another host, as releases on GitHub are"
    parser.add_argument("--follow-redirects", action="store_true", help=redirects)
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
    parser.add_argument("--json", action="store_true", help="print JSON when it is done")


def installed() -> InstalledPackages:
    """What is installed in this home."""
    with local_reader(gate_ledger(), indexed=True) as reader:
        return installed_packages(paths().data, Packages.of(reader) if reader else Packages())


def offered(source: str, options: argparse.Namespace, known: InstalledPackages) -> PackageOffer:
    """What a source offers; says what is being read."""
    present = {connector.hash for package in known.packages for connector in package.known.grant.connectors}
    write(sys.stderr, f"Reading {inline(source)}")
    progress = _Progress()
    try:
        return read_offer(source, OfferRules(DownloadRules(options.follow_redirects), progress, present))
    finally:
        progress.end()


class _Progress:
    """Shows how much was downloaded, on a terminal."""

    def __init__(self) -> None:
        self._said = -1

    def __call__(self, size: int, expected: int | None) -> None:
        if sys.stderr.isatty() and (tenths := size * 10 // _MIB) != self._said:
            self._said = tenths
            of = f" of {expected / _MIB:.1f}" if expected else ""
            sys.stderr.write(f"\r  {size / _MIB:.1f}{of} MiB")
            sys.stderr.flush()

    def end(self) -> None:
        """Ends the line."""
        if self._said >= 0:
            sys.stderr.write("\n")


def ask_and_install(
    offers: Sequence[tuple[str, PackageOffer]], known: InstalledPackages, options: argparse.Namespace
) -> int:
    """Asks about everything that is new in these offers, and installs it if it is approved."""
    here, ledger = paths(), gate_ledger()
    policy = load_config(here.config).policy
    proposals = propose(offers, known, load_keyring(here.keyring))
    new = [proposal for proposal in proposals if proposal.is_new]
    restored = _restore([proposal for proposal in proposals if not proposal.is_new], known, ledger)
    if not new:
        _report(options, proposals, ())
        for name in restored:
            print_lines(f"restored the files of {name}, which had been changed")
        return OK
    if policy.high_risk != SECURITY_KEY:
        key_store.choose(here.keys, options.key)  # without a key, nobody needs to read all of it
    private_folder(here.data)
    store = PackageStore(here.data)
    folders = [store.folder(proposal.grant.hash) for proposal in new]
    approved = consent_question.consented(
        f"Consent required: {counted(len(new), 'package')}",
        lambda width: consent_text.consent_rows(new, folders, width),
        lambda width: consent_text.view_rows(new, width),
        new[0].grant.name if policy.high_risk == "type" else "",
    )
    if not approved:
        package_changes.record_declined(ledger, [proposal.reference for proposal in new], new[0].grant.source)
        kept = [proposal for proposal in new if proposal.before]
        print_lines("declined; nothing was installed")
        for proposal in kept:
            print_lines(f"  {inline(proposal.grant.name)} stays as it is.")
        return DENIED
    if policy.high_risk == SECURITY_KEY:
        change = package_changes.statement(ledger, package_changes.adding(new))
        package_changes.install(ledger, new, (change, touch(change).envelope))
    else:
        with source_options.unlocked_key(options.key) as key:
            package_changes.install(ledger, new, key)
    _report(options, proposals, new)
    return OK


def _restore(same: Iterable[Proposal], known: InstalledPackages, ledger: Path) -> list[str]:
    """Writes the files again of packages that are damaged and offered with the bytes that were approved."""
    damaged = {package.known.grant.name for package in known.packages if package.content is None}
    broken = [proposal for proposal in same if proposal.grant.name in damaged]
    if broken:
        package_changes.restore(ledger, broken)
    return [proposal.grant.name for proposal in broken]


def _report(options: argparse.Namespace, proposals: Sequence[Proposal], new: Sequence[Proposal]) -> None:
    if options.json:
        items: list[Json] = [
            {**proposal.reference.fields(), "state": _state(proposal, new), "actions": [*_names(proposal)]}
            for proposal in proposals
        ]
        print_json({"packages": items})
        return
    for proposal in proposals:
        grant = proposal.grant
        print_lines(f"{_state(proposal, new)} {inline(f'{grant.name} {grant.version}'.strip())}")
        if proposal in new and grant.actions:
            print_lines(f"  {counted(len(grant.actions), 'action')}: {', '.join(inline(n) for n in _names(proposal))}")
    accounts = [connector.name for proposal in new for connector in proposal.grant.connectors if connector.credential]
    for name in accounts:
        print_lines(f"  {inline(name)} needs an account: run `aileron-tui bind {inline(name)}`.")
    if new:
        print_lines("  A gate that is running uses this within a few seconds.")


def _state(proposal: Proposal, new: Sequence[Proposal]) -> str:
    if proposal not in new:
        return "unchanged"
    return "updated" if proposal.before else "installed"


def _names(proposal: Proposal) -> list[str]:
    return [action.name for action in proposal.grant.actions]
