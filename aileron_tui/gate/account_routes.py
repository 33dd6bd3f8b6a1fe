"""The HTTP route with which an approver unlocks the accounts of connectors."""

import asyncio
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from aileron_tui.accounts.errors import AccountError
from aileron_tui.accounts.vault import DataKey
from aileron_tui.core.base64_text import from_base64
from aileron_tui.core.errors import AileronError
from aileron_tui.gate.http_request import HttpRequest, Refusal, rate_limited
from aileron_tui.gate.origin_check import is_loopback
from aileron_tui.gate.route_docs import ReplyDocs, RouteDocs, body, ref, text
from aileron_tui.gate.route_table import Route, RouteAccess

if TYPE_CHECKING:
    from aileron_tui.gate.gate import Gate

_UNLOCK: Final = RouteDocs(
    "Unlock the accounts of connectors",
    "Takes the key of the encrypted file of secrets, which only the approver's own key can decrypt. The gate keeps it "
    "in memory until it stops. Only from the same machine.",
    body=body("key", key=text("The key as Base64.", 100)),
    replies=(
        ReplyDocs(204, "They are unlocked."),
        ReplyDocs(409, "There is nothing to unlock, or it is another key.", ref("Error")),
    ),
)


class AccountRoutes:
    """The routes about accounts, for approvers on the same machine."""

    def __init__(self, gate: "Gate") -> None:
        self._gate = gate
        self.routes = (Route("POST", "/v1/accounts/unlock", RouteAccess.APPROVER, self.unlock, _UNLOCK),)

    async def unlock(self, http_request: HttpRequest) -> Response:
        """Keeps the key of the encrypted file, if it is the right one."""
        http_request.query()
        client = http_request.raw.client
        if not http_request.on_socket and not (client and is_loopback(client.host)):
            raise Refusal(403, "forbidden", "accounts can be unlocked only from the machine of the gate")
        limit = http_request.session.refusal_limit
        if seconds := limit.wait_seconds():
            raise rate_limited("refused keys", seconds)
        fields = await http_request.body(http_request.limits.session_bytes, {"key"})
        given = fields.get("key")
        try:
            key = DataKey(from_base64(given if isinstance(given, str) else ""))
        except (ValueError, AccountError):
            limit.charge(1)
            raise Refusal(400, "invalid_body", "key must be 32 bytes in Base64") from None
        try:
            await asyncio.to_thread(self._gate.accounts.vault.unlock, key)
        except AileronError as error:
            key.wipe()
            limit.charge(1)
            raise Refusal(409, "not_unlocked", str(error)) from None
        self._gate.accounts_unlocked(http_request.session.name)
        return Response(status_code=204)
