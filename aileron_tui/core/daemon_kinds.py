"""The kinds of request that an Aileron daemon makes, one declaration for each.

A declaration has everything that depends on the kind: the question, the labels of the args, which arg can be edited,
the risk, the cautions, and whether the daemon reports how a request ended. To add a kind, declare it and list it in
`KINDS`.

Actions are not listed here, because their manifests declare them. A request of an unknown kind is shown with all args.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.caution import Caution
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.values import dataclass

ACTION: Final = "action"

OPENCODE: Final = "opencode"
"""The kind of the calls about which opencode asks. Their rows depend on the tool, so the kind declares none."""

TOLD_BY_OPENCODE: Final = "told by opencode"
"""The heading above what opencode itself says about a call, which is not what would run."""

FILLED_IN: Final = "filled in by the daemon"
"""The label of values that a daemon filled in, so that they are not taken for what the agent sent."""

NO_EFFECT: Final = "the daemon restarted after the agent asked: nobody waits for the answer, so it has no effect"
"""Why an approval of an abandoned request does nothing."""

_SHELL_TIMEOUT: Final = timedelta(minutes=5)
_START_UNKNOWN_AFTER: Final = timedelta(minutes=5)
"""How long a request waits before it matters that the start of its daemon is not known."""


@dataclass(frozen=True, slots=True)
class KindArgument:
    """One arg of a kind and the label of its row. An optional arg has a row only if it was sent.

    `filled_in` means that the daemon fills in the value, not the agent.
    """

    name: str
    label: str
    multiline: bool = False
    optional: bool = False
    filled_in: bool = False


@dataclass(frozen=True, slots=True)
class EditableArgument:
    """The arg of a kind that can be edited. `sent_as` is its name in the answer to the daemon.

    `choices` are the allowed values, each with its meaning; without choices any text is allowed.
    """

    name: str
    sent_as: str
    required: bool = False
    choices: tuple[tuple[str, str], ...] = ()


def _no_cautions(_: JsonObject) -> Iterable[Caution]:
    return ()


@dataclass(frozen=True, slots=True)
class RequestKind:
    """Everything that depends on the kind of a request. `risk` and `cautions` compute theirs from the args."""

    name: str
    question: str
    arguments: tuple[KindArgument, ...]
    risk: Callable[[JsonObject], Risk]
    editable: EditableArgument | None = None
    cautions: Callable[[JsonObject], Iterable[Caution]] = _no_cautions
    reports_end: bool = True

    @property
    def form(self) -> tuple[JsonObject, ...]:
        """The inputs of the form in which a request of this kind is edited."""
        editable = self.editable
        if editable is None:
            return ()
        argument = next(argument for argument in self.arguments if argument.name == editable.name)
        field: JsonObject = {
            "name": editable.name,
            "type": "string",
            "required": editable.required,
            "label": argument.label,
            "multiline": argument.multiline,
        }
        return (field | {"choices": [list(choice) for choice in editable.choices]} if editable.choices else field,)


def split_by_origin(kind: str, args: JsonObject, rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows for these args that the agent sent, and those that the daemon filled in.

    The rows of declared args come first and in order, so their positions show what they are. A label does not, because
    an agent may choose it.
    """
    arguments = KINDS[kind].arguments if kind in KINDS else ()
    shown = [argument for argument in arguments if has_row(argument, args)]
    filled = {position for position, argument in enumerate(shown) if argument.filled_in}
    sent = tuple(row for position, row in enumerate(rows) if position not in filled)
    return sent, tuple(row for position, row in enumerate(rows) if position in filled)


def filled_in(kind: str) -> frozenset[str]:
    """The names of the args that the daemon fills in."""
    arguments = KINDS[kind].arguments if kind in KINDS else ()
    return frozenset(argument.name for argument in arguments if argument.filled_in)


def has_row(argument: KindArgument, args: JsonObject) -> bool:
    """Whether an arg has a row, even if only to show that it is missing."""
    return not argument.optional or argument.name in args


def is_abandoned(kind: str, asked: datetime | None, started: datetime | None) -> bool:
    """Whether a request is older than its daemon, which after a restart only resumes actions."""
    return kind in KINDS and asked is not None and started is not None and asked < started


def restart_caution(kind: str, asked: datetime | None, started: datetime | None) -> Iterator[Caution]:
    """What to know about a request that may be older than its daemon. Both times are from the daemon's clock."""
    if kind == ACTION:
        return
    if asked is None or started is None:
        if kind == _SHELL.name:
            return  # by then the shell has stopped waiting, which has its own caution
        text = "it is not known whether the daemon restarted after the agent asked; if so, an approval has no effect"
        yield Caution(text, after=_START_UNKNOWN_AFTER)
    elif is_abandoned(kind, asked, started):
        yield Caution(NO_EFFECT)
    elif asked < started:
        yield Caution("the daemon restarted after the agent asked: an approval may have no effect")
    elif not started.microsecond and asked - started < timedelta(seconds=1):  # daemons report whole seconds
        yield Caution("the daemon started in the same second that the agent asked: an approval may have no effect")


def reports_end(kind: str) -> bool:
    """Whether a daemon reports how a request of this kind ended. An unknown kind is assumed to be reported."""
    return kind not in KINDS or KINDS[kind].reports_end


def _fixed_risk(level: RiskLevel, reason: str) -> Callable[[JsonObject], Risk]:
    return lambda _: Risk(level, reason)


_COMMS_SEND: Final = RequestKind(
    "comms_send",
    "Send this message?",
    (KindArgument("service", "Service"), KindArgument("channel", "Channel"), KindArgument("body", "Body", True)),
    _fixed_risk(RiskLevel.HIGH, "cannot be taken back"),
)

_COMMS_DRAFT: Final = RequestKind(
    "comms_draft",
    "Send this reply?",
    (
        KindArgument("service", "Service", filled_in=True),
        KindArgument("channel", "Channel", filled_in=True),
        KindArgument("original_author", "Written by", filled_in=True),
        KindArgument("original_body", "Original", True, filled_in=True),
        KindArgument("reply_to", "Reply to"),
        KindArgument("draft_body", "Draft", True),
    ),
    _fixed_risk(RiskLevel.HIGH, "replies in your name"),
    EditableArgument("draft_body", sent_as="body", required=True),
)


def _http_risk(args: JsonObject) -> Risk:
    method, body = args.get("method"), args.get("body")
    if isinstance(method, str) and method.upper() in ("GET", "HEAD") and body in (None, ""):
        return Risk(RiskLevel.NORMAL, "may leak data by URL")
    return Risk(RiskLevel.HIGH, "may write or leak data")


def _http_cautions(args: JsonObject) -> Iterator[Caution]:
    yield Caution("headers from the agent, even Authorization, are sent too, but the daemon does not list them")
    if not args.get("secret_name"):
        yield Caution("no vault credential is added")


_HTTP_REQUEST: Final = RequestKind(
    "http_request",
    "Make this HTTP request?",
    (
        KindArgument("method", "Method"),
        KindArgument("url", "URL"),
        KindArgument("secret_name", "Credential", filled_in=True),
        KindArgument("body", "Body", True),
    ),
    _http_risk,
    cautions=_http_cautions,
)

_RULE_SCOPES: Final = (
    ("", "once: ask again next time"),
    ("project", "always in this project"),
    ("user", "always, for this user"),
)


def _shell_cautions(args: JsonObject) -> Iterator[Caution]:
    yield Caution("the shell stopped waiting after 5 minutes: an answer may have no effect", after=_SHELL_TIMEOUT)
    if scope := args.get("save_policy"):
        words = dict(_RULE_SCOPES).get(scope) if isinstance(scope, str) else None
        yield Caution(f"approving also saves a rule{f' ({words})' if words else ''}: matching commands will not ask")


_SHELL: Final = RequestKind(
    "shell",
    "Run this command?",
    (
        KindArgument("command", "Command", True),
        KindArgument("reason", "Rule"),
        KindArgument("cwd", "Folder", optional=True),
        KindArgument("save_policy", "Save as rule", optional=True),
    ),
    _fixed_risk(RiskLevel.HIGH, "can do what you can"),
    EditableArgument("save_policy", sent_as="save_policy", choices=_RULE_SCOPES),
    _shell_cautions,
    # The shell gets its answer from the daemon and runs the command itself.
    reports_end=False,
)

KINDS: Final = {kind.name: kind for kind in (_COMMS_SEND, _COMMS_DRAFT, _HTTP_REQUEST, _SHELL)}
