"""Writes the service file of `gate --service`, and says how to use it."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from aileron_tui.cli.exit_codes import DENIED, FAILED, OK
from aileron_tui.cli.output import print_lines, write_error
from aileron_tui.cli.service_file import ServiceFile, service_file
from aileron_tui.core.proxy_settings import VARIABLES
from aileron_tui.core.visible_text import inline
from aileron_tui.files.certificate_trust import FILE_VARIABLE, FOLDER_VARIABLE
from aileron_tui.files.config import Config
from aileron_tui.gate.server import DEFAULT_HOST, DEFAULT_PORT
from aileron_tui.signing.terminal_input import ask_line


def run(options: argparse.Namespace, config: Config) -> int:
    """Returns 0 if the file is there now or was only shown, 3 if you kept another one, 1 if it cannot be written."""
    service = service_file(gate_options(options), os.environ)
    if options.print:
        sys.stdout.write(service.content)
        return OK
    return _written(service) or _explained(service, config)


def gate_options(options: argparse.Namespace) -> list[str]:
    """The options of `gate` that the service is started with: those that were given beside `--service`."""
    words: list[str] = []
    if options.host != DEFAULT_HOST:
        words += ["--host", options.host]
    if options.port != DEFAULT_PORT:
        words += ["--port", str(options.port)]
    if options.allow_remote:
        words.append("--allow-remote")
    for folder in options.manifests:
        words += ["--manifests", str(folder.expanduser().absolute())]
    return [*words, "--log-json"] if options.log_json else words


def _written(service: ServiceFile) -> int:
    """Writes the file, and asks before it replaces another one. Returns 0 if it is there now."""
    path = service.path
    try:
        if path.is_symlink() or path.exists():
            if path.read_text(encoding="utf-8", errors="replace") == service.content:
                return OK
            print_lines(f"There is another file at {inline(str(path))}.")
            if not sys.stdin.isatty():
                write_error("it was not replaced, because nobody can be asked", "Remove it first, or use --print.")
                return FAILED
            if ask_line("Replace it? [y/N]").lower() not in ("y", "yes"):
                print_lines("nothing was written")
                return DENIED
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        try:
            temporary.write_text(service.content, encoding="utf-8")
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    except OSError as error:
        write_error(f"cannot write {path}", (error.strerror or str(error)).lower(), "Use --print to see the file.")
        return FAILED
    return OK


def _secret_variables(config: Config) -> set[str]:
    """The environment variables that the configuration reads secrets from."""
    found = {item.credential.env for item in config.connectors.values() if item.credential}
    return (found | {config.webhook.secret.env if config.webhook.secret else ""}) - {""}


def _names(variables: Sequence[str]) -> str:
    return ", ".join(map(inline, variables))


def _explained(service: ServiceFile, config: Config) -> int:
    print_lines(f"{inline(str(service.path))} is written. Nothing was started.", "")
    for what, command in service.commands:
        print_lines(f"To {what}:")
        sys.stdout.write(f"    {inline(command)}\n")  # not wrapped, so that it can be copied
    if secrets := sorted(_secret_variables(config)):
        print_lines(
            "",
            f"The service does not have the variables of your shell, and the configuration needs {_names(secrets)}. "
            "Use `command` or `keyring` for these secrets.",
        )
    network = (*VARIABLES, *map(str.lower, VARIABLES), FILE_VARIABLE, FOLDER_VARIABLE)
    if others := [name for name in network if os.environ.get(name)]:
        print_lines("", f"Your shell has {_names(others)}. If the gate needs them, set them in the service's file too.")
    print_lines("", "Nobody is asked in a terminal then: answer in `aileron-tui`, on the page or with `approve`.")
    return OK
