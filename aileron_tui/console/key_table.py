"""Every key of the console in one table.

Bindings, footers, help, the command palette, docs/keys.md and the check whether a key can be used now all come from it.
Users name an action by its id in their keymap.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from textual.binding import Binding

from aileron_tui.console import key_reasons as reasons
from aileron_tui.console.fixed_keys import FIXED_KEYS
from aileron_tui.console.key_actions import KeyAction, KeyGroup, KeyScope
from aileron_tui.console.key_names import same_form

_HISTORY: Final = (KeyScope.HISTORY,)
_LISTS: Final = (KeyScope.MAIN, KeyScope.HISTORY)
_RULES: Final = (KeyScope.RULES,)
_ASIDE: Final = (KeyScope.HISTORY, KeyScope.RAW, KeyScope.BODY, KeyScope.RULES, KeyScope.HELP)
_BODY: Final = (KeyScope.BODY,)

ACTIONS: Final = (
    KeyAction(
        "approve",
        "a",
        "approve",
        "Approve the request on screen, once it has been read. High risk must be confirmed.",
        KeyGroup.ANSWER,
        rank=1,
        danger=True,
        key_only=True,
        armed=True,
        why_unavailable=reasons.not_approvable,
    ),
    KeyAction(
        "deny",
        "d",
        "deny",
        "Deny the request on screen. Nothing runs.",
        KeyGroup.ANSWER,
        rank=2,
        danger=True,
        key_only=True,
        armed=True,
        why_unavailable=reasons.not_decidable,
    ),
    KeyAction(
        "deny_reason",
        "D",
        "deny with reason",
        "Deny the request on screen and tell the agent why.",
        KeyGroup.ANSWER,
        rank=3,
        short="reason",
        danger=True,
        armed=True,
        why_unavailable=reasons.not_decidable,
    ),
    KeyAction(
        "edit",
        "e",
        "edit",
        "Change the inputs, then approve the edited call.",
        KeyGroup.ANSWER,
        rank=4,
        why_unavailable=reasons.not_decidable,
    ),
    KeyAction(
        "rule",
        "R",
        "rule",
        "Make a rule that allows calls like this one, without asking, until it ends.",
        KeyGroup.ANSWER,
        rank=8,
        why_unavailable=reasons.no_rule,
    ),
    KeyAction(
        "mark",
        "space",
        "mark",
        "Mark the request for a batch, or unmark it, and go to the next.",
        KeyGroup.ANSWER,
        rank=6,
        why_unavailable=reasons.not_markable,
    ),
    KeyAction(
        "mark_all",
        "*",
        "mark all",
        "Mark every waiting request in the list (500 at most), or unmark all.",
        KeyGroup.ANSWER,
        rank=11,
        why_unavailable=reasons.nothing_listed,
    ),
    KeyAction(
        "approve_marked",
        "A",
        "approve marked",
        "Review the marked requests, each set to approve.",
        KeyGroup.ANSWER,
        rank=12,
        why_unavailable=reasons.nothing_marked,
    ),
    KeyAction(
        "deny_marked",
        "X",
        "deny marked",
        "Review the marked requests, each set to deny.",
        KeyGroup.ANSWER,
        rank=13,
        why_unavailable=reasons.nothing_marked,
    ),
    KeyAction(
        "undo",
        "u",
        "undo",
        "Cancel the newest approval that is not sent yet.",
        KeyGroup.ANSWER,
        rank=9,
        why_unavailable=reasons.nothing_to_undo,
    ),
    KeyAction(
        "extend",
        "+",
        "5 min",
        "Wait five more minutes for an answer to the request on screen.",
        KeyGroup.ANSWER,
        rank=10,
        keeps_armed=True,
        why_unavailable=reasons.not_extendable,
    ),
    KeyAction("down", "j,down", "down", "Go to the next request; pgdn and end go further.", KeyGroup.MOVE, _LISTS),
    KeyAction("up", "k,up", "up", "Go to the previous request; pgup and home go further.", KeyGroup.MOVE, _LISTS),
    KeyAction(
        "next_waiting",
        "n",
        "next",
        "Go to the next waiting request; from the last one, to the first.",
        KeyGroup.MOVE,
        rank=5,
    ),
    KeyAction("next_pane", "tab", "next pane", "Go to the next pane.", KeyGroup.MOVE, _LISTS),
    KeyAction(
        "focus_prompt",
        "enter",
        "read",
        "Go to the prompt, then to the next lines that must be read before you can approve. Enter never answers.",
        KeyGroup.MOVE,
    ),
    KeyAction(
        "page_down",
        "pagedown",
        "page down",
        "Read on in the prompt, by one page. Where the list has several lines and the focus, goes down in the list.",
        KeyGroup.MOVE,
        runs="page(1)",
        fixed=True,
    ),
    KeyAction(
        "page_up",
        "pageup",
        "page up",
        "Scroll the prompt up by one page, or go up in the list.",
        KeyGroup.MOVE,
        runs="page(-1)",
        fixed=True,
    ),
    KeyAction("history.first", "g,home", "newest", "Go to the newest request.", KeyGroup.MOVE, _HISTORY),
    KeyAction("history.last", "G,end", "oldest", "Go to the oldest request loaded so far.", KeyGroup.MOVE, _HISTORY),
    KeyAction("filter", "/", "filter", "Show only waiting requests that contain what you type.", KeyGroup.LOOK, rank=8),
    KeyAction("clear_filter", "escape", "clear filter", "Show all waiting requests again.", KeyGroup.LOOK),
    KeyAction("history", "h", "history", "Show everything that was asked, decided and done.", KeyGroup.LOOK, rank=8),
    KeyAction(
        "details",
        "o",
        "details",
        "Show or hide who asks and what would run in detail: session, connector, hash and signature.",
        KeyGroup.LOOK,
        rank=10,
        why_unavailable=reasons.without_request,
    ),
    KeyAction(
        "body",
        "f",
        "full screen",
        "Show a long text of the prompt on the full screen, with a search. Reading it there does not count.",
        KeyGroup.LOOK,
        rank=13,
        why_unavailable=reasons.without_body,
    ),
    KeyAction("body.search", "/", "search", "Search the text; capitals do not matter.", KeyGroup.LOOK, _BODY, rank=1),
    KeyAction("body.next", "n", "next", "Go to the next match.", KeyGroup.LOOK, _BODY, rank=2, runs="find(1)"),
    KeyAction("body.last", "N", "previous", "Go to the previous match.", KeyGroup.LOOK, _BODY, rank=3, runs="find(-1)"),
    KeyAction(
        "raw",
        "v",
        "raw",
        "Show the exact inputs and preview as JSON.",
        KeyGroup.LOOK,
        _LISTS,
        rank=10,
        why_unavailable=reasons.no_raw_view,
    ),
    KeyAction(
        "refresh",
        "r",
        "refresh",
        "Fetch the preview again.",
        KeyGroup.LOOK,
        rank=11,
        why_unavailable=reasons.not_refreshable,
    ),
    KeyAction(
        "log",
        "l",
        "log",
        "Show the log of the demo's agent, or of the gate in this window.",
        KeyGroup.LOOK,
        rank=8,
        optional=True,
        why_unavailable=reasons.no_log,
    ),
    KeyAction(
        "history.search",
        "/",
        "search",
        "Search action, connector, agent, inputs, edits, reason and outcome. `rec*` finds words that start with rec.",
        KeyGroup.LOOK,
        _HISTORY,
        rank=1,
    ),
    KeyAction(
        "history.open",
        "enter",
        "details",
        "Show or hide everything about the request.",
        KeyGroup.LOOK,
        _HISTORY,
        rank=2,
        why_unavailable=reasons.without_request,
    ),
    KeyAction(
        "history.outcome",
        "o",
        "outcome",
        "Show only requests with one outcome; press again for the next outcome.",
        KeyGroup.LOOK,
        _HISTORY,
        rank=3,
        runs="outcome(1)",
    ),
    KeyAction(
        "rules",
        "ctrl+r",
        "rules",
        "Show the rules in force, how often they were used and when they end, and end one.",
        KeyGroup.LOOK,
        rank=10,
    ),
    KeyAction(
        "rules.end",
        "x",
        "end rule",
        "End the selected rule now. Its calls are asked about again.",
        KeyGroup.ANSWER,
        _RULES,
        rank=1,
        danger=True,
        why_unavailable=reasons.no_rule_to_end,
    ),
    KeyAction("rules.ended", "o", "ended", "Show or hide rules that have ended.", KeyGroup.LOOK, _RULES, rank=2),
    KeyAction("rules.reload", "r", "reload", "Load the rules again.", KeyGroup.LOOK, _RULES, rank=3),
    KeyAction(
        "history.chart",
        "c",
        "chart",
        "Show or hide decisions per day and the time to decide.",
        KeyGroup.LOOK,
        _HISTORY,
        rank=5,
    ),
    KeyAction("history.export", "x", "export", "Write the search results to a file.", KeyGroup.LOOK, _HISTORY, rank=4),
    KeyAction("history.reload", "r", "reload", "Load the newest requests again.", KeyGroup.LOOK, _HISTORY, rank=9),
    KeyAction(
        "history.outcome_back",
        "O",
        "outcome back",
        "Go back to the outcome before.",
        KeyGroup.LOOK,
        _HISTORY,
        runs="outcome(-1)",
    ),
    KeyAction(
        "help.search",
        "/",
        "search",
        "Show only keys that match what you type.",
        KeyGroup.LOOK,
        (KeyScope.HELP,),
        rank=1,
    ),
    KeyAction(
        "copy",
        "y",
        "copy",
        "Copy the id and the digest; in the raw view, the whole text; in an empty console, the command to try.",
        KeyGroup.LOOK,
        (KeyScope.MAIN, KeyScope.HISTORY, KeyScope.RAW),
        rank=14,
        why_unavailable=reasons.not_copyable,
    ),
    KeyAction(
        "help",
        "?,f1",
        "help",
        "Show every key and what it does.",
        KeyGroup.CONSOLE,
        (KeyScope.MAIN, KeyScope.HISTORY, KeyScope.RAW, KeyScope.BODY, KeyScope.RULES),
        rank=7,
    ),
    KeyAction(
        "vault",
        "U",
        "unlock vault",
        "Unlock a daemon's vault with its passphrase.",
        KeyGroup.CONSOLE,
        why_unavailable=reasons.no_vault,
    ),
    KeyAction(
        "lock",
        "L",
        "lock",
        "Lock the console. Answering needs the passphrase again.",
        KeyGroup.CONSOLE,
        rank=15,
        why_unavailable=reasons.not_lockable,
    ),
    KeyAction(
        "guide",
        "ctrl+g",
        "guide",
        "Hide the guide of the demo, or show it again.",
        KeyGroup.CONSOLE,
        why_unavailable=reasons.no_guide,
    ),
    KeyAction("quit", "q", "quit", "Quit. Asks first if requests are waiting.", KeyGroup.CONSOLE, rank=16),
    KeyAction("back", "escape,q", "back", "Close this screen and go back.", KeyGroup.CONSOLE, _ASIDE, rank=6),
    KeyAction(
        "command_palette",
        "ctrl+p",
        "commands",
        "Find a command by its name. `theme` changes the colours.",
        KeyGroup.CONSOLE,
        (KeyScope.MAIN, *_ASIDE),
        fixed=True,
        bound=False,
    ),
    *FIXED_KEYS,
)

MOUSE: Final = (
    (
        "click a key",
        "Does the same as pressing the key. A click that brings the window to the front does nothing.",
    ),
    ("click a request", "Selects it, but never answers. If the list is only one line, goes to the next request."),
    ("click it again", "In the history, opens the details."),
    ("click the word", "In the sheet of marked requests, switches between approve, deny and leave."),
    ("click a choice", "In the sheet of a new rule, chooses how far it goes or when it ends."),
    ("click ▾ or ▸", "Folds or unfolds a part of JSON, or the details of who asks and what would run."),
    ("wheel", "Scrolls what is under the pointer."),
)
"""What the mouse does: the gesture and its effect."""

_OTHER_OUTCOMES: Final = (
    "Requests with this outcome. Also: failed, denied, nobody-answered, withdrawn, interrupted, outcome-unknown, "
    "waiting, running, handed-over, allowed-by-a-rule."
)
SEARCH: Final = (
    ("since:tuesday", "Asked since then: a weekday (the last one, or today), today, yesterday, 2026-05-12, 7d, 12h."),
    ("until:", "Asked before then."),
    ("outcome:approved", "All that was allowed, however it ended."),
    ("outcome:done", _OTHER_OUTCOMES),
    ("agent:", "The name of the agent's token."),
    ("action:", "The name of the action or tool."),
    ("surface:", "Where it was answered: console, page, prompt, cli, notification, rule, elsewhere."),
    ("source:", "The name of the gate or daemon, where there are several."),
    ("recap", "Any other words must occur in the request. The right arrow completes a filter."),
)
"""The filters of a search in the history: how each is written, and what it finds."""

BY_ID: Final[Mapping[str, KeyAction]] = {action.id: action for action in ACTIONS}


def _by_scope() -> Mapping[KeyScope, tuple[KeyAction, ...]]:
    found: defaultdict[KeyScope, list[KeyAction]] = defaultdict(list)
    for action in ACTIONS:
        for scope in action.scopes:
            found[scope].append(action)
    return {scope: tuple(actions) for scope, actions in found.items()}


_BY_SCOPE: Final = _by_scope()


def of(scope: KeyScope) -> tuple[KeyAction, ...]:
    """The actions of a scope, in the order of the table."""
    return _BY_SCOPE[scope]


def bindings(scope: KeyScope) -> list[Binding]:
    """The bindings of a scope for Textual, with ids so that the user's keymap can change their keys."""
    return [
        Binding(
            action.key,
            action.action,
            action.label,
            show=bool(action.rank),
            priority=action.priority,
            tooltip=action.tooltip,
            id=action.id,
            system=scope is KeyScope.EVERYWHERE,
        )
        for action in of(scope)
        if action.bound
    ]


def keys_of(action: KeyAction, overrides: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The keys of an action with the user's checked keymap applied."""
    written = (overrides or {}).get(action.id)
    return action.keys if written is None else tuple(written.split(","))


def at(scope: KeyScope, key: str, overrides: Mapping[str, str] | None = None) -> KeyAction | None:
    """The action that a key runs in a scope; `?` and `question_mark` are the same key."""
    wanted = same_form(key)
    for action in of(scope):
        if any(same_form(one) == wanted for one in keys_of(action, overrides)):
            return action
    return None


def running(scope: KeyScope, action: str) -> KeyAction | None:
    """The key action of a scope that runs this Textual action."""
    return next((one for one in of(scope) if one.action == action), None)
