"""Update installed packages from where they came from, or from another source. Shows what is new first."""

import argparse

from aileron_tui.cli import consent_question, package_consent
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK
from aileron_tui.cli.output import print_error, print_lines
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.packages.installed import InstalledPackages
from aileron_tui.packages.offer import PackageOffer
from aileron_tui.signing.errors import NoPackage
from aileron_tui.signing.packages import KnownPackage, Packages
from aileron_tui.signing.secret_memory import protect_process


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help="the package; default: all")
    words = "where the new version is; default: where the package was added from"
    parser.add_argument("source", metavar="SOURCE", nargs="?", default="", help=words)
    package_consent.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0 if everything is up to date, 1 on failure, 3 if it was declined, 5 if there is no such package."""
    consent_question.check_terminal()
    protect_process()
    known = package_consent.installed()
    packages = Packages()
    packages.update({package.known.grant.name: package.known for package in known.packages})
    try:
        wanted = [packages.named(options.name)] if options.name else list(packages.values())
    except NoPackage as error:
        print_error(error)
        return NOT_FOUND
    if not wanted:
        print_lines("nothing is installed", "  Install something with `aileron-tui add SOURCE`.")
        return OK
    offers: list[tuple[str, PackageOffer]] = []
    for package in wanted:
        offer = _offer(package, options, known, alone=len(wanted) == 1)
        if offer is not None:
            offers.append((package.grant.name, offer))
    if not offers:
        return FAILED
    result = package_consent.ask_and_install(offers, known, options)
    return result or (FAILED if len(offers) < len(wanted) else OK)


def _offer(
    package: KnownPackage, options: argparse.Namespace, known: InstalledPackages, *, alone: bool
) -> PackageOffer | None:
    """What the source of a package offers now; None if it cannot be read and there are other packages to look at."""
    try:
        return package_consent.offered(options.source or package.grant.source, options, known)
    except AileronError as error:
        if alone:
            raise
        print_error(error)
        print_lines(f"  {inline(package.grant.name)} stays as it is.")
        return None
