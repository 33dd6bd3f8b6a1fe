"""The table of keys: complete, without clashes, and the only source of bindings, footers, docs and reasons."""

import importlib
import inspect
import pkgutil
import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App
from textual.dom import DOMNode

import aileron_tui.console
from aileron_tui.console.key_actions import KeyAction, KeyScope
from aileron_tui.console.key_hints import footer, footer_text
from aileron_tui.console.key_names import display
from aileron_tui.console.key_reasons import KeyState
from aileron_tui.console.key_table import ACTIONS, BY_ID, SEARCH, at, bindings, of
from aileron_tui.console.keymap import KeymapError, checked_keymap
from aileron_tui.core.alert_routing import NOTIFICATION
from aileron_tui.core.outcome_words import RULE_SURFACE
from aileron_tui.core.outcomes import ELSEWHERE
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.gate.presence import SURFACES
from aileron_tui.surface.arming import Arming
from aileron_tui.surface.board import Pill
from tests.console.sample_requests import item, worked
from tests.console.screen_app import async_test
from tools import keys

PROMISED = {
    "j": "down", "k": "up", "up": "up", "down": "down", "/": "filter", "escape": "clear_filter", "tab": "next_pane",
    "h": "history", "a": "approve", "r": "refresh", "d": "deny", "D": "deny_reason", "v": "raw", "e": "edit",
    "y": "copy", "space": "mark", "*": "mark_all", "n": "next_waiting", "A": "approve_marked", "X": "deny_marked",
    "u": "undo", "L": "lock", "?": "help", "f1": "help", "ctrl+p": "command_palette", "enter": "focus_prompt",
    "q": "quit", "+": "extend", "o": "details", "f": "body", "pagedown": "page_down", "pageup": "page_up",
    "R": "rule", "ctrl+r": "rules",
}  # fmt: skip


def test_every_promised_key_does_what_was_promised() -> None:
    found = {key: action.id for action in of(KeyScope.MAIN) for key in action.keys}
    assert found == PROMISED | {"l": "log", "U": "vault", "ctrl+g": "guide"}


def test_the_search_names_every_surface_that_an_answer_can_have() -> None:
    named = dict(SEARCH)["surface:"].removeprefix("Where it was answered: ").removesuffix(".").split(", ")
    assert set(named) == {*SURFACES, NOTIFICATION, RULE_SURFACE, ELSEWHERE}


def test_ids_are_unique_and_everything_is_explained() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        assert action.scopes
        assert action.tooltip.endswith(".")
        assert re.fullmatch(r"(app\.)?[a-z_]+(\((-?\d+|True|False)\))?", action.action)


@pytest.mark.parametrize("scope", KeyScope)
def test_no_key_does_two_things_in_one_place(scope: KeyScope) -> None:
    found = [key for action in of(scope) for key in action.keys]
    assert len(found) == len(set(found))
    assert checked_keymap({}) == {}


@pytest.mark.parametrize("scope", KeyScope)
def test_bindings_carry_id_and_tooltip_and_leave_fixed_keys_alone(scope: KeyScope) -> None:
    made = bindings(scope)
    assert [binding.id for binding in made] == [action.id for action in of(scope) if action.bound]
    assert all(binding.tooltip and binding.description for binding in made)


def test_an_unknown_action_is_refused_with_the_nearest_name() -> None:
    assert BY_ID["approve"].danger
    with pytest.raises(KeymapError) as caught:
        checked_keymap({"aprove": "p"})
    assert caught.value.detail == 'did you mean "approve"?'


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"aprove": "p"}, 'did you mean "approve"'),
        ({"zzzzzz": "p"}, "unknown action"),
        ({"x\x1b[2J": "p"}, "⟨ESC⟩"),
        ({"approve": "d"}, "is already taken (for approve): Waiting requests: it is the key of deny (deny)"),
        ({"deny": "a"}, "is already taken (for deny)"),
        ({"approve": "question_mark"}, "help"),
        ({"approve": "p", "deny": "p"}, "is already taken"),
        ({"history": "ctrl+i"}, "next_pane"),
        ({"history.search": "o"}, "history.outcome"),
        ({"approve": "enter"}, "never answer"),
        ({"approve": "ctrl+m"}, "never answer"),
        ({"deny": "space"}, "never answer"),
        ({"deny_reason": "tab"}, "never answer"),
        ({"lock": "ctrl+c"}, "interrupts"),
        ({"lock": "ctrl+p"}, "palette"),
        ({"command_palette": "p"}, "cannot be changed"),
        ({"lock": "pagedwn"}, 'did you mean "pagedown"'),
        ({"lock": ""}, "is not a key"),
        ({"lock": "p,"}, "is not a key"),
        ({"lock": "ctlr+y"}, "is not a key"),
        ({"lock": "\x1b"}, "is not a key"),
    ],
)
def test_a_wrong_keymap_is_refused_in_words(overrides: dict[str, str], words: str) -> None:
    with pytest.raises(KeymapError) as caught:
        checked_keymap(overrides)
    assert words in str(caught.value)
    assert "\x1b" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize(
    "overrides",
    [
        {"approve": "p"},
        {"approve": "ctrl+y"},
        {"approve": "d", "deny": "a"},
        {"down": "j,N,comma"},
        {"lock": "f12"},
        {"history.search": "f"},
        {"history": "ü"},
        {"help": "question_mark"},
        {"help": "!"},
    ],
)
def test_a_sound_keymap_is_taken(overrides: dict[str, str]) -> None:
    assert checked_keymap(overrides) == overrides


class Presses(App[None]):
    """Notes which actions ran."""

    BINDINGS = [*bindings(KeyScope.MAIN)]  # noqa: RUF012  # as Textual declares it

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    async def run_action(self, action: object, *_: object, **__: object) -> bool:
        self.done.append(str(action))
        return True


@async_test
async def test_a_keymap_swaps_keys_in_textual() -> None:
    app = Presses()
    async with app.run_test() as pilot:
        app.set_keymap(checked_keymap({"approve": "d", "deny": "a", "down": "N,ctrl+n"}))
        await pilot.press("a", "d", "N", "ctrl+n", "j", "question_mark")
    assert [word for word in app.done if word != "help"] == ["deny", "approve", "down", "down"]
    assert "help" in app.done


@pytest.mark.parametrize(
    ("key", "shown"),
    [("?", "?"), ("escape", "esc"), ("ctrl+p", "^p"), ("down", "↓"), ("slash", "/"), ("alt+f4", "alt+f4"), ("+", "+")],
)
def test_keys_are_shown_as_people_know_them(key: str, shown: str) -> None:
    assert display(key) == shown


@pytest.mark.parametrize("width", range(20, 200))
def test_the_footer_fits_and_keeps_the_answer_keys(width: int) -> None:
    for scope in KeyScope:
        assert len(footer_text(scope, width)) <= width
    shown = [hint.key for hint in footer(KeyScope.MAIN, width)]
    if width >= 23:
        assert shown[:6] + shown[-1:] == ["a", "d", "D", "e", "n", "space", "?"]
    if width >= 40:
        assert footer_text(KeyScope.MAIN, width).startswith("a approve  d deny  ")


def test_the_footer_says_all_of_it_on_eighty_columns() -> None:
    line = "a approve  d deny  D deny with reason  e edit  n next  space mark  ? help"
    assert footer_text(KeyScope.MAIN, 80) == line


def test_the_footer_follows_the_keymap_and_never_loses_the_first_keys() -> None:
    checked = checked_keymap({"approve": "ctrl+shift+f12", "deny": "ctrl+shift+f11", "edit": "ctrl+shift+f10"})
    shown = footer(KeyScope.MAIN, 40, checked)
    assert shown[0].key == "^shift+f12"
    assert len(footer_text(KeyScope.MAIN, 40, checked)) <= 40
    assert shown[-1].key == "?"


def test_the_page_of_keys_is_fresh() -> None:
    assert keys.DOCUMENT.read_text(encoding="utf-8") == keys.document(), "stale: python -m tools.keys"


def test_the_page_of_keys_is_found_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(keys, "DOCUMENT", tmp_path / "keys.md")
    monkeypatch.setattr("sys.argv", ["keys", "--check"])
    assert keys.main() == 1
    monkeypatch.setattr("sys.argv", ["keys"])
    assert keys.main() == 0
    monkeypatch.setattr("sys.argv", ["keys", "--check"])
    assert keys.main() == 0
    (tmp_path / "keys.md").write_text("old")
    assert keys.main() == 1


@pytest.mark.parametrize(
    ("key", "id_"), [("?", "help"), ("question_mark", "help"), ("slash", "filter"), ("a", "approve"), ("z", "")]
)
def test_what_a_key_does_can_be_asked(key: str, id_: str) -> None:
    found = at(KeyScope.MAIN, key)
    assert (found.id if found else "") == id_


def test_what_a_key_does_follows_the_keymap() -> None:
    checked = checked_keymap({"lock": "z"})
    found = at(KeyScope.MAIN, "z", checked)
    assert found is not None
    assert found.id == "lock"
    assert at(KeyScope.MAIN, "L", checked) is None


def _classes_with_bindings() -> list[type[DOMNode]]:
    """The classes of the console that declare bindings of their own."""
    names = [info.name for info in pkgutil.walk_packages(aileron_tui.console.__path__, "aileron_tui.console.")]
    found = {one for name in names for one in vars(importlib.import_module(name)).values() if inspect.isclass(one)}
    ours = (one for one in found if issubclass(one, DOMNode) and one.__module__ in names)
    return [one for one in ours if vars(one).get("BINDINGS")]


def test_every_binding_of_the_console_comes_from_the_table() -> None:
    made = {binding for scope in KeyScope for binding in bindings(scope)}
    classes = _classes_with_bindings()
    assert len(classes) > 15
    foreign = [(cls.__name__, binding) for cls in classes for binding in cls.BINDINGS if binding not in made]
    assert foreign == []


def test_every_bound_entry_of_the_table_is_bound_somewhere_and_has_its_action() -> None:
    bound = {binding.id: cls for cls in _classes_with_bindings() for binding in cls.BINDINGS}  # type: ignore[union-attr]
    assert set(bound) == {action.id for action in ACTIONS if action.bound}
    for cls in _classes_with_bindings():
        for binding in cls.BINDINGS:
            name = binding.action.partition("(")[0]  # type: ignore[union-attr]
            owner = App if name.startswith("app.") else cls
            assert hasattr(owner, f"action_{name.removeprefix('app.')}"), (cls, binding)


def test_only_the_table_makes_bindings() -> None:
    sources = Path(str(aileron_tui.console.__file__)).parent.rglob("*.py")
    assert [path.name for path in sources if "Binding(" in path.read_text(encoding="utf-8")] == ["key_table.py"]


# Whether a key can be used, and why not.

WAITING = item(replace(worked().prompt, risk=Risk(RiskLevel.NORMAL, "it moves something")))
USABLE = KeyState(request=WAITING, shown=WAITING)
SHOWN_ONLY = ("approve", "deny", "deny_reason", "edit", "mark", "extend")
TOO_SMALL = "the window is too small to show the request"


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_by_default_every_key_can_be_used(action: KeyAction) -> None:
    assert action.why_not(USABLE) == ""


@pytest.mark.parametrize(
    ("id_", "state", "why"),
    [
        ("approve", KeyState(has_request=False), "no request is selected"),
        ("approve", replace(USABLE, answer_problem="locked"), "locked"),
        ("approve", replace(USABLE, is_waiting=False, pill=Pill("denied")), "nothing to answer here: denied"),
        ("approve", replace(USABLE, pill=Pill("sending…")), "sending…"),
        ("approve", replace(USABLE, is_on_screen=False), "the request is not on screen yet"),
        ("approve", replace(USABLE, request=replace(WAITING, deny_only="no")), "can only be denied here: no"),
        ("deny", replace(USABLE, request=replace(WAITING, deny_only="no")), ""),
        ("approve", replace(USABLE, shown=replace(WAITING, fetching=True)), "the preview is still being fetched"),
        ("approve", replace(USABLE, unread="3 more lines to read"), "3 more lines to read"),
        ("deny", replace(USABLE, unread="3 more lines to read"), ""),
        *((id_, replace(USABLE, is_listed=False), "the filter hides this request") for id_ in SHOWN_ONLY),
        *((id_, replace(USABLE, window_too_small=True), TOO_SMALL) for id_ in SHOWN_ONLY),
        ("approve_marked", KeyState(has_marked=False, marked_hidden=1), "the filter hides the marked request"),
        ("deny_marked", KeyState(has_marked=False, marked_hidden=2), "the filter hides all 2 marked"),
        ("edit", replace(USABLE, pill=Pill("sending…")), "sending…"),
        ("mark", replace(USABLE, is_waiting=False), "only a waiting request can be marked"),
        ("approve_marked", KeyState(has_marked=False), "nothing is marked: press space to mark a request"),
        (
            "deny_marked",
            KeyState(has_marked=False, marked_busy="sending…"),
            "the marked request cannot be answered now: sending…",
        ),
        ("deny_marked", KeyState(console_problem="not connected"), "not connected"),
        ("rule", KeyState(has_request=False), "no request is selected"),
        ("rule", replace(USABLE, unread="3 more lines to read"), "3 more lines to read"),
        ("rule", replace(USABLE, answer_problem="this console is read-only"), "this console is read-only"),
        ("rule", replace(USABLE, shown=replace(WAITING, fetching=True)), "the preview is still being fetched"),
        ("rule", replace(USABLE, has_warning=True), "no rule can allow a call with a warning"),
        (
            "rule",
            replace(USABLE, is_edited=True),
            "a rule covers calls as the agent sends them: discard the edit first",
        ),
        (
            "rule",
            replace(USABLE, request=replace(WAITING, daemon=True)),
            "a daemon has no rules: it decides itself what it asks about",
        ),
        ("rules.end", KeyState(has_rule=False), "no rule is selected"),
        ("rules.end", KeyState(rule_ended=True), "this rule has already ended"),
        ("rules.end", KeyState(console_problem="not connected"), "not connected"),
        ("undo", KeyState(holds_approval=False), "there is nothing to undo"),
        ("refresh", replace(USABLE, answer_problem="not connected"), "not connected"),
        ("extend", replace(USABLE, answer_problem="not connected"), "not connected"),
        ("extend", replace(USABLE, pill=Pill("sending…")), "sending…"),
        ("extend", replace(USABLE, request=replace(WAITING, daemon=True)), "the daemon sets this deadline"),
        ("raw", KeyState(details_open=False), "open the details first"),
        ("raw", KeyState(details_loaded=False), "the source no longer has the exact call"),
        ("copy", KeyState(text_loaded=False), "still loading: try again in a moment"),
        ("copy", KeyState(text_fits_clipboard=False), "too long for the terminal's clipboard"),
        ("history.open", KeyState(has_request=False), "no request is selected"),
        ("guide", KeyState(has_guide=False), "no guide: only the demo has one"),
        ("log", KeyState(has_log=False), "no log: only the demo and a gate in this window have one"),
        ("lock", KeyState(lockable=False), "cannot lock: your key has no passphrase"),
        ("vault", KeyState(vault_problem="there is no vault to unlock"), "there is no vault to unlock"),
    ],
)
def test_a_key_that_cannot_be_used_says_why(id_: str, state: KeyState, why: str) -> None:
    assert BY_ID[id_].why_not(state) == why


def test_a_key_that_decides_counts_only_once_armed() -> None:
    arming = Arming(60.0)
    arming.typed()
    state = replace(USABLE, arming=arming)
    for action in ACTIONS:
        assert action.why_not(state) == ("not yet: you were typing" if action.armed else "")
        assert action.why_unavailable(state) == ""
