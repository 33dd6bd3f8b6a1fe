"""The channels of a configuration: what a gate, or a console for its daemons, can reach people with."""

from collections.abc import Awaitable, Callable

from aileron_tui.alerts.notification import NotificationChannel
from aileron_tui.alerts.webhook import WebhookChannel, WebhookSettings
from aileron_tui.core.alerts import AlertChannel
from aileron_tui.core.webhook_address import read_webhook_address
from aileron_tui.files.config import Config, WebhookConfig, WebhookSecret
from aileron_tui.files.webhook_secret import webhook_secret


def channels(
    config: Config, deny: Callable[[str], Awaitable[None]], open_page: Callable[[], None]
) -> tuple[AlertChannel, ...]:
    """Every channel that is set up. `deny` denies a request without a signature, and `open_page` opens the page."""
    notification = NotificationChannel(deny, open_page, content=config.notifications.content)
    webhook = webhook_channel(config.webhook)
    return (notification, webhook) if webhook else (notification,)


def webhook_channel(config: WebhookConfig) -> WebhookChannel | None:
    """The webhook, or None if no address is configured."""
    if not config.url:
        return None
    source = config.secret or WebhookSecret()
    address = read_webhook_address(config.url)
    return WebhookChannel(WebhookSettings(address, lambda: webhook_secret(source), config.content))
