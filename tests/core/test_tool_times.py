"""Hostile calls do not keep the gate busy: what is read grows with the size of a call, and not with its square."""

from time import process_time

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.protected_paths import protected_value
from aileron_tui.core.tool_call import ToolCall
from aileron_tui.core.tool_prompts import named_paths, tool_prompt

SIZE = 60_000
"""Calls of this size are read while other agents and operators wait."""

PATCH = f"*** Begin Patch\n{''.join(f'*** Delete File: {number}{chr(10)}' for number in range(40_000))}*** End Patch"


def filled(text: str) -> str:
    return text * (SIZE // len(text))


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        *(
            ("Bash", {"command": filled(text)})
            for text in (".git.", ".git/..", "a;", "$(", '"$x"', "a'b'", "\\\\", "[ ")
        ),
        *(("Glob", {"pattern": filled(text)}) for text in ("[", "[.", "{.,", "../", "*")),
        *(("Write", {"file_path": filled(text), "content": "x"}) for text in (".git.", "a/", "../", "%25", "~")),
        ("Write", {"file_path": "a", "content": filled(".claude.git.bashrc ")}),
        ("apply_patch", {"input": PATCH}),
        ("web_fetch", {"prompt": filled("http://")}),
        ("Read", {"file_path": "a"} | {f"k{number}": 1 for number in range(SIZE // 8)}),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value)[:30],
)
def test_a_hostile_call_is_read_quickly(tool: str, args: JsonObject) -> None:
    call = ToolCall(tool, args, folder="/work")
    start = process_time()
    named_paths(call)
    tool_prompt(call, {}, own=["/home/user/.aileron"])
    protected_value(args, ["/home/user/.aileron"])
    assert process_time() - start < 6
