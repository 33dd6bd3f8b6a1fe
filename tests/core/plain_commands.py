"""Compares the commands judged plain with what a real bash runs: `python -m tests.core.plain_commands --count 100000`.

bash evaluates each text twice in a folder with files that globs would match, once with every program succeeding and
once with every program failing. Programs are functions that record their arguments, so every command between `&&`,
`||` and `;` is recorded in one of the two runs.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from aileron_tui.core.plain_command import plain_commands

BASH: Final = shutil.which("bash")
BATCH: Final = 2000

Argv = tuple[str, ...]

PROGRAMS: Final = ("git", "ls", "make", "npm", "./run", "bin/x.sh", "/usr/bin/cat", "echo", "a", "pytest", "g++", "7z")
WORDS: Final = (
    *("status", "-v", "--all", "-n=3", "a=b", "--x=", "src/main.py", "a.b", "HEAD^", "HEAD@{1}", "%h", "x,y", "1", "-"),
    *("user@host:path", "--", "+x", ":1", "a+=b", "==", "//", "..", "2", "pip==1.0", "@", "_"),
)
QUOTED: Final = (
    *("'a b'", '"a b"', "'$HOME'", "'`id`'", '"it\'s"', "'*'", '"*"', "'~'", "'#'", "'{a,b}'", '";"', "'&&'", "' '"),
    *('" > b"', "'%s'", '"=x"', "'a'", '"a"', "'echo'", "'git'", '"|"', "'<'", '"[a]"', "'?'", '"~"', '"{a,b}"'),
)
OPERATORS: Final = (" && ", " || ", "; ", ";", "&&", "||", " ; ")
# Texts that shells treat in a special way, most of which must not be judged plain.
TRICKS: Final = (
    *("|", "&", ">", "<", ">>", "<<EOF", ">b", "2>&1", "<(ls)", "|&", ";;", ";&", "&&&", "|||", "(", ")", "{", "}"),
    *("$HOME", "${HOME}", "$(id)", "`id`", "$'a'", '$"a"', "$((1))", "*", "?", "[ab]", "a*", "{a,b}", "{1..3}", "~"),
    *("~root", "!", "!!", "!a", "#", "# a", "\\", "\\ ", "\\n", "\n", "\r", "\t", "\v", "\x00", "\x1b", "\x7f", "\xa0"),
    *("é", "\u2028", "\u200b", "\udc80", "''", '""', "'", '"', "^", "^a^b", "=ls", "%1", "X=1 ", "PATH=. ", "a+=1 "),
    *("a[0]=1 ", "if ", "then ", "time ", "! ", "[[ a ]]", "env ", "exec ", "eval ", "cd ", "test ", "sh -c ", "-"),
    *("'a''b'", "'a'\"b\"", "\"a\"'b'", "''a", "a''", "?(a)", "@(a)", "+(a)", "a=(b)", "function a ", "() ", "coproc "),
)
ALPHABET: Final = "ab./-= '\"" + "".join(map(chr, range(32, 127))) + "\t\n\r\x00\x1b\x7f\xa0é"


class Difference(NamedTuple):
    """A text judged plain of which bash made something else."""

    text: str
    judged: tuple[Argv, ...]
    ran: tuple[tuple[Argv, ...], tuple[Argv, ...]]


def command_lines(seed: int) -> Iterator[str]:
    """Make command lines without end: ordinary ones, and ordinary ones with a change of one or two places."""
    choice = random.Random(seed)
    while True:
        parts = [
            "".join(
                [
                    choice.choice(PROGRAMS),
                    *(
                        choice.choice(("", " ", " ", " ", "  ")) + choice.choice(choice.choice((WORDS, WORDS, QUOTED)))
                        for _ in range(choice.randrange(5))
                    ),
                ]
            )
            for _ in range(choice.choice((1, 1, 1, 2, 2, 3, 4)))
        ]
        text = "".join(part + choice.choice(OPERATORS) for part in parts[:-1]) + parts[-1]
        for _ in range(choice.choice((0, 0, 1, 1, 2))):
            at = choice.randrange(len(text) + 1)
            until = at + choice.choice((0, 0, 1, 2))
            text = (
                text[:at] + (choice.choice(TRICKS) if choice.random() < 0.5 else choice.choice(ALPHABET)) + text[until:]
            )
        yield text


def differences(
    texts: Iterable[str], judge: Callable[[str], tuple[Argv, ...] | None] = plain_commands
) -> tuple[int, list[Difference]]:
    """Return how many of `texts` are judged plain, and those that bash takes apart in another way."""
    judged = {text: argvs for text in texts if (argvs := judge(text)) is not None}
    found = []
    for text, ran in zip(judged, _runs(list(judged), judged.values()), strict=True):
        if ran != _expected(text, judged[text]):
            found.append(Difference(text, judged[text], ran))
    return len(judged), found


def _expected(text: str, argvs: tuple[Argv, ...]) -> tuple[tuple[Argv, ...], tuple[Argv, ...]]:
    """Return what runs if every program succeeds, and what runs if every program fails."""
    before = [";", *re.findall(r"&&|\|\||;", re.sub(r"'[^']*'|\"[^\"]*\"", "", text))]
    if len(before) != len(argvs):
        return (), ()
    return (
        tuple(argv for operator, argv in zip(before, argvs, strict=True) if operator != "||"),
        tuple(argv for operator, argv in zip(before, argvs, strict=True) if operator != "&&"),
    )


def _runs(texts: Sequence[str], judged: Iterable[tuple[Argv, ...]]) -> list[tuple[tuple[Argv, ...], tuple[Argv, ...]]]:
    """Evaluate every text in one bash, and return what it ran: if all succeeds, and if all fails."""
    if not texts:
        return []
    programs = sorted({argv[0] for argvs in judged for argv in argvs})
    record = '{ builtin printf "%s\\0" "${FUNCNAME[0]}" "$#" "$@" >&"$record"; return "$status"; }'
    script = "\n".join(
        [
            "exec {record}>&1 >/dev/null 2>&1 {texts}<&0 </dev/null",
            *(f"function {program} {record}" for program in programs),
            "index=0",
            'while IFS= read -r -d "" text <&"$texts"; do',
            "  for status in 0 1; do",
            '    builtin printf "%s\\0" "" "$index $status" >&"$record"',
            '    eval "$text"',
            "  done",
            "  (( index += 1 ))",
            "done",
            'builtin printf "%s\\0" "" end >&"$record"',
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a", "b", "ab", "-", "x"):
            (Path(folder) / name).touch()
        done = subprocess.run(
            [BASH or "bash", "--norc", "--noprofile", "-O", "extglob", "-c", script],
            input=b"".join(text.encode() + b"\0" for text in texts),
            stdout=subprocess.PIPE,
            env={"PATH": "/nonexistent", "HOME": "/home/somebody"},
            cwd=folder,
            timeout=300,
            check=False,
        )
        left = sorted(path.name for path in Path(folder).iterdir())
    assert left == ["-", "a", "ab", "b", "x"], f"a text judged plain changed files: {left}"
    return _read(done.stdout.decode().split("\0"), len(texts))


def _read(fields: list[str], count: int) -> list[tuple[tuple[Argv, ...], tuple[Argv, ...]]]:
    """Read the record: an empty field begins a run; a program's name and number of arguments begin its arguments."""
    runs: dict[str, list[Argv]] = {}
    here: list[Argv] = []
    remaining = iter(fields[:-1])
    for name in remaining:
        if not name:
            here = runs.setdefault(next(remaining), [])
        else:
            here.append((name, *islice(remaining, int(next(remaining)))))
    assert "end" in runs, "a text judged plain ended the shell"
    return [(tuple(runs[f"{index} 0"]), tuple(runs[f"{index} 1"])) for index in range(count)]


def main() -> int:
    """Compare as many texts as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    texts = islice(command_lines(options.seed), options.count)
    plain, found = 0, []
    while batch := list(islice(texts, BATCH)):
        judged, different = differences(batch)
        plain += judged
        found += different
    for difference in found[:20]:
        sys.stdout.write(f"{difference}\n")
    sys.stdout.write(f"{options.count} texts, {plain} distinct ones judged plain, {len(found)} differences from bash\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
