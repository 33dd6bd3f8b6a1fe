"""The texts of the main screen: notes in the header, notes on the request, and the status line above the keys."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.content import Content

from aileron_tui.console.answer_flow import AnswerFlow
from aileron_tui.console.key_hints import KeyHint, hint
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import BY_ID
from aileron_tui.console.render import MUTED, STRONG, foreign_line, trusted
from aileron_tui.console.vault_unlocking import VaultUnlocking
from aileron_tui.core.visible_text import Visible, cells, clip
from aileron_tui.surface.board import Pill, Tone
from aileron_tui.surface.marked_requests import busy_marked, has_ready_marked, hidden_marked
from aileron_tui.surface.source import call_hint_of

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort
    from aileron_tui.console.widgets.reading_progress import Unread
    from aileron_tui.core.call_hint import CallHint
    from aileron_tui.core.request import Request

RULE_KEY: Final = "rule"
"""The id of the key that makes a rule from the request on screen."""

_SHORT_REMARK: Final = 60
_TONES: Final = {Tone.QUIET: MUTED, Tone.GOOD: "$text-success", Tone.WARN: "$text-warning", Tone.BAD: "$text-error"}
_READY: Final = "bold $text-success"
_NOTHING: Final = trusted("")


class PromptOnScreen(NamedTuple):
    """What the main screen knows about the prompt it draws. `unread` is slow, so it is called only if needed."""

    too_small: bool
    unread: "Callable[[], Unread | None]"
    has_body: bool
    has_warning: bool = False


class StatusLine(NamedTuple):
    """Text on whether an answer counts now, and the keys that go with it."""

    words: str
    style: str = MUTED
    keys: tuple[KeyHint, ...] = ()


def key_state(port: "ConsolePort", answers: AnswerFlow, vaults: VaultUnlocking, prompt: PromptOnScreen) -> KeyState:
    """What decides which keys can be used now."""
    board, request = port.board, port.board.current
    shown = answers.shown or request
    has_marked = has_ready_marked(board)
    return KeyState(
        has_request=request is not None,
        request=request,
        shown=shown,
        pill=board.pill(request.key) if request else Pill(""),
        is_waiting=board.is_waiting(board.selected),
        is_listed=board.is_listed(board.selected),
        is_on_screen=shown is not None and port.arming.is_on_screen(shown.key, shown.digest),
        window_too_small=prompt.too_small,
        has_body=prompt.has_body,
        unread="" if shown is None or board.was_read(shown) else unread_words(prompt.unread()),
        arming=port.arming,
        has_warning=prompt.has_warning,
        is_edited=answers.edited is not None,
        answer_problem=port.answer_problem(request) if request else "",
        console_problem=port.answer_problem(),
        listed_waiting=board.listed_waiting_count,
        has_marked=has_marked,
        marked_hidden=0 if has_marked else hidden_marked(board),
        marked_busy="" if has_marked else busy_marked(board),
        holds_approval=answers.held_count > 0,
        lockable=port.keys.lockable,
        has_log=port.log_lines is not None,
        has_guide=port.guide is not None,
        vault_problem=vaults.problem(),
        has_command=request is None and bool(command_to_try(port)),
    )


def unread_words(unread: "Unread | None") -> str:
    """How many lines must be read before an approval, "" if none."""
    if unread is None:
        return "the request has not been on screen yet"
    if not unread.lines:
        return ""
    count = f"{'at least ' if unread.at_least else ''}{unread.lines:,}"
    if unread.changed:
        return f"it changed: {count} line{'' if unread.lines == 1 else 's'} to read again"
    return f"{count} more line{'' if unread.lines == 1 else 's'} to read"


def status_line(port: "ConsolePort", answers: AnswerFlow, state: KeyState, *, filtering: bool) -> StatusLine:
    """Whether the shown request can be answered now, or why not."""
    keymap, board = port.keymap_in_use, port.board
    if answers.holds(board.selected):
        if not answers.is_newest_held:
            return StatusLine(state.pill.words, "$text-warning")
        return StatusLine(f"{state.pill.words}:", "$text-warning", (hint("undo", keymap, label="undo"),))
    if filtering:
        keys = hint("filter.leave_filter"), hint("clear_filter", keymap, label="clear")
        return StatusLine("filter:", MUTED, keys)
    if board.current is None:
        return StatusLine("nothing to answer")
    if not state.is_waiting:
        return StatusLine(f"{state.pill.short} · nothing to answer here")
    if hasty := answers.hasty:
        return StatusLine(hasty.words, "$text-warning", (hint("approve", keymap, label="approve anyway"),))
    if why := BY_ID["approve"].why_not(state):
        read_on = hint("focus_prompt", keymap, label="read on")
        return StatusLine(f"◌ {why}:", keys=(read_on,)) if why == state.unread else StatusLine(f"◌ {why}")
    if answers.edited:
        approve = hint("approve", keymap, label="approve edited call")
        return StatusLine("●", _READY, (approve, hint("clear_filter", keymap, label="discard edit")))
    is_folded = len(board.row(board.selected)) > 1
    each = (hint("request_list.open_row", label="show each"),) if is_folded else ()
    return StatusLine(f"● {ready_words(port, answers)}", _READY, (*each, *rule_offer(answers, state, keymap)))


def ready_words(port: "ConsolePort", answers: AnswerFlow) -> str:
    """What an answer counts for, if the selected row has several requests."""
    count, row = len(answers.covered), len(port.board.row(port.board.selected))
    if row == 1:
        return "ready for your answer"
    if count == row:
        return f"ready to answer {count} identical requests"
    return f"ready to answer {count} of {row}: {row - count} came just now"


def rule_offer(answers: AnswerFlow, state: KeyState, keymap: Mapping[str, str]) -> tuple[KeyHint, ...]:
    """The key that makes a rule, once equal calls were approved often enough and if a rule can be made."""
    if not answers.offers_rule or BY_ID[RULE_KEY].why_unavailable(state):
        return ()
    return (hint(RULE_KEY, keymap, label="makes a rule"),)


def header_notes(port: "ConsolePort", answers: AnswerFlow, vaults: VaultUnlocking, *, narrow: bool) -> tuple[str, ...]:
    """The notes in the header, most important first."""
    board, held = port.board, answers.held_count
    how_to_clear = hint("clear_filter", port.keymap_in_use, label="to clear").text
    how_to_undo = hint("undo", port.keymap_in_use, label="to undo").text
    notes = {
        f"{held} held" if narrow else f"{held} held, {how_to_undo}": held,
        "⚠ vault locked": vaults.locked,
        **{f"⚠ {note}": True for note in port.agent_notices.notes},
        f"⚠ {board.unreadable_count:,} unreadable": board.unreadable_count,
        "⚠ key" if narrow else "⚠ insecure key": port.keys.insecure,
        "read-only": port.read_only,
        f"{len(board.marked)} marked": board.marked,
        "filtered" if narrow else f"filtered, {how_to_clear}": board.filter,
    }
    return tuple(words for words, applies in notes.items() if applies)


def request_note(
    port: "ConsolePort", answers: AnswerFlow, request: "Request | None", *, name_source: bool, brief: bool
) -> Content | None:
    """Which source the request comes from, if the list does not show it, its pill, and a refused edit.

    Without a request it is how agents call the gate, if that is known.
    """
    if request is None:
        return None if brief else _empty_note(port)
    parts: list[Content] = []
    if name_source:
        label = port.source_label(request.source)
        name = trusted("from ", MUTED) + foreign_line(request.source, "bold")
        parts.append(name + trusted(f", a {label}", MUTED) if label else name)
    if (remark := port.board.remark(request.key)).words:
        # A source's remark on a waiting request is foreign text, and must leave room for the request itself.
        is_foreign = not port.board.pill(request.key).words
        room = _SHORT_REMARK if is_foreign and brief else cells(remark.words)
        shown = trusted(clip(Visible(remark.words), room), _TONES[remark.tone])
        parts.append(trusted("source says: ", MUTED) + shown if is_foreign else shown)
    if answers.edited is None and answers.refused_edit(request.key):
        again = hint("edit", port.keymap_in_use, label="opens it again").text
        parts.append(trusted(f"your edit was refused; {again}", _TONES[Tone.WARN]))
    return trusted(" · ", MUTED).join(parts) if parts else None


def command_to_try(port: "ConsolePort") -> str:
    """The command that an empty console shows, which makes a request; "" if it shows none."""
    known = _call_hint(port)
    return known.command if known else ""


def _call_hint(port: "ConsolePort") -> "CallHint | None":
    """How an agent reaches a gate of this home, while the console is empty."""
    if port.board.requests:
        return None
    return next(filter(None, (call_hint_of(port.source(name)) for name in port.statuses)), None)


def _empty_note(port: "ConsolePort") -> Content | None:
    """What an empty console says if one of its sources is a gate of this home: how an agent reaches it."""
    known = _call_hint(port)
    if known is None:
        return None
    lines = [trusted("No requests waiting.", STRONG), trusted("Requests from agents appear here.", MUTED)]
    lines += [_NOTHING, foreign_line(known.words, MUTED)]
    if known.command:
        copies = hint("copy", port.keymap_in_use, label="copies it").text  # it is too long to be selected on the screen
        lines += [_NOTHING, trusted(f"Try it in another terminal ({copies}):", MUTED), foreign_line(known.command)]
    return trusted("\n").join(lines)
