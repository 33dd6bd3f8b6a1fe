"""The channels through which a gate in this process reaches people: notifications and the webhook."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aileron_tui.core.alert_routing import NOTIFICATION, WEBHOOK
from aileron_tui.core.alerts import AlertChannel
from aileron_tui.files.config import Config

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate


def gate_channels(gate: "Gate", config: Config) -> Sequence[AlertChannel]:
    """Every channel that is set up and in the order of surfaces. **Deny** in a notification denies at this gate."""
    used = {NOTIFICATION, WEBHOOK} & {*config.surfaces.order}
    if not used:
        return ()
    from aileron_tui.alerts.channels import channels  # noqa: PLC0415  # not needed if all of them are left out
    from aileron_tui.alerts.page_opening import open_in_browser  # noqa: PLC0415

    async def deny(id_: str) -> None:
        await gate.deny_from(id_, NOTIFICATION)

    made = channels(config, deny, lambda: open_in_browser(gate.page_url))
    return [channel for channel in made if channel.name in used]
