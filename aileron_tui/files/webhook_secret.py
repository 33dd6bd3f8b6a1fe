"""Reads the secrets of the webhook from where the configuration says they are. No error repeats them."""

import os
from collections.abc import Mapping
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.files.config import WebhookSecret
from aileron_tui.files.private_files import PrivateFileError, read_private
from aileron_tui.files.secret_command import SecretCommandError, command_output

_LARGEST: Final = 4096
_TITLE: Final = "the webhook's secret cannot be read"
_HINT: Final = "Check [webhook.secret] in the configuration."


class UnreadableWebhookSecret(AileronError):
    """The place that the configuration names has no secret, or cannot be read."""


def webhook_secret(source: WebhookSecret, env: Mapping[str, str] = os.environ) -> str:
    """The text with one or several secrets. Can take as long as the command of the configuration."""
    if source.env:
        text, where = env.get(source.env, ""), f"the environment variable {source.env}"
    elif source.command:
        try:
            text, where = command_output(source.command), f"the output of {source.command[0]}"
        except SecretCommandError as error:
            raise UnreadableWebhookSecret(_TITLE, str(error), _HINT) from None
    elif source.keyring:
        text, where = _from_keyring(source.keyring), f"the keyring entry {source.keyring}"
    elif source.file is not None:
        try:
            path = source.file.expanduser()
            text, where = read_private(path, _LARGEST).decode("utf-8", "replace"), str(source.file)
        except (PrivateFileError, RuntimeError) as error:  # RuntimeError: there is no home folder
            raise UnreadableWebhookSecret(_TITLE, str(error), getattr(error, "hint", _HINT)) from None
    else:
        raise UnreadableWebhookSecret("the webhook has no secret", "[webhook.secret] is missing", _HINT)
    if not text.strip():
        raise UnreadableWebhookSecret(_TITLE, f"{where} is empty or not set", _HINT)
    return text.strip()


def _from_keyring(entry: str) -> str:
    import keyring  # noqa: PLC0415  # searches for backends on import
    from keyring.errors import KeyringError  # noqa: PLC0415

    service, _, user = entry.partition("/")
    try:
        return keyring.get_password(service, user) or ""
    except KeyringError as error:
        detail = f"cannot use the system keyring ({type(error).__name__})"
        raise UnreadableWebhookSecret(_TITLE, detail, _HINT) from None
