"""One request in the gate, and how it is presented to approvers and to its agent."""

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from aileron_tui.core.action import Action, Input
from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt, unavailable_line
from aileron_tui.core.prompt_rows import Row, input_rows
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.core.risk import Risk
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.core.tool_call import ResolvedTool
from aileron_tui.core.values import dataclass
from aileron_tui.gate.call_inputs import tool_inputs
from aileron_tui.gate.replies import compact_json
from aileron_tui.ledger.request_deadline import RequestDeadline
from aileron_tui.ledger.store import StoredResult
from aileron_tui.sandbox.sandbox import Sandbox


class PreviewState(StrEnum):
    """Whether a request has a preview, and whether it has been fetched."""

    NONE = "none"
    FETCHING = "fetching"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class FetchedPreview:
    """A preview, and what it is known to reflect: when its fetch began, and what had run until then.

    `began_at` is shown. `uptime` is the same moment in seconds on a clock that nobody can set, and tells its age.
    `changes` counts how often ops had begun or ended on what the call uses (`ConnectorActivity`).
    """

    result: PreviewResult
    began_at: datetime
    uptime: float
    changes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Edit:
    """An edited call: what the operator changed, and the resulting prompt."""

    edits: JsonObject
    call: ResolvedCall | ResolvedTool
    prompt: Prompt
    fetched: FetchedPreview | None


@dataclass(frozen=True, slots=True)
class ToolDoor:
    """The door through which a tool call came: its name, the id it gave the call, and what it can do.

    `seconds` is how long it can wait for the answer, 0 if it did not say. `batch` is what it calls the calls that
    belong together. `resumable` means that it may fetch an approval much later, for example after a crash.
    """

    name: str = ""
    call_id: str = ""
    can_edit: bool = False
    seconds: int = 0
    batch: str = ""
    resumable: bool = False


@dataclass(slots=True, eq=False)
class GateRequest:
    """One gated call that waits or runs. `call` is what is shown, and exactly what runs.

    `end_lock` is held while the end of the request is recorded, so that it cannot end twice. `polled` is set once the
    agent has been asked to poll for the result; `waiting_clients` counts the connections that are waiting for it.
    `decision` is the envelope of the decision. `edited_from` is the prompt of the original call if an edited call was
    approved. `repeats` is the id of an earlier request for the same call that may have taken effect. `unrecorded` says
    how the request ended as long as that could not be recorded. `extended_by` names the approver of each extension.
    `rule` is the rule that answered the request, and `rule_envelope` its signed form; `handed_over` means that its
    result goes to an agent that waits for it, and is not stored. `ended` is set once there is something to tell the
    agent: the end of the request, or the approval of a tool call. `door` is set only for a tool call, which has no
    sandbox. `size` is how much is kept while it waits; of that, `preview_size` is not recorded.
    `compiling_since` is when the compilation began that its preview waits for, "" if it waits for none.
    """

    id: str
    fingerprint: str
    agent: str
    call: ResolvedCall | ResolvedTool
    asker: Asker
    risk: Risk
    sandbox: Sandbox | None
    asked_at: datetime
    deadline: RequestDeadline
    preview_state: PreviewState
    size: int = 0
    preview_size: int = 0
    compiling_since: str = ""
    fetched: FetchedPreview | None = None
    state: RequestState = RequestState.PENDING
    revision: int = 0
    polled: bool = False
    waiting_clients: int = 0
    edit: Edit | None = None
    edited_from: Prompt | None = None
    decision: Json = None
    reason: str = ""
    error: str = ""
    repeats: str = ""
    unrecorded: str = ""
    extended_by: tuple[str, ...] = ()
    rule: str = ""
    rule_envelope: Json = None
    handed_over: bool = False
    door: ToolDoor | None = None
    result: StoredResult | None = None
    recorded: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    end_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _rendered: "tuple[tuple[int, int], bytes] | None" = None
    _shown_prompt: "tuple[tuple[int, int], Prompt | None, str] | None" = None
    _shown_deadline: "tuple[RequestDeadline, JsonObject] | None" = None

    @property
    def tool(self) -> ResolvedTool | None:
        """The tool call, or None if an action is called."""
        return self.call if isinstance(self.call, ResolvedTool) else None

    @property
    def action_call(self) -> ResolvedCall:
        """The call of an action. Must not be used for a tool call."""
        if not isinstance(self.call, ResolvedCall):
            raise TypeError(f"{self.id} is a tool call")
        return self.call

    @property
    def action(self) -> Action:
        """The action that is called. Must not be used for a tool call."""
        return self.action_call.action

    @property
    def name(self) -> str:
        """The name of the action or the tool."""
        return self.call.call.tool if isinstance(self.call, ResolvedTool) else self.call.action.name

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of the call, as its manifest declares them or as the tool call has them."""
        return tool_inputs(self.call.args) if isinstance(self.call, ResolvedTool) else self.call.action.inputs

    @property
    def kind(self) -> CallKind:
        """Whether it is a call of an action or of a tool."""
        return self.call.call.kind if isinstance(self.call, ResolvedTool) else CallKind.ACTION

    @property
    def args(self) -> JsonObject:
        """The inputs of the call."""
        return self.call.args

    @property
    def connector(self) -> ConnectorRef:
        """The connector of the first step."""
        return self.call.connector

    @property
    def used(self) -> frozenset[str]:
        """What an action uses, as `ConnectorActivity` names it. What a tool call uses is not known."""
        return self.sandbox.used_by(self.action_call) if self.sandbox else frozenset()

    @property
    def preview(self) -> PreviewResult | None:
        """The preview that the operator is shown."""
        if isinstance(self.call, ResolvedTool):
            return self.call.shown.preview
        return self.fetched.result if self.fetched else None

    @property
    def expires_at(self) -> datetime:
        """When the request expires by the wall clock."""
        return self.deadline.expires

    @property
    def is_recorded(self) -> bool:
        """Whether the request is in the ledger; until then it is shown nowhere."""
        return self.recorded.done() and not self.recorded.cancelled() and self.recorded.exception() is None

    @property
    def is_waiting(self) -> bool:
        """Whether the request waits for an answer."""
        return self.state is RequestState.PENDING and self.is_recorded

    @property
    def prompt(self) -> Prompt:
        """The prompt that the operator is shown."""
        return self._built()[0]

    @property
    def digest(self) -> str:
        """The digest of the prompt."""
        shown = self._shown_prompt
        return shown[2] if shown and shown[0] == (self.revision, id(self.call)) else self._built()[1]

    def prompt_for(self, call: ResolvedCall | ResolvedTool, preview: PreviewResult | None) -> Prompt:
        """Builds the prompt for a call. That of a tool call has what the gate itself read as its preview."""
        if isinstance(call, ResolvedTool):
            return tool_request_prompt(call, self.asker)
        rows, name = input_rows(call.action.inputs, call.args), call.action.name
        asked = (call.connector, call.args, rows, preview, self.asker, self.risk, call.steps)
        return Prompt("action", name, *asked, warnings=(*call.needs, *call.warnings))

    def to_json(self, instance: str, head: str, prompt: Prompt | None = None) -> JsonObject:
        """Returns the request as sent to approvers: Aileron's fields, and everything a signed decision needs."""
        item: JsonObject = self._prompt_json(prompt, prompt.digest) if prompt else json.loads(self._encoded_prompt())
        return item | self._state_json(instance, head)

    def encoded(self, instance: str, head: str, **more: Json) -> bytes:
        """Returns the same as `to_json`, with some more fields, as bytes. The prompt is encoded once per revision."""
        state = compact_json(self._state_json(instance, head) | more)
        return b"".join((memoryview(self._encoded_prompt())[:-1], b",", memoryview(state)[1:]))

    def render(self) -> None:
        """Builds what approvers are shown; it is cached. May be called in any thread."""
        self._encoded_prompt()

    def forget_rendered(self) -> None:
        """Frees the memory for what approvers are shown; it is built again if it is needed."""
        self._rendered = self._shown_prompt = None

    def _state_json(self, instance: str, head: str) -> JsonObject:
        item: JsonObject = {
            "state": self.state,
            "preview_state": self.preview_state,
            "instance": instance,
            "head": head,
            **self._deadline_json(),
        }
        if self.compiling_since:
            item["compiling_since"] = self.compiling_since
        if self.unrecorded or self.reason:
            item["reason"] = self.unrecorded or self.reason
        if self.error:
            item["error"] = self.error
        if self.rule:
            item["rule"] = self.rule
        if self.edited_from:
            item["edited_from"] = self.edited_from.fields()
        return item

    def _deadline_json(self) -> JsonObject:
        """Returns until when the request waits. A snapshot has this for every waiting request, so it is cached."""
        if self._shown_deadline is None or self._shown_deadline[0] is not self.deadline:
            item: JsonObject = {"expires_at": timestamp(self.expires_at)}
            if self.deadline.latest:
                item["extendable_until"] = timestamp(self.deadline.latest)
            if self.extended_by:
                item["extended_by"] = list(self.extended_by)
            self._shown_deadline = (self.deadline, item)
        return self._shown_deadline[1]

    def _built(self) -> tuple[Prompt, str]:
        """Returns the prompt and its digest, built once per revision; the prompt again after it was encoded."""
        key, known = (self.revision, id(self.call)), self._shown_prompt
        if known is None or known[0] != key:
            prompt = self.prompt_for(self.call, self.preview)
            digest = prompt.digest
        elif known[1] is not None:
            return known[1], known[2]
        else:
            prompt, digest = self.prompt_for(self.call, self.preview), known[2]
        self._shown_prompt = (key, prompt, digest)
        return prompt, digest

    def _encoded_prompt(self) -> bytes:
        """Returns the JSON of the prompt, built once per revision. Only its bytes are kept: values take ten times more.

        The key is read first: a change of the request while this runs in another thread also increases the revision,
        so what was built from a mixture of old and new is never used.
        """
        key = (self.revision, id(self.call))
        if self._rendered is None or self._rendered[0] != key:
            prompt, digest = self._built()
            self._rendered = (key, compact_json(self._prompt_json(prompt, digest)))
            self._shown_prompt = (key, None, digest)
        return self._rendered[1]

    def _prompt_json(self, prompt: Prompt, digest: str) -> JsonObject:
        item: JsonObject = {
            "id": self.id,
            "kind": prompt.kind,
            "action_name": self.name,
            "connector_fqn": self.connector.name,
            "args": prompt.args,
            "requested_at": timestamp(self.asked_at),
            "revision": self.revision,
            "digest": digest,
            "prompt": prompt.fields(),
            "inputs": self._form(),
        }
        if self.door:
            item["door"] = self.door.name
            if self.door.batch:
                item["batch"] = self.door.batch
            if self.door.resumable:
                item["resumable"] = True
            if not self.door.can_edit:
                item["not_editable"] = "what asks for this call cannot pass on an edit"
        if self.asker.session:
            item["session_id"] = self.asker.session
        if prompt.inputs:
            item["input_fields"] = _rows_json(prompt.inputs)
        if prompt.preview:
            reason = prompt.preview.unavailable
            item["preview"] = (
                {"unavailable": unavailable_line(reason)} if reason else {"fields": _rows_json(prompt.preview.rows)}
            )
        if self.fetched:
            item["previewed_at"] = timestamp(self.fetched.began_at)
        if self.repeats:
            item["asked_again"] = self.repeats
        return item

    def _form(self) -> Json:
        """The fields that can be edited."""
        return [_fields_of(input_) for input_ in self.inputs] if self.door is None or self.door.can_edit else []

    def pending_reply(self) -> JsonObject:
        """The reply that tells an agent to poll for the result."""
        message = f"{self._progress()} Poll for the result of {self.id}."
        return self._status_json() | {"approval_id": self.id, "message": message}

    def poll_reply(self) -> JsonObject:
        """The reply to a poll while the request has no recorded end."""
        status = self._status_json()
        return status | {"message": self._progress()} if self.unrecorded else status

    def _status_json(self) -> JsonObject:
        status: JsonObject = {"status": self._status()}
        return status | {"expires_at": self._deadline_json()["expires_at"]} if self.is_waiting else status

    def _status(self) -> str:
        return "running" if self.state in (RequestState.APPROVED, RequestState.RUNNING) else "pending_approval"

    def _progress(self) -> str:
        if self.unrecorded:
            return f"{self.name}: {self.unrecorded}."
        if self._status() == "running":
            return f"{self.name} was approved{'' if self.door else ' and is running'}."
        return f"Waiting for approval of {self.name}."


def tool_request_prompt(call: ResolvedTool, asker: Asker) -> Prompt:
    """The prompt for a tool call."""
    tool, shown = call.call, call.shown
    return Prompt(
        tool.kind,
        tool.tool,
        call.connector,
        tool.args,
        shown.rows,
        shown.preview,
        asker,
        shown.risk,
        question=shown.question,
        warnings=shown.warnings,
    )


def new_id(now: datetime) -> str:
    """Returns an id that sorts by time and cannot be guessed."""
    return f"act-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"


def _rows_json(rows: tuple[Row, ...]) -> Json:
    """Rows in Aileron's format, which omits empty and false values."""
    return [{"label": row.label, **{key: item for key, item in _fields_of(row).items() if item}} for row in rows]


def _fields_of(value: Input | Row) -> JsonObject:
    """The fields of a value that has no nested ones. `asdict` is ten times as slow, because it copies everything."""
    return {name: getattr(value, name) for name in value.__slots__}
