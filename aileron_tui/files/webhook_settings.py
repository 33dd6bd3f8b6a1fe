"""Checks `[webhook]` of `config.toml`. No message repeats the address or a secret, because both can open something."""

import re
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.findings import Problems
from aileron_tui.core.webhook_address import BadWebhookAddress, read_webhook_address
from aileron_tui.files.config import WebhookConfig, WebhookSecret

_SOURCES: Final = ("env", "command", "keyring", "file")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def webhook_settings(table: dict[str, Any], problems: Problems) -> WebhookConfig:
    """The settings in the table. Reports everything that is wrong with them."""
    url, secret = table.get("url", ""), table.get("secret")
    if url:
        try:
            read_webhook_address(url)
        except BadWebhookAddress as error:
            fix = "Write an address such as https://hooks.example.com/aileron."
            problems.add(("webhook", "url"), "webhook-url", f"this is not a valid address: {error}", fix)
    source = None if secret is None else _secret(secret, problems)
    return WebhookConfig(url, table.get("content", False), source)


def _secret(table: dict[str, Any], problems: Problems) -> WebhookSecret:
    path = ("webhook", "secret")
    given = [key for key in _SOURCES if table.get(key)]
    env, command, keyring, file = (table.get(key) for key in _SOURCES)
    if len(given) != 1:
        message = f"the secret has {len(given)} sources instead of one"
        problems.add(path, "webhook-secret", message, f"Set exactly one of {', '.join(_SOURCES)}.")
    elif env and not _VARIABLE.fullmatch(env):
        message = "this is not the name of an environment variable"
        problems.add(
            (*path, "env"), "webhook-secret", message, 'Write its name, such as env = "AILERON_WEBHOOK_SECRET".'
        )
    elif keyring and "/" not in keyring:
        message, fix = "a keyring entry needs a service and a user", 'Write keyring = "service/user".'
        problems.add((*path, "keyring"), "webhook-secret", message, fix)
    elif file and not file.startswith(("/", "~/")):
        fix = 'Write a path such as file = "~/.aileron/webhook.secret".'
        problems.add((*path, "file"), "webhook-secret", "this is not a full path", fix)
    return WebhookSecret(env or "", tuple(command or ()), keyring or "", Path(file) if file else None)
