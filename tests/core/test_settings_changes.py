"""What setup changes in settings, and what taking it back leaves of them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.jsontext import Json
from aileron_tui.core.settings_changes import Wanted, apply, read_change, undo
from tests.core.test_json_edit import INDENTS, OBJECTS

HOOK: Json = {"matcher": "*", "hooks": [{"command": "aileron-tui"}]}
WANTED = (
    Wanted("set", ("permissions", "defaultMode"), "default"),
    Wanted("set", ("permissions", "allow"), []),
    Wanted("item", ("hooks", "PreToolUse"), HOOK),
)
PERMISSIONS = st.dictionaries(
    st.sampled_from(["defaultMode", "allow", "deny"]), st.sampled_from(["auto", "default", [], ["Bash"]]), max_size=3
)
HOOKS = st.dictionaries(st.sampled_from(["PreToolUse", "Stop"]), st.lists(st.integers(0, 3), max_size=2), max_size=2)


@given(OBJECTS, PERMISSIONS | st.none(), HOOKS | st.none(), INDENTS)
def test_undoing_a_setup_restores_the_settings(
    settings: dict[str, Json], permissions: Json, hooks: Json, indent: int | str | None
) -> None:
    settings |= {key: value for key, value in (("permissions", permissions), ("hooks", hooks)) if value is not None}
    text = json.dumps(settings, indent=indent)
    changed = apply(text, WANTED)
    after = json.loads(changed.text)
    assert after["permissions"]["defaultMode"] == "default"
    assert after["hooks"]["PreToolUse"].count(HOOK) == 1
    assert [key for key in after if key in settings] == list(settings)
    assert apply(changed.text, WANTED).changes == ()
    changes = [read_change(json.loads(json.dumps(change.fields()))) for change in changed.changes]
    undone = undo(changed.text, changes)
    assert json.loads(undone.text) == settings
    assert undone.left == ()


def test_what_somebody_changed_since_is_left_alone() -> None:
    changed = apply('{"permissions": {"allow": ["Bash"]}}', WANTED)
    edited = changed.text.replace('"default"', '"plan"')
    undone = undo(edited, changed.changes)
    assert [change.wanted.path[-1] for change in undone.left] == ["defaultMode"]
    assert json.loads(undone.text) == {"permissions": {"allow": ["Bash"], "defaultMode": "plan"}}


def test_a_hook_of_an_earlier_setup_is_replaced() -> None:
    text = json.dumps({"hooks": {"PreToolUse": [{"old": 1}, {"mine": 1}]}}, indent=2)
    changed = apply(text, WANTED, stale=lambda item: isinstance(item, dict) and "old" in item)
    assert json.loads(changed.text)["hooks"]["PreToolUse"] == [{"mine": 1}, HOOK]
