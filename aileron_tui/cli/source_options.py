"""The options of the commands that answer, and opening the sources they name."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aileron_tui.cli.output import print_error
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.errors import NoKey
from aileron_tui.signing.secret_memory import protect_process, wipe
from aileron_tui.signing.terminal_input import ask_passphrase
from aileron_tui.surface.source_choice import SourceChoice, SourceOptions, choose_sources
from aileron_tui.surface.source_connection import OpenSources, connection


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--url", default="", help="the daemon or gate to connect to")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="a file with the daemon's token")
    parser.add_argument("--source", metavar="NAME", default="", help="use only this configured source")
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")


@contextmanager
def open_sources(options: argparse.Namespace) -> Iterator[OpenSources]:
    """The sources, with an unlocked key. A passphrase is asked for on the terminal."""
    with opened(options, *chosen_sources(options)) as sources:
        yield sources


def chosen_sources(options: argparse.Namespace) -> tuple[Config, list[SourceChoice]]:
    """The sources that the options name, and the configuration."""
    config = load_config(paths().config)
    return config, _named(choose_sources(config, SourceOptions(options.url, options.token_file)), options.source)


@contextmanager
def opened(options: argparse.Namespace, config: Config, choices: list[SourceChoice]) -> Iterator[OpenSources]:
    """These sources, with an unlocked key."""
    protect_process()
    print_notes(choices)
    for choice in choices:
        if choice.kind == "embedded":
            choice.find()  # no gate is running: fails before the passphrase is asked for
    with unlocked_key(options.key) as key:
        connections = {choice.name: connection(choice, config, surface="cli") for choice in choices}
        sources = OpenSources(connections, key, print_error)
        try:
            yield sources
        finally:
            sources.close()


def print_notes(choices: Iterable[SourceChoice]) -> None:
    """Says what was skipped before these sources were chosen."""
    for choice in choices:
        if choice.note:
            sys.stderr.write(f"note: {inline(choice.note)}\n")


def needs_key(options: argparse.Namespace, choices: Iterable[SourceChoice]) -> bool:
    """Whether a command that only reads should use a key.

    It does if that needs no passphrase, or a key was named, so that previews are shown too; and for a gate on another
    machine, which has no socket for viewers here.
    """
    return has_open_key(options.key) or not all(map(_can_be_viewed, choices))


def _can_be_viewed(choice: SourceChoice) -> bool:
    if choice.kind == "daemon" or choice.kind == "opencode":  # noqa: PLR1714  # a type checker follows only this
        return True
    try:
        return choice.find().socket is not None
    except AileronError:
        return True  # reported when it is used; a passphrase would not help


def _named(choices: list[SourceChoice], name: str) -> list[SourceChoice]:
    found = [choice for choice in choices if not name or choice.name == name]
    if not found:
        names = ", ".join(choice.name for choice in choices if choice.name)
        hint = f"The configured sources are: {names}." if names else "No sources are configured; omit --source."
        raise AileronError(f'no source named "{name}"', hint=hint)
    return found


def has_open_key(name: str | None) -> bool:
    """Whether there is a key that can be used without a passphrase, or one was named."""
    try:
        return name is not None or key_store.choose(paths().keys, None).insecure
    except NoKey:
        return False


@contextmanager
def unlocked_key(name: str | None) -> Iterator[key_store.UnlockedKey]:
    """The key with this name, or the only one, until the block ends. Its passphrase is asked for on the terminal."""
    folder = paths().keys
    stored = key_store.choose(folder, name)
    passphrase = None
    if stored.insecure:
        sys.stderr.write(f"warning: the key {inline(stored.name)} is {key_store.INSECURE}\n")
    else:
        passphrase = ask_passphrase(f"Passphrase of {stored.name}")
    try:
        key = key_store.unlock(folder, stored.name, passphrase)
    finally:
        if passphrase is not None:
            wipe(passphrase)
    with key:
        yield key
