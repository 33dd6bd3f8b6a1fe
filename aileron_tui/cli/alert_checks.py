"""The checks of `doctor` on what tells people that a request waits: the page, notifications and the webhook."""

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec

from aileron_tui.alerts.channels import webhook_channel
from aileron_tui.alerts.desktop import NO_EXTRA
from aileron_tui.alerts.notification import NotificationChannel
from aileron_tui.alerts.webhook import WebhookChannel
from aileron_tui.cli.machine_checks import Check, Status
from aileron_tui.core.alert_routing import PROMPT, WEBHOOK
from aileron_tui.core.webhook_address import read_webhook_address
from aileron_tui.files.config import Config
from aileron_tui.files.extras import install_command


def alerts(config: Config, *, sends: bool) -> Iterator[Check]:
    """Whether people can be told. With `sends`, they are told something, to see that it arrives."""
    yield _order(config)
    if find_spec("jinja2") is None:
        yield Check("page", Status.OK, f"off, because the page extra is not installed: {install_command('page')}")
    yield asyncio.run(_notifications(config, sends))
    if webhook := webhook_channel(config.webhook):
        yield asyncio.run(_webhook(webhook, read_webhook_address(config.webhook.url).server, sends))


def _order(config: Config) -> Check:
    """Who is alerted, and in which order."""
    surfaces = config.surfaces
    each = f", each for {surfaces.share} s" if surfaces.share else ""
    words = f"alerts {', then '.join((*surfaces.order, PROMPT))}{each}"
    if config.webhook.url and WEBHOOK not in surfaces.order:
        fix = 'Add "webhook" to [surfaces] order, or remove [webhook].'
        return Check("surfaces", Status.WARN, words, "the webhook is set up, but it is not in the order", fix)
    return Check("surfaces", Status.OK, words)


async def _notifications(config: Config, sends: bool) -> Check:
    channel = NotificationChannel(_deny_nothing, _open_nothing, content=config.notifications.content)
    try:
        reason = await (channel.test() if sends else channel.unavailable())
    finally:
        await channel.close()
    if reason:  # many machines have no desktop, so this is no failure
        how = f": {install_command('notifications')}" if reason == NO_EXTRA else ""
        return Check("notifications", Status.WARN if sends else Status.OK, f"off, because {reason}{how}")
    return Check("notifications", Status.OK, "a test notification was shown" if sends else "on")


async def _webhook(channel: WebhookChannel, server: str, sends: bool) -> Check:
    try:
        reason = await (channel.test() if sends else channel.unavailable())
    finally:
        await channel.close()
    if reason:
        return Check("webhook", Status.FAIL, reason, fix="Check [webhook] in the configuration, and the receiver.")
    return Check("webhook", Status.OK, f"{server} accepted a test message" if sends else f"tells {server}")


async def _deny_nothing(_: str) -> None:
    """A test notification has nothing to deny."""


def _open_nothing() -> None:
    """A test notification has nothing to open."""
