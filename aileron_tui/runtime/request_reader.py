"""Requests as a gate sends them, believed only as far as they can be checked."""

from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Final

from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.edits import edit_fields
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject
from aileron_tui.core.prompt import Prompt, read_prompt
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.values import dataclass
from aileron_tui.core.waiting import Request
from aileron_tui.runtime.errors import Untrustworthy

LIFE: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Item:
    """A request whose prompt we rebuilt ourselves: its digest is of what is shown, not of what the gate says.

    `fetching` means that a preview is still to come; `fields` is the gate's own record, for machines; `source` is the
    operator's name for where it comes from, "" where there is only one place.

    `daemon` marks the request of a real Aileron runtime, which runs the call itself: its preview is from the time of
    asking, and who asks is what the agent says. `deny_only` is why a request can be denied but not approved.
    `edited_from` is what was asked, where `prompt` is the edited call that is or was approved instead.
    """

    id: str
    prompt: Prompt
    digest: str
    state: RequestState
    requested_at: str
    expires_at: str
    revision: int
    fetching: bool
    instance: str
    head: str
    asked_again: str
    reason: str
    fields: JsonObject
    source: str = ""
    daemon: bool = False
    deny_only: str = ""
    edited_from: Prompt | None = None

    @property
    def edit(self) -> JsonObject | None:
        """What was asked and what is approved instead, for machines, or None."""
        return edit_fields(self.edited_from.args, self.prompt.args) if self.edited_from else None

    @property
    def refreshable(self) -> bool:
        """Whether its preview can be fetched again."""
        return not self.daemon

    @property
    def key(self) -> str:
        """What tells it apart from every other request, those of other sources too."""
        return f"{self.source} {self.id}" if self.source else self.id

    @property
    def request(self) -> Request:
        """The request as a queue keeps it."""
        return Request(
            self.key,
            self.prompt,
            self.requested_at,
            self.expires_at,
            self.state,
            self.reason,
            self.revision,
            self.source,
        )

    def seconds_left(self, now: datetime) -> float:
        """How long it still waits; 0 if its end cannot be read."""
        try:
            return max(0.0, (moment(self.expires_at) - now).total_seconds())
        except ValueError:
            return 0.0

    def statement(
        self, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None, surface: str, now: datetime
    ) -> Statement:
        """What an answer to exactly this prompt says, ready to be signed."""
        if verdict is Verdict.APPROVE and self.deny_only:
            raise AileronError("this request cannot be approved here", self.deny_only, "Deny it, or answer elsewhere.")
        return Statement(
            request=self.id,
            instance=self.instance,
            action=self.prompt.action,
            connector=self.prompt.connector.hash,
            digest=self.digest,
            verdict=verdict,
            edits=edits,
            reason=reason,
            surface=surface,
            time=timestamp(now.astimezone(UTC)),
            expires=timestamp(now.astimezone(UTC) + LIFE),
            nonce=token_hex(16),
            head=self.head,
        )


def read_item(value: Json, instance: str = "", source: str = "") -> Item:
    """The request in a gate's JSON, or Untrustworthy. `instance` is the gate we know that we talk to."""
    if not isinstance(value, dict):
        raise Untrustworthy("the gate sent something that is not a request")
    before = value.get("edited_from")
    try:
        prompt = read_prompt(value.get("prompt"))
        edited_from = None if before is None else read_prompt(before)
        digest = prompt.digest
    except JsonError as error:
        raise Untrustworthy("the gate sent a prompt that cannot be read", str(error)) from None
    texts = {name: _text(value, name) for name in ("id", "digest", "state", "requested_at", "instance", "head")}
    if texts["digest"] != digest:
        raise Untrustworthy(
            "the gate's digest does not fit what it shows",
            f"{texts['id']}: it says {texts['digest']}, the prompt gives {digest}",
            "Do not answer. The gate, or something between it and you, is broken.",
        )
    if instance and texts["instance"] != instance:
        raise Untrustworthy("the request is of another gate", f"{texts['instance']} instead of {instance}")
    if value.get("action_name") != prompt.action:
        raise Untrustworthy("the request and its prompt name different actions", texts["id"])
    if texts["state"] not in set(RequestState):
        raise Untrustworthy("the gate sent a request in an unknown state", texts["state"])
    revision = value.get("revision", 0)
    return Item(
        id=texts["id"],
        prompt=prompt,
        digest=digest,
        state=RequestState(texts["state"]),
        requested_at=texts["requested_at"],
        expires_at=_text(value, "expires_at", optional=True),
        revision=revision if isinstance(revision, int) else 0,
        fetching=value.get("preview_state") == "fetching",
        instance=texts["instance"],
        head=texts["head"],
        asked_again=_text(value, "asked_again", optional=True),
        reason=_text(value, "reason", optional=True),
        fields=value,
        source=source,
        edited_from=edited_from,
    )


def _text(value: JsonObject, name: str, *, optional: bool = False) -> str:
    found = value.get(name, "" if optional else None)
    if not isinstance(found, str):
        raise Untrustworthy("the gate sent a request without a field it must have", name)
    return found
