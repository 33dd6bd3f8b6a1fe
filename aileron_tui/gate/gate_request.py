"""One gated call while it lives in the gate, and how approvers and its agent are told about it."""

import asyncio
import secrets
from dataclasses import asdict, field
from datetime import datetime
from enum import StrEnum

from aileron_tui.core.action import Action
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt, unavailable_line
from aileron_tui.core.prompt_rows import Row, input_rows
from aileron_tui.core.risk import Risk
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.ledger.store import StoredResult
from aileron_tui.sandbox.sandbox import Sandbox


class PreviewState(StrEnum):
    """How far the preview is."""

    NONE = "none"
    FETCHING = "fetching"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Edit:
    """An edited form of the call: what the operator changed, and the prompt that came of it."""

    edits: JsonObject
    args: JsonObject
    prompt: Prompt
    made: datetime


@dataclass(slots=True, eq=False)
class GateRequest:
    """A gated call. Whoever ends it holds `ending` while the end is recorded, so that no second end begins.

    `polled` is set once an agent was told to come back for the answer; `holders` counts those who wait for it on an
    open connection. `decision` is the envelope that decided it; `edited_from` is what the agent asked, if an edited
    call was approved instead.
    """

    id: str
    call: str
    agent: str
    action: Action
    args: JsonObject
    asker: Asker
    risk: Risk
    connector: ConnectorRef
    sandbox: Sandbox
    asked: datetime
    expires: datetime
    fetching: PreviewState
    size: int = 0
    preview: PreviewResult | None = None
    previewed: datetime | None = None
    state: RequestState = RequestState.PENDING
    revision: int = 0
    polled: bool = False
    holders: int = 0
    edit: Edit | None = None
    edited_from: Prompt | None = None
    decision: Json = None
    reason: str = ""
    error: str = ""
    after: str = ""
    answer: StoredResult | None = None
    recorded: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    ending: asyncio.Lock = field(default_factory=asyncio.Lock)
    _shown: "tuple[tuple[int, int], Prompt, JsonObject] | None" = None

    @property
    def prompt(self) -> Prompt:
        """What the operator is shown."""
        return self._current()[0]

    @property
    def digest(self) -> str:
        """The digest of what the operator is shown."""
        return str(self._current()[1]["digest"])

    def prompted(self, args: JsonObject, preview: PreviewResult | None) -> Prompt:
        """The prompt for these arguments."""
        rows = input_rows(self.action.inputs, args)
        return Prompt("action", self.action.name, self.connector, args, rows, preview, self.asker, self.risk)

    def item(self, instance: str, head: str, prompt: Prompt | None = None) -> JsonObject:
        """The request as approvers get it: Aileron's fields, and everything a signed decision needs."""
        item = self._described(prompt) if prompt else dict(self._current()[1])
        item |= {"state": self.state, "preview_state": self.fetching, "instance": instance, "head": head}
        if self.reason:
            item["reason"] = self.reason
        if self.error:
            item["error"] = self.error
        if self.edited_from:
            item["edited_from"] = self.edited_from.fields()
        return item

    def _current(self) -> tuple[Prompt, JsonObject]:
        """What is shown now, without what changes by itself; made once for each revision."""
        key = (self.revision, id(self.args))
        if self._shown is None or self._shown[0] != key:
            prompt = self.prompted(self.args, self.preview)
            self._shown = (key, prompt, self._described(prompt))
        return self._shown[1:]

    def _described(self, shown: Prompt) -> JsonObject:
        item: JsonObject = {
            "id": self.id,
            "kind": shown.kind,
            "action_name": self.action.name,
            "connector_fqn": self.connector.name,
            "args": shown.args,
            "requested_at": timestamp(self.asked),
            "expires_at": timestamp(self.expires),
            "revision": self.revision,
            "digest": shown.digest,
            "prompt": shown.fields(),
            "inputs": [asdict(field) for field in self.action.inputs],
        }
        if self.asker.session:
            item["session_id"] = self.asker.session
        if shown.inputs:
            item["input_fields"] = _fields(shown.inputs)
        if shown.preview:
            lost = shown.preview.unavailable
            item["preview"] = (
                {"unavailable": unavailable_line(lost)} if lost else {"fields": _fields(shown.preview.rows)}
            )
        if self.previewed:
            item["previewed_at"] = timestamp(self.previewed)
        if self.after:
            item["asked_again"] = self.after
        return item

    def pending(self) -> JsonObject:
        """What an agent is told that has to come back."""
        message = f"Waiting for a person to approve {self.action.name}. Ask again for the result of {self.id}."
        return {"status": "pending_approval", "approval_id": self.id, "message": message}


def new_id(now: datetime) -> str:
    """An id that sorts by time and cannot be guessed."""
    return f"act-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"


def _fields(rows: tuple[Row, ...]) -> Json:
    """Rows in Aileron's shape, which leaves out what is empty or false."""
    return [{"label": row.label, **{key: item for key, item in asdict(row).items() if item}} for row in rows]
