"""A request as a surface knows it: the waiting call, its prompt, and what its source reports about it."""

from datetime import UTC, datetime, timedelta
from os import urandom
from typing import TYPE_CHECKING, Final

from aileron_tui.core.decision import Statement, Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import moment, timestamp
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:  # a surface draws its first frame before it has a prompt to show
    from aileron_tui.core.caution import Caution
    from aileron_tui.core.deadline_extension import Extension
    from aileron_tui.core.prompt import Prompt

DECISION_LIFETIME: Final = timedelta(minutes=2)
RESUMING_LIFETIME: Final = timedelta(minutes=15)
"""How long an approval is valid for a program that may come back for it after a crash."""

THE_DAEMON: Final = "the daemon"


def request_key(source: str, id_: str) -> str:
    """Identifies a request among those of all sources."""
    return f"{source} {id_}" if source else id_


@dataclass(frozen=True, slots=True)
class Request:
    """One gated call. The surface builds the prompt itself, so `digest` covers what is shown, not the source's claim.

    `revision` increases with each change the gate makes to the request. `fetching` means that the preview is still
    being fetched. `fields` is the source's own JSON. `source` is the operator's name for the source of the request, ""
    if there is only one source. `reason` is what the source says about the current state.

    `daemon` marks a request of a daemon or of opencode, which runs the call itself: it fetched the preview when it made
    the request, and the agent's name is only a claim. `runner` is what messages call it. `deny_only` says why a request
    can be denied but not approved. `edited_from` is the prompt of the original call if `prompt` is an edited one.
    `vanished` means that the source no longer lists the request and has not reported what happened to it.

    `question` is the question to the operator, "" for the usual one about an action. `cautions` are shown with it, the
    most serious first. `reports_end` is False if the source never reports how the call ended. `abandoned` means that
    nobody waits for the answer any more, so an approval has no effect. `extendable_until` is the time to which the
    deadline can be extended, "" if it cannot, and `extended_by` names the approver of each extension so far.
    """

    id: str
    prompt: "Prompt"
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
    edited_from: "Prompt | None" = None
    vanished: bool = False
    question: str = ""
    cautions: "tuple[Caution, ...]" = ()
    reports_end: bool = True
    abandoned: bool = False
    extendable_until: str = ""
    extended_by: tuple[str, ...] = ()
    runner: str = THE_DAEMON

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", frozen_object(self.fields))
        object.__setattr__(self, "cautions", tuple(self.cautions))
        object.__setattr__(self, "extended_by", tuple(self.extended_by))

    @property
    def edit(self) -> JsonObject | None:
        """The original inputs and the approved ones as JSON, or None if nothing was edited."""
        if not self.edited_from:
            return None
        from aileron_tui.core.edits import edit_fields  # noqa: PLC0415  # few requests are edited

        return edit_fields(self.edited_from.args, self.prompt.args)

    @property
    def refreshable(self) -> bool:
        """Whether the preview can be fetched again."""
        return not self.daemon and not self._told

    @property
    def _told(self) -> bool:
        """Whether the preview was told by what asks."""
        return self.prompt.preview is not None and bool(self.prompt.preview.told_by)

    @property
    def why_not_refreshable(self) -> str:
        """Why the preview cannot be fetched again, "" if it can."""
        if self.refreshable:
            return ""
        if self._told:
            return "the gate cannot fetch this preview: the program that asks told it"
        if self.runner == THE_DAEMON:
            return "the daemon fetched this preview once and cannot fetch it again"
        return f"{self.runner} reports changes by itself: there is nothing to fetch again"

    @property
    def why_no_rules(self) -> str:
        """Why no rule can be made from the request, "" if its source has rules."""
        if not self.daemon:
            return ""
        who = "a daemon" if self.runner == THE_DAEMON else self.runner
        return f"{who} has no rules: it decides itself what it asks about"

    @property
    def key(self) -> str:
        """Identifies the request among those of all sources."""
        return request_key(self.source, self.id)

    def seconds_left(self, now: datetime) -> float:
        """The number of seconds until the request expires; 0 if its deadline cannot be parsed."""
        try:
            return max(0.0, (moment(self.expires_at) - now).total_seconds())
        except ValueError:
            return 0.0

    @property
    def why_not_extendable(self) -> str:
        """Why the deadline cannot be extended, "" if it can."""
        if self.daemon:
            return "the daemon sets this deadline" if self.runner == THE_DAEMON else f"{self.runner} sets no deadline"
        if not self.extendable_until:
            return "this deadline cannot be extended"
        return "this request cannot wait any longer" if self.expires_at >= self.extendable_until else ""

    def cautions_at(self, now: datetime) -> tuple[str, ...]:
        """The cautions that apply at this time, the most serious first."""
        try:
            waited = now - moment(self.requested_at)
        except ValueError:
            waited = timedelta(0)
        reasons = (f"cannot be approved here, only denied: {self.deny_only}",) if self.deny_only else ()
        return (
            *reasons,
            *(caution.text for caution in self.cautions if not caution.after or waited > caution.after),
        )

    def extension(self, *, surface: str, now: datetime) -> "Extension":
        """The extension of the deadline to sign."""
        from aileron_tui.core.deadline_extension import Extension, next_deadline  # noqa: PLC0415  # not at the start

        if why := self.why_not_extendable:
            raise AileronError("the deadline was not extended", why)
        try:
            expires = next_deadline(moment(self.expires_at), moment(self.extendable_until))
        except (ValueError, OverflowError):
            raise AileronError("the deadline was not extended", "the source sent an invalid time") from None
        return Extension(
            request=self.id,
            instance=self.instance,
            before=self.expires_at,
            expires=timestamp(expires),
            surface=surface,
            time=timestamp(now),
            head=self.head,
        )

    def statement(
        self, verdict: Verdict, *, reason: str = "", edits: JsonObject | None = None, surface: str, now: datetime
    ) -> Statement:
        """The statement to sign for a decision on exactly this prompt."""
        if verdict is Verdict.APPROVE and self.deny_only:
            raise AileronError("this request cannot be approved here", self.deny_only, "Deny it, or answer elsewhere.")
        lifetime = RESUMING_LIFETIME if self.fields.get("resumable") is True else DECISION_LIFETIME
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
            expires=timestamp(now.astimezone(UTC) + lifetime),
            nonce=urandom(16).hex(),
            head=self.head,
        )
