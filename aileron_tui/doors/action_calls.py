"""Calls of actions for an agent that waits: made, waited for, fetched later, and withdrawn when nobody wants them."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from aileron_tui.core.action_answers import (
    UNFINISHED,
    ToolAnswer,
    gate_status,
    lost,
    no_status,
    not_called,
    read_answer,
    refused_token,
    still_waiting,
    unknown_request,
    waiting_calls,
    wrong_arguments,
)
from aileron_tui.core.action_tools import ActionTools, action_tools
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.doors.gate_exchange import LARGEST_CALL, GateCall, NotSent, exchange
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.config import LONGEST_OP
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.runtime.errors import InvalidReply, NoGate, NoReply, RuntimeFault
from aileron_tui.runtime.gate_discovery import discover

_LONGEST_WAIT: Final = 300
"""For how many seconds a gate holds the reply to a call."""

_RUN_SECONDS: Final = LONGEST_OP + 60.0
"""How much longer the reply may take, because an action that needs no approval runs first."""

_POLL_SECONDS: Final = 1.0
_WITHDRAW_SECONDS: Final = 2.0
_LONGEST_FIELD: Final = 200
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GateAccess:
    """How an agent reaches its gate. With `data`, the gate is the one of that data folder."""

    agent: str
    data: Path | None = None
    url: str = ""
    token_file: Path | None = None

    async def ask(self, call: GateCall) -> tuple[int, JsonObject]:
        """Makes one exchange with the gate as it is now: it may have been restarted, and the token replaced."""
        data = self.data or paths().data
        try:
            found = discover(self.url, data)
        except NoGate as error:
            raise NotSent(error.title, error.detail, error.hint) from None
        if self.token_file is None and self.url and not found.instance:
            raise NotSent("there is no token for this gate", self.url, "Pass the agent's token file with --token-file.")
        return await exchange(found, self._token(data), call)

    def _token(self, data: Path) -> str:
        try:
            return read_token(self.token_file or token_path(data, self.agent))
        except PrivateFileError as error:
            hint = f"The user can run `aileron-tui agent add {self.agent}`."
            raise NotSent(f"the token of agent {self.agent} cannot be read", str(error), hint) from None


class ActionCalls:
    """The calls of one client. `hold` is for how many seconds a call may wait before it is answered with its id."""

    def __init__(self, access: GateAccess, hold: int) -> None:
        self._access = access
        self._hold = hold
        self._waiters: Counter[str] = Counter()
        self._unfinished: set[str] = set()
        """The ids of the calls that the client was told to fetch later."""
        self._ids: dict[str, str] = {}
        """The ids of these calls, by the hash of what was called."""
        self._known: dict[str, str] = {}
        """The ids that this client may ask for, with their actions: its own calls, and what the status has listed."""
        self._actions: frozenset[str] = frozenset()
        self._withdrawing: set[asyncio.Task[None]] = set()

    async def tools(self) -> ActionTools:
        """The actions of the gate as tools. Raises AileronError."""
        status, reply = await self._access.ask(GateCall("GET", "/v1/actions", {}))
        if status != 200:
            raise AileronError("the gate does not list its actions", _refusal(status, reply, self._access.agent))
        tools = action_tools(reply)
        self._actions = frozenset(tools.actions.values())
        return tools

    async def status(self) -> ToolAnswer:
        """What the gate says about this agent."""
        try:
            status, reply = await self._access.ask(GateCall("GET", "/v1/agent", {}))
        except RuntimeFault as error:
            return no_status(error)
        if status == 401:
            return refused_token(self._access.agent)
        if status != 200:
            return no_status(InvalidReply("the gate sent an error", _refusal(status, reply, self._access.agent)))
        if not self._actions:
            with suppress(AileronError):
                await self.tools()
        waiting = waiting_calls(reply, self._actions)
        self._known.update((str(item["approval_id"]), str(item["action"])) for item in waiting)
        return gate_status(self._access.agent, waiting, self._hold)

    async def call(self, action: str, args: JsonObject, says: str) -> ToolAnswer:
        """Calls an action and waits for its end. Cancelling this withdraws the call, unless others wait for it too."""
        try:
            written = json.dumps([action, args], sort_keys=True, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            return wrong_arguments(f"they cannot be written as JSON ({type(error).__name__})")
        if len(written) > LARGEST_CALL:
            return wrong_arguments(f"they have {len(written):,} bytes; the gate accepts at most {LARGEST_CALL:,}")
        end, what = time.monotonic() + self._hold, sha256(written).hexdigest()
        known = self._ids.get(what, "")
        try:
            with self._waiting_for(known):
                status, reply = await self._run(action, args, says)
        except asyncio.CancelledError:
            self._withdraw_unwanted(known)
            raise
        except NotSent as error:
            return not_called(action, error)
        except (NoReply, InvalidReply) as error:
            return lost(action, error)
        if status == 401:
            return refused_token(self._access.agent)
        id_ = reply.get("approval_id")
        if status != 202 and not (status == 200 and reply.get("status") in UNFINISHED):
            self._finished(known)
            return read_answer(action, status, reply)
        if not isinstance(id_, str) or not _ID.fullmatch(id_):
            return lost(action, InvalidReply("the gate sent an invalid reply", "its approval_id is missing or invalid"))
        self._known[id_], self._ids[what] = action, id_
        self._unfinished.add(id_)
        try:
            return await self._wait(action, id_, reply, end)
        except asyncio.CancelledError:
            self._withdraw_unwanted(id_)
            raise

    async def result(self, id_: str) -> ToolAnswer:
        """Waits for the end of a call that was made before.

        Other ids are not sent to the gate: one could belong to a tool call, whose answer is for the program that asked.
        """
        if (action := self._known.get(id_)) is None:
            return unknown_request(id_[:_LONGEST_FIELD])
        return await self._wait(action, id_, {}, time.monotonic() + self._hold)

    async def withdraw_all(self) -> None:
        """Withdraws every call whose result nobody will fetch, because the client has gone."""
        for id_ in tuple(self._unfinished):
            self._start_withdrawing(id_)
        await asyncio.gather(*self._withdrawing)

    async def _run(self, action: str, args: JsonObject, says: str) -> tuple[int, JsonObject]:
        """Calls an action. If the token was replaced meanwhile, calls again with the new one, which joins the call."""
        wait = max(1, min(self._hold, _LONGEST_WAIT))
        fields = {"Prefer": f"wait={wait}", **_claims(says)}
        path = f"/v1/actions/{quote(action, safe='')}/run"
        call = GateCall("POST", path, fields, {"args": args}, wait + _RUN_SECONDS)
        status, reply = await self._access.ask(call)
        if status != 401:
            return status, reply
        await asyncio.sleep(_POLL_SECONDS)  # the new token is written after the old one was ended
        try:
            return await self._access.ask(call)
        except NotSent:  # there is no new token; the first call may have been accepted
            return status, reply

    async def _wait(self, action: str, id_: str, reply: JsonObject, end: float) -> ToolAnswer:
        """Waits for the end of a call until the time is over, also if the gate is restarted meanwhile."""
        problem, is_new, refusals = "", bool(reply), 0
        with self._waiting_for(id_):
            while time.monotonic() < end or not is_new:
                began = time.monotonic()
                try:
                    status, found = await self._poll(id_, end - began)
                except RuntimeFault as error:
                    if not reply and id_ not in self._unfinished:
                        return no_status(error)
                    problem = str(error)
                else:
                    refusals = refusals + 1 if status == 401 else 0
                    if refusals > 1:  # the first time, a new token may not have been written yet
                        return refused_token(self._access.agent)
                    if answer := self._ended(action, id_, status, found):
                        return answer
                    reply, problem = (found, "") if status == 200 else (reply, f"it answered with status {status}")
                left = end - time.monotonic()
                is_new = left <= 0
                await asyncio.sleep(max(0.0, min(left, began + _POLL_SECONDS - time.monotonic())))
        return still_waiting(action, id_, reply, problem)

    async def _poll(self, id_: str, left: float) -> tuple[int, JsonObject]:
        wait = max(1, min(int(left), _LONGEST_WAIT))
        path = f"/v1/action-approvals/{quote(id_, safe='')}/result"
        return await self._access.ask(GateCall("GET", path, {"Prefer": f"wait={wait}"}, seconds=wait + _RUN_SECONDS))

    def _ended(self, action: str, id_: str, status: int, reply: JsonObject) -> ToolAnswer | None:
        """The answer if a call has ended, None if it has not or if nobody can say at the moment."""
        if status in (401, 408, 429) or status >= 500 or reply.get("status") in UNFINISHED:
            return None
        self._finished(id_)
        if status != 200 or reply.get("status") == "allowed":  # an answer for the program that asked about a tool call
            return unknown_request(id_)
        return read_answer(action, status, reply)

    def _finished(self, id_: str) -> None:
        self._unfinished.discard(id_)
        self._ids = {what: other for what, other in self._ids.items() if other != id_}

    @contextmanager
    def _waiting_for(self, id_: str) -> Iterator[None]:
        self._waiters[id_] += 1
        try:
            yield
        finally:
            self._waiters[id_] -= 1
            if not self._waiters[id_]:
                del self._waiters[id_]

    def _withdraw_unwanted(self, id_: str) -> None:
        """Withdraws a call that was cancelled, unless somebody else waits for it."""
        if id_ in self._unfinished and not self._waiters[id_]:
            self._start_withdrawing(id_)

    def _start_withdrawing(self, id_: str) -> None:
        """Withdraws a call in a task of its own, because the one that was cancelled cannot wait any more."""
        self._finished(id_)
        task = asyncio.create_task(self._withdraw(id_))
        self._withdrawing.add(task)
        task.add_done_callback(self._withdrawing.discard)

    async def _withdraw(self, id_: str) -> None:
        """Withdraws a call, if it is still waiting and the gate can be asked."""
        call = GateCall("DELETE", f"/v1/action-approvals/{quote(id_, safe='')}", {}, seconds=_WITHDRAW_SECONDS)
        try:
            async with asyncio.timeout(_WITHDRAW_SECONDS):
                await self._access.ask(call)
        except (RuntimeFault, TimeoutError):
            return


def _refusal(status: int, reply: JsonObject, agent: str) -> str:
    if status == 401:
        return f"it does not accept the token of agent {agent}"
    match reply:
        case {"error": {"message": str(message)}}:
            return message
    return f"status {status}"


def _claims(says: str) -> Mapping[str, str]:
    """The header fields in which the client describes itself. They are shown as claims."""
    try:
        folder = str(Path.cwd())
    except OSError:
        folder = ""
    found = {"X-Aileron-Agent": says[:_LONGEST_FIELD], "X-Aileron-Folder": folder}
    return {
        name: value for name, value in found.items() if value and value.isprintable() and len(value) <= _LONGEST_FIELD
    }
