"""Plain shell commands: what is accepted, every known way around such a check, and a comparison with a real bash."""

import shlex
import subprocess
from itertools import islice

import pytest

from aileron_tui.core.plain_command import LONGEST_PLAIN_COMMAND, plain_commands
from tests.core.plain_commands import BASH, command_lines, differences

needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("ls", [["ls"]]),
        ("  git   status  ", [["git", "status"]]),
        (
            "git commit -m 'Fix $PATH' --author=\"Li <li@x>\"",
            [["git", "commit", "-m", "Fix $PATH", "--author=Li <li@x>"]],
        ),
        ("git log --format='%h %s' -n 3", [["git", "log", "--format=%h %s", "-n", "3"]]),
        ('grep -rn "a b*" src/', [["grep", "-rn", "a b*", "src/"]]),
        ("awk '{print $1}' f.txt", [["awk", "{print $1}", "f.txt"]]),
        ("pip install x==1.0", [["pip", "install", "x==1.0"]]),
        (
            "make test && git push || echo 'no'; ls -l",
            [["make", "test"], ["git", "push"], ["echo", "no"], ["ls", "-l"]],
        ),
        ("a&&b||c;d", [["a"], ["b"], ["c"], ["d"]]),
        ('echo "it\'s; a && b | c > d"', [["echo", "it's; a && b | c > d"]]),
        ("./run --as-is /tmp/x:y", [["./run", "--as-is", "/tmp/x:y"]]),
    ],
)
def test_plain_commands_have_their_arguments(text: str, commands: list[list[str]]) -> None:
    assert plain_commands(text) == tuple(map(tuple, commands))


BYPASSES = {
    "composition with a pipe": ["ls | sh", "ls |& sh", "echo x|tee y"],
    "composition with a substitution": ["ls $(id)", "ls `id`", 'ls "$(id)"', 'ls "`id`"', "ls <(id)", "ls >(id)"],
    "composition in a group": ["(ls)", "{ ls; }", "ls; (id)", "f() { ls; }", "function f { ls; }"],
    "background": ["ls &", "ls & id", "ls &id", "ls &&& id"],
    "wrapper programs": [
        *(
            "env ls",
            "xargs rm",
            "timeout 5 ls",
            "nohup ls",
            "sudo ls",
            "time ls",
            "nice ls",
            "stdbuf -o0 ls",
            "watch ls",
        ),
        *("sh -c ls", "bash x.sh", "setsid ls", "busybox rm x", "ls && env ls", "ls; sudo ls", "ls || xargs ls"),
    ],
    "wrapper programs in disguise": [
        *(
            "/usr/bin/env ls",
            "./env ls",
            "'env' ls",
            '"sudo" ls',
            "e'nv' ls",
            "ENV ls",
            "/bin/../bin/sh x",
            "env.exe ls",
        ),
        *("bash5.2 x", "ksh93 x", "Sudo ls", 'ba"sh" -c ls'),
    ],
    "builtins that run or evaluate their arguments": [
        *(
            "exec ls",
            "eval ls",
            "command ls",
            "builtin cd /",
            "coproc ls",
            ". ./x",
            "source x",
            "trap ls EXIT",
            "noglob ls",
        ),
        *("test -v 'a[$(id)]'", "printf -v 'a[$(id)]' x", "read x", "let x", "- ls", "%1", "r", ": x"),
    ],
    "builtins that change what follows": [
        *(
            "cd /etc && rm passwd",
            "pushd /etc; ls",
            "export PATH=/tmp",
            "alias ls=rm; ls",
            "set -f",
            "hash -p /tmp/x ls",
        ),
        *("unset PATH", "enable -f x ls", "umask 0", "exit; ls", "shopt -s extglob", "declare x=1"),
    ],
    "assignments": [
        *("PATH=/tmp ls", "X=1 ls", "X=1", "X+=1 ls", "a[0]=1 ls", "ls && LD_PRELOAD=x ls", "X='1' ls", "X=(a) ls"),
        *("GIT_SSH_COMMAND=x git fetch", "'X=1' ls"),
    ],
    "heredocs and here strings": ["cat <<EOF", "cat <<'EOF'\nx\nEOF", "cat <<< x", "cat <<-EOF"],
    "redirections": [
        "ls > f",
        "ls >f",
        "ls>f",
        "ls 2>&1",
        "ls >> f",
        "ls < f",
        "ls &> f",
        "ls >| f",
        "ls 3<>f",
        ">f ls",
    ],
    "globs": ["rm *", "ls a?", "ls [ab]", "ls @(a|b)", "ls a*b", "[ -f x ]", "ls ^a"],
    "braces": ["ls {a,b}", "ls {1..3}", "ls a{b"],
    "expansions": [
        "ls ~",
        "ls ~root",
        "ls a=~",
        "ls $HOME",
        'ls "$HOME"',
        "ls ${X}",
        "ls $'a'",
        'ls $"a"',
        "=ls",
        "ls =ls",
    ],
    "history expansion": ["!!", "ls !$", "ls '!x'", 'ls "!x"', "^a^b", "! ls"],
    "comments": ["ls # x", "# ls", "ls a#b", "ls #"],
    "backslashes": ["ls \\", "l\\s", "ls a\\ b", "ls 'a\\b'", 'ls "a\\b"', "\\ls"],
    "reserved words": [
        *(
            "if ls; then id; fi",
            "for x in a; do ls; done",
            "while ls; do id; done",
            "[[ a ]]",
            "! ls",
            "case a in esac",
        ),
        *("select x in a", "until a", "repeat 3 ls", "function x", "'if' a", "ls && then id"),
    ],
    "several lines and control characters": [
        *("ls\nid", "ls\rid", "ls\r\n", "ls\tid", "ls \x00", "ls \x1b[2J", "ls \x7f", "ls '\n'", 'ls "\t"', "ls\x0bid"),
    ],
    "characters beyond ASCII": [
        "ls é",
        "ls\u00a0id",
        "ls 'é'",
        'ls "\u202e"',
        "ls\u2028id",
        "ls \ud800",
        "\uff4c\uff53",
    ],
    "empty words and quotes that touch": ["ls ''", 'ls ""', "'' ls", "ls a''", "ls 'a''b'", "ls 'a'\"b\"", "ls ''a"],
    "quotes that do not end": ["ls 'a", 'ls "a', "ls a'", "'ls", "ls 'a' 'b"],
    "operators without a command": [
        "",
        " ",
        ";",
        "ls;",
        "ls &&",
        "&& ls",
        "ls ;; id",
        "ls ; ; id",
        "ls && || id",
        "|| a",
    ],
    "a first word that is no program": ["'git status'", "-x", "a:b", "a@b", "..", "../", "/", "src/", "+x", "a=b"],
}


@pytest.mark.parametrize("text", [text for texts in BYPASSES.values() for text in texts])
def test_known_bypasses_are_not_plain(text: str) -> None:
    assert plain_commands(text) is None


def test_another_flag_makes_another_command() -> None:
    """`git log` only reads, and `git log --output=FILE` writes: commands can only be compared exactly."""
    allowed = plain_commands("git log")
    assert plain_commands("git log --output=/etc/x") not in (None, allowed)
    assert plain_commands("git --output=/etc/x log") not in (None, allowed)
    assert plain_commands("git -c core.pager=x log") not in (None, allowed)


def test_each_command_of_a_line_is_returned() -> None:
    """An allowed command before or after another one does not allow the other."""
    for operator in ("&&", "||", ";"):
        assert plain_commands(f"git status {operator} rm -rf x") == (("git", "status"), ("rm", "-rf", "x"))


def test_paths_are_returned_as_typed() -> None:
    """Symbolic links and `..` are for the caller to resolve, so nothing may be tidied away here."""
    assert plain_commands("./a/../b //x/./y/") == (("./a/../b", "//x/./y/"),)


def test_a_long_text_is_not_plain() -> None:
    longest = "ls " + "a" * (LONGEST_PLAIN_COMMAND - 3)
    assert plain_commands(longest) == (("ls", longest[3:]),)
    assert plain_commands(longest + "a") is None


@needs_bash
def test_of_the_words_that_bash_knows_only_harmless_ones_are_plain() -> None:
    words = subprocess.run([str(BASH), "-c", "compgen -bk"], capture_output=True, text=True, check=True).stdout.split()
    assert [word for word in words if plain_commands(f"{word} x")] == ["echo", "false", "pwd", "true"]


@needs_bash
def test_bash_runs_what_was_judged_plain() -> None:
    judged, found = differences(islice(command_lines(seed=1), 6000))
    assert judged > 1500
    assert found == []


@needs_bash
def test_bash_agrees_about_every_character_in_every_place() -> None:
    places = ("{0}", "{0}a", "a{0}", "a{0}b", "a {0}", "a {0} b", "a {0}b", "a b{0}", "a b{0}c", "a; {0} b", "a;{0}b")
    quoted = ("a '{0}'", 'a "{0}"', "a 'b{0}c'", 'a "b{0}c"', "a b'{0}'", "a 'b'{0}", 'a "b"{0}c')
    characters = [*map(chr, range(1, 256)), *(first + second for first in "=%-+.&|;!'\"" for second in "=%-+.&|;!'\"")]
    judged, found = differences(place.format(text) for place in places + quoted for text in characters)
    assert judged > 1000
    assert found == []


@needs_bash
def test_the_comparison_notices_a_careless_judge() -> None:
    def careless(text: str) -> tuple[tuple[str, ...], ...]:
        return (tuple(shlex.split(text)),)

    texts = ["ls *", "ls ~", "ls $HOME", "ls {a,b}", "ls a; ls", "X=1 ls", "ls # a", "! ls", "ls x", "ls 'a\\b'"]
    judged, found = differences(texts, careless)
    assert judged == len(texts)
    assert [difference.text for difference in found] == texts[:8]
