"""Install actions and connectors. Shows what they may do, and installs them only if you approve that."""

import argparse

from aileron_tui.cli import consent_question, package_consent
from aileron_tui.signing.secret_memory import protect_process


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    words = (
        "a folder, a release archive (aileron.tar.gz), a suite.toml, the https:// address of one of these, or a "
        "reference such as github://owner/repo@1.2.3"
    )
    parser.add_argument("sources", metavar="SOURCE", nargs="+", help=words)
    package_consent.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0 if it is installed, 1 on failure, 3 if it was declined."""
    consent_question.check_terminal()
    protect_process()
    known = package_consent.installed()
    offers = [("", package_consent.offered(source, options, known)) for source in options.sources]
    return package_consent.ask_and_install(offers, known, options)
