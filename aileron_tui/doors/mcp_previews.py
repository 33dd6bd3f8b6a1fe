"""Previews of MCP calls: the proxy calls a read-only tool of the same server before the operator is asked."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_calls import AskedCall, protocol_meta
from aileron_tui.core.mcp_listings import ToolFault, ToolListings
from aileron_tui.core.mcp_messages import CALL
from aileron_tui.core.mcp_tools import PinnedTool, hints
from aileron_tui.core.values import dataclass
from aileron_tui.doors.mcp_own_requests import OwnListing, OwnReply, OwnRequests

if TYPE_CHECKING:
    from aileron_tui.core.prompt import PreviewResult
    from aileron_tui.core.risk import RiskLevel

PREVIEW_SECONDS: Final = 5.0
FRESH_SECONDS: Final = 10.0
_MOST_ROWS: Final = 100


class Policy(Protocol):
    """What a policy says about the calls of a server; `core/mcp_policy.py` has the one for files."""

    def preview_call(self, tool: str, args: JsonObject) -> tuple[str, JsonObject] | None:
        """The tool to call as a preview, and its args."""

    def preview_result(self, tool: str, result: JsonObject) -> "PreviewResult":
        """What the operator is shown of its result."""

    def risk(self, tool: str) -> "RiskLevel | None":
        """The least risk of a call."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a preview tool returned, and when. `call` is what was called for it."""

    call: tuple[str, JsonObject]
    result: "PreviewResult"
    at: float

    def fields(self) -> JsonObject:
        """The preview as the gate wants it."""
        rows = self.result.rows[:_MOST_ROWS]
        fields: JsonObject = {
            "rows": [
                {"label": row.label, "value": row.value, "multiline": row.multiline, "missing": row.missing}
                for row in rows
            ],
            "hidden": self.result.hidden + len(self.result.rows) - len(rows),
            "from": self.call[0],
        }
        return fields | {"unavailable": self.result.unavailable} if self.result.unavailable else fields

    def is_fresh(self) -> bool:
        """Whether it is recent enough to count as what is there now."""
        return time.monotonic() - self.at <= FRESH_SECONDS


class Previews:
    """Fetches previews from the server."""

    def __init__(
        self,
        policy: Policy | None,
        own: OwnRequests,
        listing: OwnListing,
        listings: ToolListings,
        pins: Callable[[], Mapping[str, PinnedTool]],
    ) -> None:
        self._policy = policy
        self._own = own
        self._listing = listing
        self._listings = listings
        self._pins = pins

    def is_high(self, tool: str) -> bool:
        """Whether the policy says that a call of this tool is of high risk."""
        return self._policy is not None and self._policy.risk(tool) == "high"

    def call_for(self, tool: str, args: JsonObject) -> tuple[str, JsonObject] | None:
        """What is called to preview a call, None if nothing is."""
        return self._policy.preview_call(tool, args) if self._policy else None

    def fetch(self, asked: AskedCall, args: JsonObject, then: Callable[[Preview | None], None]) -> None:
        """Fetches the preview of a call, and passes it on; None if the policy has none for this tool."""
        call = self.call_for(asked.tool, args) if asked.is_tool else None
        policy = self._policy
        if call is None or policy is None:
            then(None)
            return
        from aileron_tui.core.prompt import PreviewResult  # noqa: PLC0415  # the proxy must start fast

        name, preview_args = call
        meta = protocol_meta(asked.meta, with_token=False)

        def done(reply: OwnReply) -> None:
            if reply.result is None:
                result = PreviewResult(unavailable=f"{name}: {reply.problem}")
            else:
                result = policy.preview_result(asked.tool, reply.result)
            then(Preview(call, result, time.monotonic()))

        def listed(problem: str) -> None:
            if problem := problem or self._obstacle(name):
                then(Preview(call, PreviewResult(unavailable=problem), time.monotonic()))
                return
            params: JsonObject = {"name": name, "arguments": preview_args}
            self._own.start(CALL, params | {"_meta": meta} if meta else params, PREVIEW_SECONDS, done)

        if self._listings.needs_listing(name):
            self._listing.start(meta, listed)
        else:
            listed("")

    def _obstacle(self, name: str) -> str:
        """Why a tool cannot be called as a preview, or ""."""
        known = self._pins().get(name)
        if known is None:
            return f"{name} is not a pinned tool of this server"
        try:
            versions = self._listings.versions(name)
        except ToolFault as error:
            return f"{name}: {error}"
        if any(version.hash != known.hash for version in versions):
            return f"the definition of {name} has changed"
        return "" if hints(known.definition).read_only else f"the server does not say that {name} is read-only"
