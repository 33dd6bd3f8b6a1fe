"""Calls that the MCP proxy holds until the gate has answered: what is looked up, asked, checked again and sent.

Everything here happens in one thread. Each step ends in the next one or in an answer to the client, and nothing is sent
to the server before all of them.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_calls import AskedCall, protocol_meta
from aileron_tui.core.mcp_listings import ToolFault, ToolListings, definition_change
from aileron_tui.core.mcp_tools import PinnedTool, tool_named
from aileron_tui.core.values import dataclass
from aileron_tui.doors.known_servers import KnownServer, pin_tool, read_server
from aileron_tui.doors.mcp_held_call import HeldCall, still_waiting
from aileron_tui.doors.mcp_own_requests import OwnListing, OwnRequests
from aileron_tui.doors.mcp_previews import Policy, Preview, Previews, proxy_claims
from aileron_tui.doors.mcp_questions import Allowed, Answer, Asking, Question, Refused, StillWaiting

_NEVER: Final = float("inf")
_MOST_PARKED: Final = 100
_MOST_ROUNDS: Final = 3
_CHANGED_PREVIEW: Final = "nothing was run: what the preview shows has changed"
_CHANGED_TOOL: Final = "nothing was run: the definition of the tool has changed"
_LEFT: Final = "nothing was run: the client no longer waited for it"


@dataclass(frozen=True, slots=True)
class ProxySetting:
    """Which server is proxied, how long a call is held, and the user's policy for the server."""

    server: KnownServer
    data: Path
    hold: float
    policy: Policy | None = None


class Asker(Protocol):
    """How the gate is asked; `Questions` does it in threads."""

    def ask(self, question: Question, seconds: float, then: Callable[[Answer], None], resumed: str = "") -> Asking:
        """Asks, or goes on waiting for a request."""

    def report(self, id_: str, args: JsonObject, error: str = "") -> None:
        """Tells the gate what became of a call."""

    def withdraw(self, id_: str) -> None:
        """Withdraws a request."""


class Client(Protocol):
    """Where answers and approved calls go."""

    def refuse(self, held: HeldCall, text: str) -> None:
        """Answers a call that was not made."""

    def forward(self, held: HeldCall, grant: Allowed) -> None:
        """Sends an approved call to the server."""

    def notify(self, line: bytes) -> None:
        """Sends a notification to the client."""


@dataclass(frozen=True, slots=True)
class _Parked:
    """A request that goes on waiting at the gate without anybody here. `preview` is what it shows."""

    id: str
    preview: Preview | None = None


class GatedCalls:
    """All calls that are held, and what is known for them about the server's tools."""

    def __init__(
        self, setting: ProxySetting, asker: Asker, client: Client, own: OwnRequests, listings: ToolListings
    ) -> None:
        self._server = setting.server
        self._data = setting.data
        self._hold = setting.hold
        self._asker = asker
        self._client = client
        self._listings = listings
        self._listing = OwnListing(own, listings)
        self._previews = Previews(setting.policy, own, self._listing, listings, self._pins)
        self._held: list[HeldCall] = []
        self._parked: dict[tuple[str, bytes, str], list[_Parked]] = {}
        self._accepted: dict[str, set[str]] = {}
        self._changes: dict[tuple[str, str], tuple[Asking, list[HeldCall]]] = {}

    def _pins(self) -> Mapping[str, PinnedTool]:
        return {tool.name: tool for tool in self._server.tools}

    def hold(self, asked: AskedCall) -> HeldCall:
        """Holds a call."""
        held = HeldCall(asked, self._hold)
        self._held.append(held)
        return held

    def begin(self, held: HeldCall) -> None:
        """Asks about a call that is held."""
        self._look_up(held)

    def cancel(self, held: HeldCall) -> None:
        """The client does not want a held call any more."""
        self._leave(held)

    def close(self) -> None:
        """Nobody waits for anything any more: withdraws every request."""
        for held in list(self._held):
            self._leave(held)
        for parked in self._parked.values():
            for each in parked:
                self._asker.withdraw(each.id)
        self._parked.clear()

    def refuse_all(self, text: str) -> None:
        """Ends every held call with this answer."""
        for held in list(self._held):
            self._leave(held)
            self._client.refuse(held, text)

    def tick(self, now: float) -> None:
        """Tells clients that their calls still wait."""
        for held in list(self._held):
            if line := held.progress_line(now):
                self._client.notify(line)
            if now >= held.end and held.asking is None and self._waits_for_change(held):
                self._end(held, still_waiting(held.asked.tool))

    @property
    def is_timed(self) -> bool:
        """Whether a call is held."""
        return bool(self._held)

    def next_time(self, now: float) -> float:
        """When `tick` has something to do."""
        return min((held.next_time(now) for held in self._held), default=_NEVER) if self._held else _NEVER

    # the steps of one call

    def _look_up(self, held: HeldCall) -> None:
        """Finds the tool, and makes sure that its definition was accepted."""
        if held.is_over:
            return
        if not held.asked.is_tool:
            self._ask(held)
            return
        name = held.asked.tool
        if self._listings.needs_listing(name):
            meta = protocol_meta(held.asked.meta, with_token=False)
            self._listing.start(meta, lambda problem: self._listed(held, problem))
            return
        try:
            versions = self._listings.versions(name)
        except ToolFault as error:
            self._end(held, f"Nothing was run: {error}.")
            return
        if not all(map(self._is_accepted, versions)):
            self._read_pins()
        for version in versions:
            if not self._is_accepted(version):
                self._ask_about_change(held, version)
                return
        held.tool = versions[-1]
        self._previews.fetch(held.asked, held.args, lambda preview: self._previewed(held, preview))

    def _listed(self, held: HeldCall, problem: str) -> None:
        if problem:
            self._end(held, f"Nothing was run: {problem}.")
        else:
            self._look_up(held)

    def _previewed(self, held: HeldCall, preview: Preview | None) -> None:
        held.preview = preview
        self._ask(held)

    def _ask(self, held: HeldCall) -> None:
        if held.is_over:
            return
        resumed = ""
        if parked := self._parked.get(held.key):
            first = parked.pop(0)
            resumed, held.preview = first.id, first.preview
            if not parked:
                del self._parked[held.key]
        definition = held.tool.hash if held.tool else ""
        question = Question(held.asked.tool, held.args, self._server.name, definition, more=self._claims(held))
        held.asking = self._asker.ask(question, held.seconds_left, lambda answer: self._answered(held, answer), resumed)

    def _claims(self, held: HeldCall) -> JsonObject:
        """What the gate is told beyond the call: the preview, and reasons for a higher risk."""
        definition = held.tool.definition if held.tool is not None else {}
        return proxy_claims(definition, held.preview, is_high=self._previews.is_high(held.asked.tool))

    def _answered(self, held: HeldCall, answer: Answer) -> None:
        held.asking = None
        match answer:
            case Refused(text):
                self._end(held, text)
            case StillWaiting(id_):
                self._park(held, id_)
            case Allowed():
                held.grant = answer
                if held.is_over:
                    self._asker.report(answer.id, answer.args, _LEFT)
                else:
                    self._check_again(held, answer)

    def _park(self, held: HeldCall, id_: str) -> None:
        """Lets a request wait at the gate until the agent makes the same call again."""
        if held.is_over:
            self._asker.withdraw(id_)
            return
        if sum(map(len, self._parked.values())) >= _MOST_PARKED:
            oldest = next(iter(self._parked))
            for each in self._parked.pop(oldest):
                self._asker.withdraw(each.id)
        self._parked.setdefault(held.key, []).append(_Parked(id_, held.preview))
        self._end(held, still_waiting(held.asked.tool))

    def _check_again(self, held: HeldCall, grant: Allowed) -> None:
        """Makes sure that what was approved is still what would happen."""
        if held.tool is None:
            self._send(held, grant)
            return
        if not self._is_unchanged(held.tool):
            self._ask_anew(held, grant, _CHANGED_TOOL)
            return
        before = held.preview
        if before is None:
            self._send(held, grant)
            return
        if before.call != self._previews.call_for(held.asked.tool, grant.args):
            self._ask_anew(held, grant, "nothing was run: after the edit, the preview shows something else")
            return
        self._previews.fetch(held.asked, grant.args, lambda now: self._compare(held, grant, now))

    def _is_unchanged(self, tool: PinnedTool) -> bool:
        """Whether a definition is still the current one, and every other that matters was accepted."""
        try:
            versions = () if self._listings.needs_listing(tool.name) else self._listings.versions(tool.name)
        except ToolFault:
            return False
        return bool(versions) and versions[-1].hash == tool.hash and all(map(self._is_accepted, versions))

    def _compare(self, held: HeldCall, grant: Allowed, now: Preview | None) -> None:
        if held.is_over:
            return
        if held.tool is None or not self._is_unchanged(held.tool):  # it may have changed while the preview was fetched
            self._ask_anew(held, grant, _CHANGED_TOOL)
        elif now is None or held.preview is None or now.result != held.preview.result:
            self._ask_anew(held, grant, _CHANGED_PREVIEW)
        else:
            self._send(held, grant)

    def _ask_anew(self, held: HeldCall, grant: Allowed, reason: str) -> None:
        self._asker.report(grant.id, grant.args, reason)
        held.grant = None
        held.args = grant.args
        held.rounds += 1
        if held.rounds > _MOST_ROUNDS:
            self._end(held, "Nothing was run: what was asked about kept changing. Make the call again.")
        else:
            self._look_up(held)

    def _send(self, held: HeldCall, grant: Allowed) -> None:
        try:
            if held.tool is not None:
                self._pin(held.tool)
        except AileronError as error:
            self._asker.report(grant.id, grant.args, f"nothing was run: the tool could not be pinned: {error}")
            held.grant = None
            self._end(held, f"Nothing was run, because the tool could not be pinned: {error}. {error.hint}")
            return
        held.is_over = True
        self._held.remove(held)
        self._client.forward(held, grant)

    # definitions

    def _is_accepted(self, tool: PinnedTool) -> bool:
        """Whether a definition may be used: it is pinned, was accepted here, or no other one is pinned yet."""
        known = tool_named(self._server.tools, tool.name)
        return known is None or tool.hash == known.hash or tool.hash in self._accepted.get(tool.name, ())

    def _read_pins(self) -> None:
        """Reads the pins again: another proxy of the same server may have asked already."""
        with suppress(AileronError):
            self._server = read_server(self._data, self._server.name)

    def _pin(self, tool: PinnedTool, replaces: str = "") -> None:
        known = tool_named(self._server.tools, tool.name)
        if known is None or known.hash == replaces:
            self._server = pin_tool(self._data, self._server.name, tool, replaces)
        self._accepted.setdefault(tool.name, set()).add(tool.hash)

    def _ask_about_change(self, held: HeldCall, tool: PinnedTool) -> None:
        """Asks whether a changed definition is accepted, once for all calls that wait for that."""
        key = (tool.name, tool.hash)
        if key in self._changes:
            self._changes[key][1].append(held)
            return
        before = tool_named(self._server.tools, tool.name)
        question = Question(tool.name, definition_change(before, tool), self._server.name, tool.hash, True)
        parked = self._parked.pop((tool.name, b"definition", tool.hash), [])
        asking = self._asker.ask(
            question,
            held.seconds_left,
            lambda answer: self._change_answered(tool, before, answer),
            parked[0].id if parked else "",
        )
        self._changes[key] = (asking, [held])

    def _change_answered(self, tool: PinnedTool, before: PinnedTool | None, answer: Answer) -> None:
        _, waiting = self._changes.pop((tool.name, tool.hash), (None, []))
        match answer:
            case Refused(text):
                for held in waiting:
                    start = f"The server has changed the definition of {tool.name}, which must be accepted first. "
                    self._end(held, start + text)
            case StillWaiting(id_) if not waiting:
                self._asker.withdraw(id_)
            case StillWaiting(id_):
                self._parked[tool.name, b"definition", tool.hash] = [_Parked(id_)]
                for held in waiting:
                    self._end(held, still_waiting(tool.name))
            case Allowed(id_, args):
                self._accept(tool, before, id_, args)
                for held in waiting:
                    self._look_up(held)

    def _accept(self, tool: PinnedTool, before: PinnedTool | None, id_: str, args: JsonObject) -> None:
        problem = ""
        try:
            self._pin(tool, before.hash if before else "")
        except AileronError as error:
            problem = f"the definition could not be pinned: {error}"
            self._accepted.setdefault(tool.name, set()).add(tool.hash)
        self._asker.report(id_, args, problem)

    def _waits_for_change(self, held: HeldCall) -> bool:
        return any(held in waiting for _, waiting in self._changes.values())

    # the end of a call

    def _end(self, held: HeldCall, text: str) -> None:
        """Answers a call that is not made."""
        if not held.is_over:
            self._leave(held)
            self._client.refuse(held, text)

    def _leave(self, held: HeldCall) -> None:
        """Stops holding a call, and withdraws what was asked for it alone."""
        if held.is_over:
            return
        held.is_over = True
        self._held.remove(held)
        if held.asking is not None:
            held.asking.withdraw()
        if held.grant is not None:
            self._asker.report(held.grant.id, held.grant.args, _LEFT)
        for asking, waiting in self._changes.values():
            if held in waiting:
                waiting.remove(held)
                if not waiting:
                    asking.withdraw()
