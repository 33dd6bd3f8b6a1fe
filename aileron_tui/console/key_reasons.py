"""Why a key cannot be used now: pure functions of what its screen knows."""

from typing import TYPE_CHECKING, Final

from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import short
from aileron_tui.surface.board import Pill

if TYPE_CHECKING:
    from aileron_tui.core.request import Request
    from aileron_tui.surface.arming import Arming

_LONGEST_REASON: Final = 120
_NO_REQUEST: Final = "no request is selected"
_HIDDEN: Final = "the filter hides this request"


@dataclass(frozen=True, slots=True)
class KeyState:
    """What decides which keys of a screen can be used. With the defaults, all of them can.

    `request` is the selected request, `shown` the same request as drawn, with its edits. `answer_problem` says why the
    console cannot answer this request now, `console_problem` why it cannot answer any. `unread` says how much of the
    prompt has not been on screen and must be read before an approval.
    """

    has_request: bool = True
    details_open: bool = True
    details_loaded: bool = True
    text_loaded: bool = True
    text_fits_clipboard: bool = True
    request: "Request | None" = None
    shown: "Request | None" = None
    pill: Pill = Pill("")
    is_waiting: bool = True
    is_listed: bool = True
    is_on_screen: bool = True
    has_body: bool = True
    window_too_small: bool = False
    unread: str = ""
    arming: "Arming | None" = None
    has_warning: bool = False
    is_edited: bool = False
    answer_problem: str = ""
    console_problem: str = ""
    listed_waiting: int = 1
    has_marked: bool = True
    marked_busy: str = ""
    marked_hidden: int = 0
    holds_approval: bool = True
    lockable: bool = True
    has_log: bool = True
    has_guide: bool = True
    vault_problem: str = ""
    has_rule: bool = True
    rule_ended: bool = False
    has_command: bool = False


def always_available(_: KeyState) -> str:
    """The key can always be used."""
    return ""


def without_request(state: KeyState) -> str:
    """The key acts on a request."""
    return "" if state.has_request else _NO_REQUEST


def without_body(state: KeyState) -> str:
    """The key acts on a long text of the request that is shown."""
    return without_request(state) or ("" if state.has_body else "this request has no long text")


def not_shown(state: KeyState) -> str:
    """The key acts on the request that is shown; it must be in the list too."""
    if why := without_request(state):
        return why
    if not state.is_listed:
        return _HIDDEN
    return "the window is too small to show the request" if state.window_too_small else ""


def not_decidable(state: KeyState) -> str:
    """The key answers the request that is shown, or edits it first."""
    if why := without_request(state) or state.answer_problem:
        return why
    if not state.is_waiting:
        return f"nothing to answer here: {state.pill.short}"
    if why := not_shown(state):
        return why
    return state.pill.words or ("" if state.is_on_screen else "the request is not on screen yet")


def not_approvable(state: KeyState) -> str:
    """The key approves the request that is shown; what matters in it must have been on screen."""
    request, shown = state.request, state.shown or state.request
    if (why := not_decidable(state)) or request is None or shown is None:
        return why
    if request.deny_only:
        return f"can only be denied here: {short(request.deny_only, _LONGEST_REASON)}"
    if any(step.connector.needs for step in shown.prompt.steps):
        return "an account is needed first: see the warning"
    return "the preview is still being fetched" if shown.fetching else state.unread


def no_rule(state: KeyState) -> str:
    """The key makes a rule from the request that is shown; a rule covers what was read there."""
    request = state.request
    if request is not None and request.why_no_rules:
        return request.why_no_rules
    if (why := not_approvable(state)) or request is None:
        return why
    if state.is_edited or request.edited_from:
        return "a rule covers calls as the agent sends them: discard the edit first"
    if state.has_warning:
        return "no rule can allow a call with a warning"
    protected = _protected(request)
    return f"no rule can allow a call that names {protected}" if protected else ""


def _protected(request: "Request") -> str:
    from aileron_tui.core.protected_paths import protected_value  # noqa: PLC0415  # not needed before the first frame

    return protected_value(request.prompt.args)


def no_rule_to_end(state: KeyState) -> str:
    """The key ends the selected rule."""
    if state.console_problem or state.has_rule:
        return state.console_problem or ("this rule has already ended" if state.rule_ended else "")
    return "no rule is selected"


def not_markable(state: KeyState) -> str:
    """The key marks a request for a batch."""
    return not_shown(state) or ("" if state.is_waiting else "only a waiting request can be marked")


def nothing_listed(state: KeyState) -> str:
    """The key marks every waiting request in the list."""
    return "" if state.listed_waiting else "no request in the list is waiting"


def nothing_marked(state: KeyState) -> str:
    """The key answers the marked requests."""
    if state.console_problem or state.has_marked:
        return state.console_problem
    busy = state.marked_busy
    if busy:
        return f"the marked request cannot be answered now: {busy}"
    if hidden := state.marked_hidden:
        return "the filter hides the marked request" if hidden == 1 else f"the filter hides all {hidden:,} marked"
    return "nothing is marked: press space to mark a request"


def not_refreshable(state: KeyState) -> str:
    """The key fetches the preview again."""
    if why := without_request(state) or state.answer_problem:
        return why
    return state.request.why_not_refreshable if state.request is not None else ""


def not_extendable(state: KeyState) -> str:
    """The key extends the deadline of the request that is shown."""
    if why := without_request(state) or state.answer_problem:
        return why
    if not state.is_waiting:
        return f"nothing waits here: {state.pill.short}"
    if why := not_shown(state) or state.pill.words:
        return why
    return state.request.why_not_extendable if state.request else ""


def nothing_to_undo(state: KeyState) -> str:
    """The key cancels the newest approval that is not sent yet."""
    return "" if state.holds_approval else "there is nothing to undo"


def no_raw_view(state: KeyState) -> str:
    """The key shows the exact call of a request. The history must load it first."""
    if why := without_request(state):
        return why
    if not state.details_open:
        return "open the details first"
    return "" if state.details_loaded else "the source no longer has the exact call"


def not_copyable(state: KeyState) -> str:
    """The key copies the request's id and digest, a whole text, or the command that an empty console shows."""
    if state.has_command:
        return ""
    if why := without_request(state):
        return why
    if not state.text_loaded:
        return "still loading: try again in a moment"
    return "" if state.text_fits_clipboard else "too long for the terminal's clipboard"


def not_lockable(state: KeyState) -> str:
    """The key locks the console."""
    return "" if state.lockable else "cannot lock: your key has no passphrase"


def no_guide(state: KeyState) -> str:
    """Why there is no guide."""
    return "" if state.has_guide else "no guide: only the demo has one"


def no_log(state: KeyState) -> str:
    """The key shows the log."""
    return "" if state.has_log else "no log: only the demo and a gate in this window have one"


def no_vault(state: KeyState) -> str:
    """The key unlocks the vault of a daemon."""
    return state.vault_problem
