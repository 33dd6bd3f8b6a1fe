"""Asks for the secrets of accounts on the terminal. They are never read from arguments, the environment or a pipe."""

import re
import sys
from typing import Final

from aileron_tui.accounts.errors import AccountError
from aileron_tui.accounts.secret_document import SecretDocument
from aileron_tui.cli.output import write
from aileron_tui.core.connector import Credential
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.signing.secret_memory import wipe
from aileron_tui.signing.terminal_input import ask_passphrase, ask_text

_ACCESS_KEY: Final = re.compile(r"[A-Z0-9]{16,128}", re.ASCII)
_REGION: Final = re.compile(r"[a-z0-9-]{2,40}", re.ASCII)
_AGAIN: Final = "Nothing was changed. Run the command again."


class BadSecret(AccountError):
    """What was entered cannot be the secret."""


def ask_aws_names(credential: Credential) -> tuple[str, str]:
    """The region and the access key id, which are not secret. An empty answer takes what the manifest says."""
    access_key = _named("AWS access key id", credential.access_key_id, _ACCESS_KEY)
    return _named("AWS region", credential.region, _REGION), access_key


def ask_api_key() -> SecretDocument:
    """Asks for an API key."""
    return SecretDocument({"kind": "api_key", "key": _secret("API key (not shown)")})


def ask_aws_secret(access_key_id: str, region: str) -> SecretDocument:
    """Asks for the secret of an AWS access key, and for a session token if there is one."""
    fields: JsonObject = {
        "kind": "aws_sigv4",
        "access_key_id": access_key_id,
        "secret_access_key": _secret("AWS secret access key (not shown)"),
        "region": region,
    }
    if session := _secret("AWS session token, or nothing (not shown)", optional=True):
        fields["session_token"] = session
    return SecretDocument(fields)


class TerminalSignIn:
    """Speaks with the person who signs in."""

    def show_address(self, address: str, code: str = "") -> None:
        """Prints the address, which must not be broken, on a line of its own."""
        write(sys.stderr, "Open this address in a browser and sign in:", "")
        sys.stderr.write(f"{inline(address)}\n\n")
        if code:
            write(sys.stderr, f"Enter this code there: {inline(code)}", "")
        write(sys.stderr, "Press ctrl+c to cancel; nothing has been changed yet.")

    def report(self, words: str) -> None:
        """Prints what happens now."""
        write(sys.stderr, inline(words))

    def ask_line(self, words: str) -> str:
        """Asks for a line that may be pasted; "" cancels."""
        return ask_text(words.rstrip())

    def cancelled(self) -> bool:
        """False: ctrl+c ends the command."""
        return False


def _named(what: str, default: str, form: re.Pattern[str]) -> str:
    offered = f" [{inline(default)}]" if default else ""
    text = ask_text(f"{what}{offered}:") or default
    if not form.fullmatch(text):
        raise BadSecret(f"that is not an {what}", hint=_AGAIN)
    return text


def _secret(question: str, *, optional: bool = False) -> str:
    """One line without echo. It must fit into a header."""
    line = ask_passphrase(question)
    try:
        text = line.decode("ascii", "replace").strip()
    finally:
        wipe(line)
    if not text and optional:
        return ""
    if not text:
        raise BadSecret("nothing was entered", hint=_AGAIN)
    if not (text.isascii() and text.isprintable()):
        raise BadSecret("what was entered cannot be sent", "it has a character that is not plain ASCII", _AGAIN)
    return text
