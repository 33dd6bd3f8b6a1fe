"""Prompts of tool calls: what is shown, asked and warned about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.jsontext import Json, JsonObject, plain
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.tool_call import FileFacts, FileKind, NamedPath, ToolCall, ToolPrompt
from aileron_tui.core.tool_kinds import KINDS
from aileron_tui.core.tool_prompts import is_reading, named_paths, shell_command, tool_prompt
from tests.hostile import HOSTILE

FOLDER = "/srv/project"
TOOLS = sorted({name for kind in KINDS for name in kind.names} | {"mcp__mail__send", "unknown", ""})
EXAMPLES: dict[str, Json] = {
    "text": "x",
    "number": 1,
    "flag": True,
    "texts": ["x"],
    "list": [{"x": 1}],
    "object": {"x": 1},
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(sorted({argument.name for kind in KINDS for argument in kind.arguments})) | st.text()
ARGS = st.dictionaries(NAMES, JSON, max_size=5)


def call(tool: str, args: JsonObject, server: str = "", folder: str = FOLDER) -> ToolCall:
    return ToolCall(tool, args, server, folder)


def prompt(tool: str, args: JsonObject, files: dict[str, FileFacts] | None = None, server: str = "") -> ToolPrompt:
    return tool_prompt(call(tool, args, server), files or {})


def file(text: str, resolved: str = "") -> FileFacts:
    return FileFacts(FileKind.FILE, resolved, text)


def example(index: int) -> tuple[str, JsonObject]:
    kind = KINDS[index]
    return kind.names[0], {argument.name: EXAMPLES[argument.type] for argument in kind.arguments}


def labels(shown: ToolPrompt) -> list[str]:
    return [row.label for row in shown.rows]


def value(shown: ToolPrompt, label: str) -> str:
    return next(row.value for row in shown.rows if row.label == label)


def preview(shown: ToolPrompt, label: str) -> str:
    assert shown.preview is not None
    return next(row.value for row in shown.preview.rows if row.label == label)


@given(st.sampled_from(TOOLS), ARGS, st.sampled_from(["", "mail"]), st.sampled_from([FOLDER, "", "relative"]))
def test_every_arg_of_any_call_is_shown(tool: str, args: JsonObject, server: str, folder: str) -> None:
    asked = call(tool, args, server, folder)
    files = {named.path: file("x") for named in named_paths(asked)}
    shown = tool_prompt(asked, files)
    values = [row.value for row in shown.rows]
    assert all(plain(item) in values for item in args.values())
    assert all(named.path.startswith("/") for named in named_paths(asked))
    assert len(named_paths(asked)) <= 16
    assert isinstance(shell_command(asked), str)
    assert isinstance(is_reading(asked), bool)


@pytest.mark.parametrize("index", range(len(KINDS)))
def test_the_known_shape_has_no_warning_about_its_args(index: int) -> None:
    tool, args = example(index)
    shown = prompt(tool, args)
    assert not any("arg" in warning for warning in shown.warnings)
    assert len(shown.risk.reason) <= 27


@pytest.mark.parametrize("index", range(len(KINDS)))
def test_an_arg_that_is_not_known_is_shown_and_warned_about(index: int) -> None:
    tool, args = example(index)
    shown = prompt(tool, {**args, "more_power": "yes"})
    assert value(shown, "more_power") == "yes"
    assert any("more_power" in warning for warning in shown.warnings)
    assert shown.risk.level is not RiskLevel.LOW
    assert not is_reading(call(tool, {**args, "more_power": "yes"}))
    assert shell_command(call(tool, {**args, "more_power": "yes"})) == ""


@pytest.mark.parametrize("index", [number for number, kind in enumerate(KINDS) if kind.arguments])
def test_an_arg_of_another_type_means_that_nothing_is_known(index: int) -> None:
    tool, args = example(index)
    changed: JsonObject = {**args, KINDS[index].arguments[0].name: {"$ne": 1}}
    shown = prompt(tool, changed)
    assert shown.question == ""
    assert shown.warnings
    assert shown.risk.level is RiskLevel.HIGH
    assert not is_reading(call(tool, changed))
    assert shell_command(call(tool, changed)) == ""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_shown_as_it_is(text: str) -> None:
    for tool, name in (("Bash", "command"), ("Read", "file_path"), ("WebFetch", "url"), ("unknown", "x")):
        shown = prompt(tool, {name: text, "prompt": "p"} if tool == "WebFetch" else {name: text})
        assert text in [row.value for row in shown.rows]
        assert text not in shown.question
    shown = prompt("mcp__mail__send", {text: text})
    assert any(text in row.label and row.value == text for row in shown.rows)


@pytest.mark.parametrize(
    ("tool", "server", "warning"),
    [
        ("d\u0435lete_all", "files", "not plain ASCII: d\u0435lete_all, which looks like delete_all"),
        ("mcp__files__d\u0435lete_all", "", "not plain ASCII: d\u0435lete_all, which looks like delete_all"),
        ("query", "fil\u0435s", "the name of the server is not plain ASCII: fil\u0435s, which looks like files"),
        ("\u67e5\u8be2", "files", "the name of the tool is not plain ASCII: \u67e5\u8be2"),
    ],
)
def test_a_name_that_is_not_plain_ascii_is_warned_about(tool: str, server: str, warning: str) -> None:
    shown = prompt(tool, {}, server=server)
    assert warning in " ".join(shown.warnings)
    assert (shown.risk.level is RiskLevel.HIGH) is ("lete_all" in tool)
    assert not prompt("query", {}, server="files").warnings


def test_the_label_of_an_unknown_arg_cannot_be_one_of_ours() -> None:
    shown = prompt("Bash", {"command": "ls", "folder": "/safe", "Command": "ls", "Leads to": "x"})
    assert labels(shown).count("Command") == 1
    assert 'arg "folder"' in labels(shown)
    assert 'arg "Leads to"' in labels(shown)
    shown = prompt("mcp__mail__send", {"Folder": "/safe", "Risk": "low", "to": "x"})
    assert labels(shown) == ["Server", "Tool", 'arg "Folder"', 'arg "Risk"', "to"]


def test_args_that_are_not_known_cannot_hide_other_warnings() -> None:
    args: JsonObject = {f"k{number}": "x" for number in range(50)}
    shown = prompt("Write", args | {"file_path": "/etc/passwd", "content": "x"})
    assert shown.warnings[0] == "outside the agent's folder: /etc/passwd"
    assert shown.warnings[-1] == "there are 31 more warnings"


def test_a_shell_command_is_shown_with_its_folder_and_parts() -> None:
    shown = prompt("Bash", {"command": "A=1 make > out && ls", "description": "Build", "timeout": 5})
    assert shown.question == "Run this command?"
    assert labels(shown) == ["Command", "Folder", "2 parts", "Sets", "Redirects", "Timeout", "Agent says"]
    assert value(shown, "2 parts") == "1. A=1 make\n2. ls"
    assert value(shown, "Folder") == FOLDER


def test_a_part_of_a_command_cannot_look_like_several() -> None:
    shown = prompt("Bash", {"command": "echo 'a\n2. ls'; rm x"})
    assert value(shown, "2 parts").count("\n") == 1


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("bash", {"command": "ls", "workdir": "/elsewhere"}),
        ("bash", {"command": "ls", "workdir": "sub"}),
        ("run_shell_command", {"command": "ls", "dir_path": ".."}),
        ("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}),
        ("run_shell_command", {"command": "ls", "additional_permissions": {"network": True}}),
    ],
)
def test_a_command_that_does_not_run_as_usual_is_no_plain_command(tool: str, args: JsonObject) -> None:
    assert shell_command(call(tool, args)) == ""
    assert prompt(tool, args).warnings


def test_the_plain_command_of_each_shell_tool() -> None:
    for tool in ("Bash", "bash", "run_shell_command"):
        assert shell_command(call(tool, {"command": "ls -la"})) == "ls -la"
    assert shell_command(call("bash", {"command": "ls", "workdir": FOLDER})) == "ls"
    assert shell_command(call("Bash", {"command": "ls"}, server="mail")) == ""
    assert shell_command(call("Read", {"file_path": "x"})) == ""


def test_an_edit_is_shown_as_a_diff_against_the_file() -> None:
    args: JsonObject = {"file_path": f"{FOLDER}/a", "old_string": "b", "new_string": "B"}
    assert named_paths(call("Edit", args))[0] == NamedPath(f"{FOLDER}/a", changes=True, needs_text=True)
    shown = prompt("Edit", args, {f"{FOLDER}/a": file("a\nb\n")})
    assert preview(shown, "Change") == "@@ -1,2 +1,2 @@\n a\n-b\n+B"
    assert shown.warnings == ()
    assert shown.risk.level is RiskLevel.NORMAL


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("x\n", {}, "is not in the file"),
        ("b b\n", {}, "2 times"),
        ("b\n", {"new_string": "b"}, "nothing changes"),
        ("b\n", {"old_string": ""}, "is empty"),
    ],
)
def test_an_edit_that_does_not_fit_is_warned_about(text: str, more: JsonObject, words: str) -> None:
    args: JsonObject = {"file_path": f"{FOLDER}/a", "old_string": "b", "new_string": "B", **more}
    shown = prompt("Edit", args, {f"{FOLDER}/a": file(text)})
    assert any(words in warning for warning in shown.warnings)
    assert shown.preview is not None
    assert shown.preview.unavailable
    assert "Replace" in labels(shown)


def test_claude_code_removes_a_text_with_the_line_end_after_it() -> None:
    """If one occurrence is at the end of a line, it removes only such ones."""
    args: JsonObject = {"file_path": "a", "old_string": "#", "new_string": "", "replace_all": True}
    shown = prompt("Edit", args, {f"{FOLDER}/a": file("#rm -rf x\n#\n")})
    assert preview(shown, "Change") == "@@ -1,2 +1 @@\n #rm -rf x\n-#"


def test_edits_of_one_call_follow_each_other() -> None:
    edits: Json = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c", "replace_all": True}]
    shown = prompt("MultiEdit", {"file_path": f"{FOLDER}/a", "edits": edits}, {f"{FOLDER}/a": file("a b\n")})
    assert preview(shown, "Change") == "@@ -1 +1 @@\n-a b\n+c c"


def test_loose_matching_and_line_ends_are_noted() -> None:
    args: JsonObject = {"file_path": "a", "old_string": "b", "new_string": "c", "instruction": "x"}
    shown = prompt("replace", args, {f"{FOLDER}/a": file("b\r\n")})
    assert shown.preview is not None
    notes = [row.value for row in shown.preview.rows if row.label == "Note"]
    assert any("similar" in note for note in notes)
    assert any("CRLF" in note for note in notes)


def test_a_written_file_is_new_or_compared() -> None:
    args: JsonObject = {"file_path": f"{FOLDER}/a", "content": "new\n"}
    assert preview(prompt("Write", args, {f"{FOLDER}/a": FileFacts(FileKind.MISSING)}), "Now") == "new file"
    assert preview(prompt("Write", args, {f"{FOLDER}/a": file("old\n")}), "Change") == "@@ -1 +1 @@\n-old\n+new"
    same = prompt("Write", args, {f"{FOLDER}/a": file("new\r\n")})
    assert preview(same, "Change") == "only line ends change"


@pytest.mark.parametrize(
    "facts",
    [
        None,
        FileFacts(FileKind.UNKNOWN, problem="it took too long to read"),
        FileFacts(FileKind.FILE, problem="it is too large"),
        FileFacts(FileKind.FOLDER),
        FileFacts(FileKind.OTHER),
    ],
)
def test_a_file_that_cannot_be_read_is_said(facts: FileFacts | None) -> None:
    shown = prompt("Write", {"file_path": "a", "content": "x"}, {f"{FOLDER}/a": facts} if facts else {})
    assert shown.preview is not None
    assert shown.preview.unavailable
    assert value(shown, "Content") == "x"


def test_a_patch_shows_each_file() -> None:
    text = "*** Begin Patch\n*** Update File: a\n@@\n-b\n+c\n*** Add File: n\n+1\n*** Delete File: d\n*** End Patch"
    files = {f"{FOLDER}/a": file("b\n"), f"{FOLDER}/n": FileFacts(FileKind.MISSING), f"{FOLDER}/d": file("d\n")}
    shown = prompt("apply_patch", {"command": text}, files)
    assert {named.path for named in named_paths(call("apply_patch", {"command": text}))} == {*files, FOLDER}
    assert preview(shown, "Change 1 of 3") == "@@ -1 +1 @@\n-b\n+c"
    assert preview(shown, "Now 2 of 3") == "new file"
    assert "deleted" in preview(shown, "Now 3 of 3")
    assert prompt("apply_patch", {"command": "rm x"}).risk.level is RiskLevel.HIGH


@pytest.mark.parametrize(
    "parts",
    [
        "*** Update File: a\n@@\n-x\n+y\n*** Update File: ./a\n@@\n-x\n+y\n",
        "*** Update File: a\n@@\n-x\n+y\n*** Update File: link\n@@\n-x\n+y\n",
        "*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** Delete File: b\n",
        "*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n",
    ],
)
def test_parts_of_a_patch_that_depend_on_each_other_are_warned_about(parts: str) -> None:
    """The second part is applied to what the first has made, and a move replaces a file."""
    facts = file("x\nz\nx\n", f"{FOLDER}/a")
    files = {f"{FOLDER}/a": facts, f"{FOLDER}/link": facts, f"{FOLDER}/b": file("old\n", f"{FOLDER}/b")}
    shown = prompt("apply_patch", {"input": f"*** Begin Patch\n{parts}*** End Patch"}, files)
    assert any("more than once" in text or "is replaced" in text for text in shown.warnings)


def test_a_patch_of_too_many_files_says_so() -> None:
    body = "".join(f"*** Delete File: f{number}\n" for number in range(40))
    shown = prompt("apply_patch", {"input": f"*** Begin Patch\n{body}*** End Patch"})
    assert any("40 files" in warning for warning in shown.warnings)
    assert shown.risk.level is RiskLevel.HIGH


@pytest.mark.parametrize(
    ("path", "resolved", "words"),
    [
        ("/etc/passwd", "", "outside the agent's folder"),
        ("../x", "", "outside the agent's folder"),
        ("sub/../../x", "", "outside the agent's folder"),
        (f"{FOLDER}-evil/x", "", "outside the agent's folder"),
        ("link", "/etc/passwd", "outside the agent's folder"),
        (".git/hooks/pre-commit", "", "git's own files"),
        (".claude/settings.json", "", "settings of an agent"),
        ("link", f"{FOLDER}/.git/config", "git's own files"),
        ("-rf", "", "looks like an option"),
    ],
)
def test_a_path_that_leads_elsewhere_is_of_high_risk(path: str, resolved: str, words: str) -> None:
    args: JsonObject = {"file_path": path, "content": "x"}
    (named, *_) = named_paths(call("Write", args))
    shown = prompt("Write", args, {named.path: FileFacts(FileKind.MISSING, resolved)})
    assert any(words in warning for warning in shown.warnings)
    assert shown.risk.level is RiskLevel.HIGH or "option" in words
    if resolved:
        assert value(shown, "Leads to") == resolved


def test_a_folder_that_is_a_link_makes_no_warning() -> None:
    files = {f"{FOLDER}/a": FileFacts(FileKind.MISSING, "/real/a"), FOLDER: FileFacts(FileKind.FOLDER, "/real")}
    assert prompt("Write", {"file_path": "a", "content": "x"}, files).warnings == ()


def test_our_own_files_are_protected_even_from_reading() -> None:
    shown = tool_prompt(call("Read", {"file_path": f"{FOLDER}/own/key"}), {}, own=[f"{FOLDER}/own"])
    assert any("aileron-tui" in warning for warning in shown.warnings)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Read", {"file_path": f"{FOLDER}/a", "offset": 1, "limit": 5}),
        ("Grep", {"pattern": "x", "-n": True, "output_mode": "content"}),
        ("Glob", {"pattern": "**/*.py"}),
        ("LS", {"path": FOLDER}),
        ("read_file", {"file_path": "a"}),
        ("read_many_files", {"include": ["src/*.py"]}),
        ("list_directory", {"dir_path": "."}),
        ("grep_search", {"pattern": "x", "dir_path": "src"}),
        ("view", {"path": f"{FOLDER}/a", "view_range": [1, 5]}),
        ("grep", {"pattern": "x", "include": "*.py"}),
        ("grep", {"pattern": "x", "paths": ["src"], "-i": True}),
        ("glob", {"pattern": "*", "path": "src"}),
        ("read", {"filePath": "a", "offset": 1}),
        ("list", {"path": "."}),
        ("BashOutput", {"bash_id": "1"}),
    ],
)
def test_reading_inside_the_folder_is_of_low_risk(tool: str, args: JsonObject) -> None:
    shown = prompt(tool, args)
    assert is_reading(call(tool, args))
    assert shown.risk.level is RiskLevel.LOW
    assert shown.warnings == ()


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Read", {"file_path": "/etc/passwd"}),
        ("Glob", {"pattern": "/etc/*"}),
        ("Glob", {"pattern": "../**"}),
        ("Glob", {"pattern": "src/*/../../../x"}),
        ("Glob", {"pattern": "~/*"}),
        ("Glob", {"pattern": "{/etc,x}/*"}),
        ("Grep", {"pattern": "x", "path": "/"}),
        ("Glob", {"pattern": "{.,x}{.,y}/*"}),
        ("Glob", {"pattern": "[.][.]/*"}),
        ("Glob", {"pattern": "@(..)/*"}),
        ("Glob", {"pattern": "\\.\\./*"}),
        ("grep", {"pattern": "x", "paths": ["src", "/etc"]}),
        ("read_many_files", {"include": ["a", "/etc/*"]}),
    ],
)
def test_reading_outside_the_folder_has_a_warning(tool: str, args: JsonObject) -> None:
    shown = prompt(tool, args)
    assert shown.warnings
    assert shown.risk.level is not RiskLevel.LOW


def test_a_tool_of_a_server_is_never_taken_for_one_of_the_program() -> None:
    for tool in ("Read", "Bash", "mcp__evil__Read"):
        asked = call(tool, {"file_path": "a", "command": "ls"}, server="" if tool.startswith("mcp") else "evil")
        assert not is_reading(asked)
        assert shell_command(asked) == ""
        assert tool_prompt(asked, {}).risk.level is not RiskLevel.LOW


def test_a_tool_of_a_server_is_shown_with_both_names() -> None:
    shown = prompt("mcp__mail__send_message", {"to": "a@b.example", "body": "x\ny"})
    assert [(row.label, row.value) for row in shown.rows[:2]] == [("Server", "mail"), ("Tool", "send_message")]
    assert shown.question == ""
    assert shown.risk.level is RiskLevel.HIGH
    assert prompt("get_weather", {}, server="weather").risk.level is RiskLevel.NORMAL


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://user:pass@example.com/", "user name or a password"),
        ("ftp://example.com/", "http"),
        ("file:///etc/passwd", "http"),
        ("http://10.0.0.1/", "private network"),
        ("http://127.0.0.1:8722/", "this machine"),
        ("http://[::1]/", "this machine"),
        ("http://2130706433/", "IP address"),
        ("http://0x7f.1/", "IP address"),
        ("http://localhost/", "local network"),
        ("http://169.254.169.254/latest", "private network"),
        ("http://printer.local/", "local network"),
        ("https://a.example\\@b.example/", "unusual characters"),
        ("https://a.example\t/", "unusual characters"),
        ("http://[x/", "cannot be read"),
        ("https://example.com:8443/", "port 8443"),
        ("no url", "unusual characters"),
    ],
)
def test_urls_that_need_care_have_a_warning(url: str, words: str) -> None:
    shown = prompt("WebFetch", {"url": url, "prompt": "p"})
    assert any(words in warning for warning in shown.warnings)


def test_an_ordinary_url_has_a_row_for_its_host() -> None:
    shown = prompt("WebFetch", {"url": "https://docs.example.com/a?b=c", "prompt": "p"})
    assert value(shown, "Host") == "docs.example.com"
    assert shown.warnings == ()
    both = prompt("web_fetch", {"prompt": "Compare https://a.example/x and https://b.example/y"})
    assert [row.value for row in both.rows if row.label == "Host"] == ["a.example", "b.example"]


def test_the_users_own_risk_comes_first() -> None:
    rules = [RiskRule(RiskLevel.LOW, action="Bash"), RiskRule(RiskLevel.HIGH, connector="mail", op="get*")]
    low = tool_prompt(call("Bash", {"command": "rm x"}), {}, rules).risk
    assert (low.level, low.reason) == (RiskLevel.LOW, "by [[risk]] entry 1")
    assert tool_prompt(call("mcp__mail__get", {}), {}, rules).risk.level is RiskLevel.HIGH
    assert tool_prompt(call("mcp__other__get", {}), {}, rules).risk.level is RiskLevel.NORMAL


def test_very_many_paths_are_warned_about() -> None:
    shown = prompt("grep", {"pattern": "x", "paths": [f"f{number}" for number in range(5000)]})
    assert any("4,985 more paths" in warning for warning in shown.warnings)
    assert shown.risk.level is not RiskLevel.LOW


def test_edits_that_would_take_long_are_not_tried() -> None:
    edits: list[Json] = [{"old_string": "a", "new_string": "aa", "replace_all": True}] * 5000
    shown = prompt("MultiEdit", {"file_path": "a", "edits": edits}, {f"{FOLDER}/a": file("a" * 100_000)})
    assert any("too many edits" in warning for warning in shown.warnings)
    few = prompt("MultiEdit", {"file_path": "a", "edits": edits[:40]}, {f"{FOLDER}/a": file("a" * 100_000)})
    assert any("too large to show" in warning for warning in few.warnings)


def test_a_link_that_a_redirection_writes_to_is_shown() -> None:
    shown = prompt("Bash", {"command": "echo x > link"}, {f"{FOLDER}/link": FileFacts(FileKind.FILE, "/etc/x")})
    assert value(shown, "Leads to") == "/etc/x"
    assert shown.risk.level is RiskLevel.HIGH
    assert shown.warnings


def test_a_language_that_is_not_known_is_of_high_risk() -> None:
    assert prompt("PowerShell", {"command": "ls"}).risk.level is RiskLevel.HIGH


def test_more_permissions_for_another_agent_are_of_high_risk() -> None:
    args: JsonObject = {"prompt": "x", "description": "y", "mode": "bypassPermissions"}
    assert prompt("Agent", args).risk.level is RiskLevel.HIGH
    assert prompt("ExitPlanMode", {"allowedPrompts": [{"tool": "Bash", "prompt": "x"}]}).warnings


@pytest.mark.parametrize("tool", ["Bash", "Write", "Edit", "MultiEdit", "apply_patch", "WebFetch", "unknown"])
def test_a_megabyte_is_shown_whole(tool: str) -> None:
    long = "a b;/.x\n" * 130_000
    edits: Json = [{"old_string": "a", "new_string": "b", "replace_all": True}] * 20
    args: dict[str, JsonObject] = {
        "Bash": {"command": long},
        "Write": {"file_path": "a", "content": long},
        "Edit": {"file_path": "a", "old_string": "a b", "new_string": "c", "replace_all": True},
        "MultiEdit": {"file_path": "a", "edits": edits},
        "apply_patch": {"command": f"*** Begin Patch\n*** Add File: a\n{long}\n*** End Patch"},
        "WebFetch": {"url": f"https://a.example/{long}", "prompt": long},
        "unknown": {"x": long},
    }
    shown = prompt(tool, args[tool], {f"{FOLDER}/a": file("a b\nc\n" * 150_000)})
    assert all(plain(item) in [row.value for row in shown.rows] for item in args[tool].values())
