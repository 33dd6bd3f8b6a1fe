"""Changes to TOML texts leave everything else as it is, and are refused if that is not certain."""

import pytest
import tomli

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.core.toml_changes import apply, undo
from aileron_tui.core.toml_edit import TomlTextError, put, remove, value_at

TEXT = '''# mine
model = "o3"   # the model
when = 1979-05-27 07:32:00

[mcp_servers.files]   # files
command = "npx" # how
args = [
  "-y", # yes
  'a]b',
]
startup = """
[mcp_servers.not_a_header]
"""

[mcp_servers.files.env]
KEY = "v#1"

[[projects]]
path = "/x"

[projects.inner]
command = "other"
'''
SERVER = ("mcp_servers", "new")
ENTRY: JsonObject = {"command": "/bin/x", "args": ["a b", 'q"\\', "é\x7f\n"], "tool_timeout_sec": 3600}


@pytest.mark.parametrize("text", ["", "\n", TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip(), "# only this"])
def test_a_table_is_added_and_taken_back(text: str) -> None:
    changed = apply(text, [Wanted("set", SERVER, ENTRY)])
    assert changed.text.startswith(text.rstrip())
    assert value_at(changed.text, SERVER) == ENTRY
    assert apply(changed.text, [Wanted("set", SERVER, ENTRY)]).changes == ()
    undone = undo(changed.text, changed.changes)
    assert undone.text.rstrip() == text.rstrip()
    assert not undone.left


def test_keys_are_replaced_in_their_place_and_everything_around_them_stays() -> None:
    wanted = [
        Wanted("set", ("mcp_servers", "files", "command"), "/bin/proxy"),
        Wanted("set", ("mcp_servers", "files", "args"), ["--", "npx"]),
        Wanted("set", ("mcp_servers", "files", "tool_timeout_sec"), 3600),
    ]
    changed = apply(TEXT, wanted)
    assert 'command = "/bin/proxy" # how' in changed.text
    assert changed.text.count("command") == TEXT.count("command")
    expected = tomli.loads(TEXT)
    expected["mcp_servers"]["files"] |= {"command": "/bin/proxy", "args": ["--", "npx"], "tool_timeout_sec": 3600}
    assert tomli.loads(changed.text) == expected
    undone = undo(changed.text.replace("# mine", "# ours"), changed.changes)
    assert tomli.loads(undone.text) == tomli.loads(TEXT)
    assert "# how" in undone.text
    assert "# ours" in undone.text


def test_what_somebody_changed_since_is_left() -> None:
    changed = apply(TEXT, [Wanted("set", SERVER, ENTRY)])
    edited = changed.text.replace("3600", "60")
    undone = undo(edited, changed.changes)
    assert undone.text == edited
    assert len(undone.left) == 1


def test_a_table_is_removed_with_the_tables_in_it() -> None:
    left = remove(TEXT, ("mcp_servers", "files"))
    expected = tomli.loads(TEXT)
    del expected["mcp_servers"]
    assert tomli.loads(left) == expected
    assert "# mine" in left


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { files = { command = "a" } }\n',
        '[mcp_servers]\nfiles = { command = "a" }\n',
        'mcp_servers.files.command = "a"\n[mcp_servers.files.env]\n',
        "mcp_servers = 1\n",
    ],
)
def test_other_spellings_are_changed_correctly_or_refused(text: str) -> None:
    try:
        changed = put(text, ("mcp_servers", "files", "command"), "b")
    except TomlTextError:
        return
    assert value_at(changed, ("mcp_servers", "files", "command")) == "b"


def test_a_text_that_is_not_toml_is_refused() -> None:
    with pytest.raises(TomlTextError):
        put("a = \n", SERVER, ENTRY)
