"""The table of actions: complete, without clashes, and whole in every form that is made of it."""

import re
from pathlib import Path

import pytest
from textual.app import App

from aileron_tui.console import actions
from aileron_tui.console.actions import ACTIONS, KeymapError, KeyScope
from tests.console.screen_app import async_test
from tools import keys

PROMISED = {
    "j": "down", "k": "up", "up": "up", "down": "down", "/": "filter", "escape": "clear_filter", "tab": "next_pane",
    "h": "history", "a": "approve", "r": "refresh", "d": "deny", "D": "deny_reason", "v": "raw", "e": "edit",
    "y": "copy", "space": "mark", "A": "approve_marked", "X": "deny_marked", "u": "undo", "L": "lock", "?": "help",
    "f1": "help", "ctrl+p": "command_palette", "enter": "focus_prompt", "q": "quit",
}  # fmt: skip


def test_every_promised_key_does_what_was_promised() -> None:
    found = {key: action.id for action in actions.of(KeyScope.MAIN) for key in action.keys}
    assert found == PROMISED | {"l": "log", "U": "vault"}


def test_ids_are_unique_and_everything_is_explained() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        assert action.scopes
        assert action.tooltip.endswith(".")
        assert re.fullmatch(r"[a-z_]+", action.method)


@pytest.mark.parametrize("scope", KeyScope)
def test_no_key_does_two_things_in_one_place(scope: KeyScope) -> None:
    found = [key for action in actions.of(scope) for key in action.keys]
    assert len(found) == len(set(found))
    assert actions.keymap({}) == {}


@pytest.mark.parametrize("scope", KeyScope)
def test_bindings_carry_id_and_tooltip_and_leave_fixed_keys_alone(scope: KeyScope) -> None:
    made = actions.bindings(scope)
    assert [binding.id for binding in made] == [action.id for action in actions.of(scope) if not action.fixed]
    assert all(binding.tooltip and binding.description for binding in made)


def test_find_names_the_nearest() -> None:
    assert actions.find("approve").danger
    with pytest.raises(KeymapError) as caught:
        actions.find("aprove")
    assert caught.value.detail == 'did you mean "approve"?'


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"aprove": "p"}, 'did you mean "approve"'),
        ({"zzzzzz": "p"}, "there is no action"),
        ({"x\x1b[2J": "p"}, "⟨ESC⟩"),
        ({"approve": "d"}, "for approve, is taken: Waiting requests: it is the key of deny (deny)"),
        ({"deny": "a"}, "for deny, is taken"),
        ({"approve": "question_mark"}, "help"),
        ({"approve": "p", "deny": "p"}, "is taken"),
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
        actions.keymap(overrides)
    assert words in str(caught.value)
    assert "\x1b" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize(
    "overrides",
    [
        {"approve": "p"},
        {"approve": "ctrl+y"},
        {"approve": "d", "deny": "a"},
        {"down": "j,n,comma"},
        {"lock": "f12"},
        {"history.search": "f"},
        {"history": "ü"},
        {"help": "question_mark"},
        {"help": "!"},
    ],
)
def test_a_sound_keymap_is_taken(overrides: dict[str, str]) -> None:
    assert actions.keymap(overrides) == overrides


class Presses(App[None]):
    """Notes which actions ran."""

    BINDINGS = [*actions.bindings(KeyScope.MAIN)]  # noqa: RUF012  # as Textual declares it

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
        app.set_keymap(actions.keymap({"approve": "d", "deny": "a", "down": "n,ctrl+n"}))
        await pilot.press("a", "d", "n", "ctrl+n", "j", "question_mark")
    assert [word for word in app.done if word != "help"] == ["deny", "approve", "down", "down"]
    assert "help" in app.done


@pytest.mark.parametrize(
    ("key", "shown"),
    [("?", "?"), ("escape", "esc"), ("ctrl+p", "^p"), ("down", "↓"), ("slash", "/"), ("alt+f4", "alt+f4"), ("+", "+")],
)
def test_keys_are_shown_as_people_know_them(key: str, shown: str) -> None:
    assert actions.display(key) == shown


@pytest.mark.parametrize("width", range(20, 200))
def test_the_footer_fits_and_keeps_the_answer_keys(width: int) -> None:
    for scope in KeyScope:
        assert len(actions.hint_line(scope, width)) <= width
    shown = [hint.key for hint in actions.hints(KeyScope.MAIN, width)]
    if width >= 23:
        assert shown[:6] + shown[-1:] == ["a", "d", "D", "e", "space", "/", "?"]
    if width >= 40:
        assert actions.hint_line(KeyScope.MAIN, width).startswith("a approve  d deny  ")


def test_the_footer_says_all_of_it_on_eighty_columns() -> None:
    line = "a approve  d deny  D deny with reason  e edit  space mark  / filter  ? help"
    assert actions.hint_line(KeyScope.MAIN, 80) == line


def test_the_footer_follows_the_keymap_and_never_loses_the_first_keys() -> None:
    checked = actions.keymap({"approve": "ctrl+shift+f12", "deny": "ctrl+shift+f11", "edit": "ctrl+shift+f10"})
    shown = actions.hints(KeyScope.MAIN, 40, checked)
    assert shown[0].key == "^shift+f12"
    assert len(actions.hint_line(KeyScope.MAIN, 40, checked)) <= 40
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
    found = actions.at(KeyScope.MAIN, key)
    assert (found.id if found else "") == id_


def test_what_a_key_does_follows_the_keymap() -> None:
    checked = actions.keymap({"lock": "z"})
    found = actions.at(KeyScope.MAIN, "z", checked)
    assert found is not None
    assert found.id == "lock"
    assert actions.at(KeyScope.MAIN, "L", checked) is None
