"""Shell commands taken apart."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aileron_tui.core.shell_parts import LONGEST_COMMAND, ShellParts, take_apart


def programs(command: str) -> list[str]:
    """The known words of each part, joined; a word that is not known is `?`."""
    return [" ".join(word.text if word.is_known else "?" for word in part.words) for part in take_apart(command).parts]


def test_a_composition_has_its_parts_in_order() -> None:
    assert programs("a 1 | b && c; d & e\nf") == ["a 1", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("echo 'a b'", "a b"),
        ('echo "a b"', "a b"),
        ("echo a\\ b", "a b"),
        ("echo 'it'\\''s'", "it's"),
        ('echo "a\\"b"', 'a"b'),
        ('echo "a\\nb"', "a\\nb"),
        ("echo $'ab'", "ab"),
        ("echo a'b'\"c\"d", "abcd"),
        ("echo -- --x=y", "--"),
    ],
)
def test_quotes_are_read_as_a_shell_does(command: str, word: str) -> None:
    assert take_apart(command).parts[0].words[1].text == word


def test_nested_commands_are_parts_too() -> None:
    parts = take_apart('echo "$(a `b`)" <(c) > d').parts
    assert [(part.words[0].text, part.is_nested) for part in parts] == [
        ("echo", False),
        ("a", True),
        ("b", True),
        ("c", True),
    ]


def test_assignments_and_redirections_are_listed() -> None:
    part = take_apart("A=1 B=x c < in > out 2>> err 2>&1").parts[0]
    assert [name for name, _ in part.assignments] == ["A", "B"]
    assert [(one.operator, one.target.text, one.writes) for one in part.redirections] == [
        ("<", "in", False),
        (">", "out", True),
        (">>", "err", True),
        (">&", "1", False),
    ]


def test_the_text_of_a_quoted_heredoc_is_no_command() -> None:
    found = take_apart("cat <<'EOF' > f && rm x\n$(a) `b`\nEOF\nls")
    assert not found.problem
    assert found.has_heredoc
    assert [part.words[0].text for part in found.parts] == ["cat", "rm", "ls"]


BLIND_SPOTS = {
    "backticks in a heredoc": "cat <<E\n`id`\nE",
    "substitution in a heredoc": "cat <<E\n$(id)\nE",
    "substitution in an indented heredoc": "cat <<-E\n\t$(id)\n\tE",
    "expansion in a heredoc": "cat <<E\n${x:-$(id)}\nE",
    "heredoc that ends later": "cat <<'A'\n A\necho '\nA\nrm x\necho '",
    "heredoc with an odd end": "cat <<'A B'\nA B\nrm x",
    "heredoc with a joined end": "cat <<A'B'\nAB\nrm x",
    "heredoc without an end": "cat <<A\nrm x",
    "two heredocs": "cat <<A <<B\nA\nB\nrm x",
    "backticks in an expansion": 'echo "${x:-`id`}"',
    "subscript in a test": "[[ -v 'a[$(id)]' ]]",
    "number in a test": "[[ 'a[$(id)]' -eq 1 ]]",
    "coproc": "coproc id",
    "wrongly clean": "echo a;;",
    "arithmetic": "echo $((a[$(id)]))",
    "old arithmetic": "echo $[a]",
    "arithmetic command": "((a[$(id)]))",
    "prompt expansion": "echo ${x@P}",
    "subscript": "echo ${a[$(id)]}",
    "array assignment": "a[$(id)]=1",
    "function": "ls() { id; }",
    "words that touch": '""\\rm x',
    "assignment that touches": "A=''\\x rm y",
    "name that is none": "1A=1 ls",
    "line that goes on": "ls\n\\\nrm x",
    "assignment that goes on": "A=1\n\\\nrm x",
    "redirection that goes on": "ls >x\n\\\nrm x",
    "loop that goes on": "for i in a\n\\\nb; do ls; done",
    "joined lines": "l\\\ns",
    "carriage return": "ls\rid",
    "vertical tab": "ls\x0bid",
    "nul": "ls\0id",
    "no-break space": "ls\u00a0id",
    "zero width space": "ls\u200bid",
    "escaped backticks": "echo `echo \\`id\\``",
    "locale string": 'echo $"`id`"',
}


@pytest.mark.parametrize("command", BLIND_SPOTS.values(), ids=BLIND_SPOTS)
def test_what_the_grammar_does_not_show_is_a_problem(command: str) -> None:
    assert take_apart(command).problem


@pytest.mark.parametrize(
    "word", ["{a,b}", "x{1..3}", "$X", '"$X"', "a$X", "$'\\x41'", "$(a)", "`a`", '"${X}"', "{a,$X}"]
)
def test_words_that_only_the_shell_knows_are_not_known(word: str) -> None:
    found = take_apart(f"echo {word}")
    assert found.problem or not found.parts[0].words[1].is_known


def test_a_quoted_word_with_a_beginning_is_no_option() -> None:
    words = take_apart('x "a/$F" "$F" a/$F "-$F"').parts[0].words
    assert [word.may_be_option for word in words[1:]] == [False, True, True, True]


@pytest.mark.parametrize(
    "command",
    ["a;" * 40_000, "x" * LONGEST_COMMAND + "x", "(" * 30_000, "$(" * 20_000, "`" * 60_000, "a && " * 10_000 + "a"],
    ids=["many", "long", "subshells", "substitutions", "backticks", "list"],
)
def test_what_is_too_large_is_a_problem(command: str) -> None:
    found = take_apart(command)
    assert found.problem
    assert sum(len(part.text) for part in found.parts) < 10 * LONGEST_COMMAND


def test_deep_nesting_costs_no_recursion() -> None:
    assert take_apart("echo " + "$(" * 5000 + "a" + ")" * 5000).problem
    assert not take_apart("echo " + "$(" * 30 + "a" + ")" * 30).problem


@given(st.text())
def test_any_text_is_taken_apart_or_a_problem(text: str) -> None:
    assert isinstance(take_apart(text), ShellParts)


PIECES = """probe a ; | & && ' " $( ` ) ( { } <<A A # \\ $X ${X x= [ ] if then fi ! <( <<< $' = ~ * time"""
SHELL_TEXT = st.lists(st.sampled_from([*PIECES.split(" "), " ", " ", "\n", "\t", "\\\n"]), max_size=14).map("".join)
BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="compares with a real bash")
@settings(max_examples=150, deadline=None)
@given(SHELL_TEXT)
def test_bash_runs_no_program_that_was_not_found(text: str) -> None:
    found = take_apart(text)
    if found.problem or ">" in text:
        return
    names = {word.text for part in found.parts for word in part.words[:1] if word.is_known}
    unknown = any(not word.is_known for part in found.parts for word in part.words[:1])
    wrapped = any(part.words[:1] and part.words[0].text == "time" for part in found.parts)
    script = f"probe() {{ echo RAN >&2; }}\n{text}"
    ran = subprocess.run(
        [BASH or "", "--norc", "-c", script], env={"PATH": "/nonexistent"}, capture_output=True, timeout=10, check=False
    )
    if b"RAN" in ran.stderr:
        assert "probe" in names or unknown or wrapped
