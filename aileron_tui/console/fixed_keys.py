"""The keys that users cannot change: in dialogs, lists and texts, and those that work everywhere."""

from typing import Final, TypeAlias

from aileron_tui.console.key_actions import KeyAction, KeyGroup, KeyScope


def _key(  # noqa: PLR0913, PLR0917  # one row of the table
    scope: KeyScope,
    name: str,
    key: str,
    label: str,
    tooltip: str,
    group: KeyGroup = KeyGroup.CONSOLE,
    rank: int = 0,
    runs: str = "",
    *,
    armed: bool = False,
    bound: bool = True,
    priority: bool = False,
) -> KeyAction:
    """An action of one scope, with the scope in its id; `rank` is its order in a dialog's key line (0: not shown)."""
    return KeyAction(
        f"{scope.name.lower()}.{name}",
        key,
        label,
        tooltip,
        group,
        (scope,),
        rank,
        runs=runs,
        danger=armed,
        armed=armed,
        fixed=True,
        bound=bound,
        priority=priority,
        in_help=False,
    )


S: TypeAlias = KeyScope
_ANSWER, _MOVE = KeyGroup.ANSWER, KeyGroup.MOVE

FIXED_KEYS: Final = (
    # the same everywhere
    _key(
        S.EVERYWHERE,
        "quit",
        "ctrl+c",
        "quit",
        "Quit. Asks first if requests are waiting or an approval is held; pressed again, quits at once.",
        priority=True,
    ),
    _key(S.EVERYWHERE, "quit_too", "ctrl+q", "quit", "Quit, like ctrl+c.", runs="quit", bound=False),
    _key(S.EVERYWHERE, "suspend_process", "ctrl+z", "suspend", "Suspend the console; `fg` resumes it."),
    # the list of waiting requests
    _key(S.REQUEST_LIST, "page_up", "pageup", "page up", "Go up by one page.", _MOVE, runs="page(-1)"),
    _key(S.REQUEST_LIST, "page_down", "pagedown", "page down", "Go down by one page.", _MOVE, runs="page(1)"),
    _key(S.REQUEST_LIST, "first", "home", "first", "Go to the first request.", _MOVE, runs="edge(-1)"),
    _key(S.REQUEST_LIST, "last", "end", "last", "Go to the last request.", _MOVE, runs="edge(1)"),
    _key(S.REQUEST_LIST, "open_row", "right", "open", "Show identical requests one by one.", _MOVE, runs="open_row(1)"),
    _key(S.REQUEST_LIST, "close_row", "left", "close", "Show them as one row again.", _MOVE, runs="open_row(0)"),
    _key(S.FILTER, "leave_filter", "enter", "back", "Go back to the list; the filter stays.", bound=False),
    # the prompt, and the texts quoted in it
    _key(S.PROMPT, "up", "up", "up", "Scroll up by one line.", _MOVE, runs="travel(-1)"),
    _key(S.PROMPT, "down", "down", "down", "Scroll down by one line.", _MOVE, runs="travel(1)"),
    _key(S.PROMPT, "page_up", "pageup", "page up", "Scroll up by one page.", _MOVE, runs="page(-1)"),
    _key(S.PROMPT, "page_down", "pagedown", "page down", "Scroll down by one page.", _MOVE, runs="page(1)"),
    _key(S.PROMPT, "start", "home", "start", "Scroll to the start.", _MOVE, runs="travel(-1000000000)"),
    _key(S.PROMPT, "end", "end", "end", "Scroll to the end.", _MOVE, runs="travel(1000000000)"),
    _key(S.PROMPT, "enter_outline", "right", "enter JSON", "Move into the JSON, to fold parts of it.", _MOVE),
    _key(S.PROMPT, "leave_outline", "left", "leave JSON", "Move back from the JSON to the prompt.", _MOVE),
    _key(S.QUOTE, "up", "up", "up", "Go up by one line of JSON.", _MOVE, runs="step(-1)"),
    _key(S.QUOTE, "down", "down", "down", "Go down by one line of JSON.", _MOVE, runs="step(1)"),
    _key(S.QUOTE, "fold", "left", "fold", "Fold a part of JSON.", _MOVE, runs="fold(True)"),
    _key(S.QUOTE, "unfold", "right", "unfold", "Unfold a part of JSON.", _MOVE, runs="fold(False)"),
    _key(S.BODY, "up", "k,up", "up", "Scroll up by one line.", _MOVE, runs="travel(-1)"),
    _key(S.BODY, "down", "j,down", "down", "Scroll down by one line.", _MOVE, runs="travel(1)"),
    _key(S.BODY, "page_up", "pageup", "page up", "Scroll up by one page.", _MOVE, runs="page(-1)"),
    _key(S.BODY, "page_down", "pagedown,space", "page down", "Scroll down by one page.", _MOVE, runs="page(1)"),
    _key(S.BODY, "start", "home", "start", "Scroll to the start.", _MOVE, runs="travel(-1000000000)"),
    _key(S.BODY, "end", "end", "end", "Scroll to the end.", _MOVE, runs="travel(1000000000)"),
    # history and help
    _key(S.HISTORY_TABLE, "page_up", "pageup", "page up", "Go up by one page.", _MOVE, runs="page(-1)"),
    _key(S.HISTORY_TABLE, "page_down", "pagedown", "page down", "Go down by one page.", _MOVE, runs="page(1)"),
    _key(S.RULES, "down", "j", "down", "Go to the next rule.", _MOVE),
    _key(S.RULES, "up", "k", "up", "Go to the previous rule.", _MOVE),
    _key(S.EXPORT, "close", "escape", "cancel", "Cancel the export. An unfinished file is deleted."),
    _key(S.HELP, "close", "question_mark,f1", "back", "Close the help.", runs="back"),
    _key(S.HELP, "scroll_down", "j,down", "down", "Scroll down by one line.", _MOVE, runs="scroll(1)"),
    _key(S.HELP, "scroll_up", "k,up", "up", "Scroll up by one line.", _MOVE, runs="scroll(-1)"),
    _key(S.LOG, "back", "escape,q,l", "back", "Close the log.", rank=1, runs="dismiss"),
    _key(S.LOG, "scroll_down", "j", "down", "Scroll down by one line.", _MOVE, runs="scroll(1)"),
    _key(S.LOG, "scroll_up", "k", "up", "Scroll up by one line.", _MOVE, runs="scroll(-1)"),
    # dialogs that decide
    _key(S.CONFIRM, "no", "n", "no", "Go back. Every key except y does this.", _ANSWER, 1, bound=False),
    _key(S.CONFIRM, "yes", "y", "yes", "Confirm.", _ANSWER, 2, armed=True, bound=False),
    _key(S.TYPED_CONFIRM, "cancel", "escape", "cancel", "Go back.", _ANSWER, 1, "dismiss(False)"),
    _key(S.TYPED_CONFIRM, "submit", "enter", "confirm", "Confirm if the name is typed exactly.", _ANSWER, 2),
    _key(S.REASON, "cancel", "escape", "cancel", "Go back. Nothing is denied.", _ANSWER, 1, "dismiss"),
    _key(S.REASON, "submit", "enter", "deny", "Deny the request with this reason.", _ANSWER, 2, armed=True),
    _key(S.EDIT, "submit", "ctrl+s", "review changes", "Show how the edited call differs.", _ANSWER, 1),
    _key(S.EDIT, "choose", "space", "choose", "Choose the highlighted value.", _ANSWER, 2, bound=False),
    _key(S.EDIT, "next_field", "tab", "next field", "Go to the next field.", _MOVE, 3, "app.focus_next"),
    _key(S.EDIT, "cancel", "escape", "cancel", "Go back. Nothing is changed.", _ANSWER, 4, "dismiss"),
    _key(S.BATCH, "cancel", "escape", "cancel", "Go back. Nothing is answered.", _ANSWER, 1, "dismiss"),
    _key(S.BATCH, "switch", "space", "switch", "Switch between approve, deny and leave.", _ANSWER, 2),
    _key(S.BATCH, "submit", "ctrl+s", "send", "Send all answers on the sheet.", _ANSWER, 3, armed=True),
    _key(S.BATCH, "down", "j", "down", "Go to the next request.", _MOVE),
    _key(S.BATCH, "up", "k", "up", "Go to the previous request.", _MOVE),
    _key(S.RULE, "cancel", "escape", "cancel", "Go back. No rule is made.", _ANSWER, 1, "dismiss"),
    _key(S.RULE, "reach", "r", "reach", "Choose the next reach: this call only, or more.", _ANSWER, 2),
    _key(S.RULE, "end", "t", "until", "Choose the next end: in 1 hour, in 8 hours, or at a date.", _ANSWER, 3),
    _key(S.RULE, "read_on", "enter", "read on", "Go to the next lines to read. Enter never makes a rule.", _MOVE, 4),
    _key(S.RULE, "make", "y", "make the rule", "Sign the rule and make it.", _ANSWER, 5, armed=True),
    _key(S.RULE, "down", "j,down", "down", "Scroll down by one line.", _MOVE, runs="scroll_rows(1)"),
    _key(S.RULE, "up", "k,up", "up", "Scroll up by one line.", _MOVE, runs="scroll_rows(-1)"),
    _key(S.RULE, "page_down", "pagedown", "page down", "Scroll down by one page.", _MOVE, runs="scroll_pages(1)"),
    _key(S.RULE, "page_up", "pageup", "page up", "Scroll up by one page.", _MOVE, runs="scroll_pages(-1)"),
    # passphrases, and the first run
    _key(S.KEY_CONFIRM, "cancel", "escape", "cancel", "Go back. Nothing is confirmed.", _ANSWER, 1, "dismiss(False)"),
    _key(S.KEY_CONFIRM, "submit", "enter", "confirm", "Confirm with the passphrase.", _ANSWER, 2),
    _key(S.LOCK, "submit", "enter", "unlock", "Unlock your key with the passphrase.", rank=1),
    _key(S.LOCK, "quit", "ctrl+q", "quit", "Quit at once.", rank=2, runs="app.quit", bound=False),
    _key(S.VAULT, "submit", "enter", "unlock", "Unlock the vault with the passphrase.", rank=1),
    _key(S.VAULT, "cancel", "escape", "cancel", "Go back. The vault stays locked.", rank=2, runs="dismiss(False)"),
    _key(S.FIRST_RUN, "go_on", "enter", "choose", "Take the highlighted choice, or the typed passphrase.", bound=False),
    _key(S.FIRST_RUN, "back", "escape", "back", "Go back to the choices."),
    _key(S.FIRST_RUN, "leave", "q", "quit", "Quit. Nothing is changed."),
    _key(S.FIRST_RUN, "interrupt", "ctrl+c", "quit", "Quit at once.", runs="leave", priority=True),
    _key(S.FIRST_RUN, "down", "j", "down", "Go down.", _MOVE, runs="move(1)"),
    _key(S.FIRST_RUN, "up", "k", "up", "Go up.", _MOVE, runs="move(-1)"),
)
