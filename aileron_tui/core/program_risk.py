"""The risk of one program of a shell command, by its name and its words."""

import re
from collections.abc import Sequence
from typing import Final

from aileron_tui.core.git_risk import git_risk
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.script_risk import INTERPRETERS, awk_risk, interpreter_risk, sed_risk
from aileron_tui.core.shell_programs import PROGRAMS, has_option
from aileron_tui.core.shell_subcommands import SUBCOMMANDS
from aileron_tui.core.shell_words import ShellWord
from aileron_tui.core.tool_paths import absolute, is_inside

_HIGH, _NORMAL, _LOW = RiskLevel.HIGH, RiskLevel.NORMAL, RiskLevel.LOW

_UNKNOWN: Final = Risk(_NORMAL, "effect unknown")
_UNKNOWN_WORDS: Final = Risk(_HIGH, "words not known yet")
_READS: Final = Risk(_LOW, "only reads")
_RUNS: Final = Risk(_HIGH, "runs other programs")

# Wrappers that run the rest of their words, with the letters of options that have a value of their own.
_WRAPPERS: Final = {
    "nohup": "",
    "command": "",
    "builtin": "",
    "time": "f",
    "nice": "n",
    "ionice": "cnp",
    "stdbuf": "ioe",
    "timeout": "ks",
    "gtimeout": "ks",
    "env": "u",
    "caffeinate": "tw",
}
_PLAIN_LONG_OPTIONS: Final = frozenset(("--preserve-status", "--foreground", "--ignore-environment", "--verbose"))
_MOST_WRAPPERS: Final = 8
_ROOT: Final = frozenset(("sudo", "sudoedit", "doas", "su", "runuser", "pkexec", "run0", "gosu", "setpriv"))
# Programs that write to a path they are given.
_WRITERS: Final = frozenset(
    ("cp", "mv", "ln", "link", "mkdir", "touch", "install", "tar", "unzip", "zip", "patch", "chmod", "split", "csplit")
)
_EVALUATING: Final = frozenset(("read", "getopts", "wait", "unset", "test", "printf", "["))
_VERSION: Final = re.compile(r"[0-9.-]*(?:\.exe)?$")
_USUAL_FOLDERS: Final = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[^/]*")
_HARMLESS: Final = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"))
_HIDDEN_PATTERN: Final = re.compile(r"(?:^|/)(?:\.[^/]*[*?\[]|[?\[])")
"""A pattern that may stand for a hidden file. `*` does not."""


def program_risk(words: Sequence[ShellWord], folder: str = "") -> Risk:
    """The risk of a program with its words, the program first. Wrappers such as `timeout` count as what they run."""
    rest = unwrapped(words)
    if rest is None:
        return _RUNS
    if not rest:
        return Risk(_NORMAL, "shows variables") if program_name(words[0].text) == "env" else _READS
    if not rest[0].is_known or rest[0].has_pattern or rest[0].text.startswith(("=", "%")):
        return Risk(_HIGH, "program not known yet")
    return _with_paths(_of_program(program_name(rest[0].text), rest[1:]), rest, folder)


def runs_as_another_user(words: Sequence[ShellWord]) -> bool:
    """Whether a program such as `sudo` is run, also by a program that runs others."""
    names = [program_name(word.text) for word in words if word.is_known]
    if not names:
        return False
    found = PROGRAMS.get(names[0])
    runs_others = names[0] in _WRAPPERS or (found is not None and found.reason == _RUNS.reason)
    return names[0] in _ROOT or (runs_others and not _ROOT.isdisjoint(names))


def variables_set(words: Sequence[ShellWord]) -> tuple[str, ...]:
    """The names of variables that `env` sets for the program that it runs."""
    if not words or program_name(words[0].text) not in ("env", *_ROOT):
        return ()
    return tuple(word.text.partition("=")[0] for word in words[1:] if re.match(r"[A-Za-z_]\w*=", word.text))


def program_name(text: str) -> str:
    """The name of a program without its folder and version, in lower case."""
    name = text.rpartition("/")[2].lower()
    if name in PROGRAMS or name in SUBCOMMANDS or name in _WRAPPERS:
        return name
    return _VERSION.sub("", name) or name


def unwrapped(words: Sequence[ShellWord]) -> list[ShellWord] | None:
    """The program that runs in the end with its words, or None if that is not certain."""
    rest = list(words)
    for _ in range(_MOST_WRAPPERS):
        if not rest or not rest[0].is_known or (name := program_name(rest[0].text)) not in _WRAPPERS:
            return rest
        if name == "command" and any(has_option(word.text, "vV") for word in rest[1:2]):
            return []
        inner = _inner(name, rest[1:])
        if inner is None:
            return None
        rest = inner
    return None


def _inner(name: str, words: Sequence[ShellWord]) -> list[ShellWord] | None:
    rest = list(words)
    while rest:
        first = rest[0]
        if not first.is_known and (first.may_be_option or name == "env"):
            return None
        if first.text == "--":
            del rest[0]
            break
        if first.text.startswith("--"):
            if first.text not in _PLAIN_LONG_OPTIONS:
                return None
            del rest[0]
        elif first.text.startswith("-") and len(first.text) > 1:
            if has_option(first.text, "SCPoa") or (name == "command" and first.text != "-p"):
                return None
            has_value = first.text[-1] in _WRAPPERS[name] and len(first.text) == 2
            del rest[: 2 if has_value else 1]
        elif name == "env" and "=" in first.text:
            del rest[0]
        else:
            break
    if name in ("timeout", "gtimeout"):
        del rest[:1]
    return rest


def _of_program(name: str, rest: Sequence[ShellWord]) -> Risk:
    if name == "git":
        return git_risk(rest)
    if name in SUBCOMMANDS:
        return SUBCOMMANDS[name].risk(rest)
    if name in INTERPRETERS:
        return interpreter_risk(name, rest)
    if name in ("sed", "gsed"):
        return sed_risk(rest)
    if name in ("awk", "gawk", "mawk", "nawk"):
        return awk_risk(rest)
    if name.startswith(("mkfs", "fsck")):
        return Risk(_HIGH, "may destroy data")
    if name.startswith(("ld-linux", "ld-musl")):
        return _RUNS
    if name in _EVALUATING and any("[" in word.text or (not word.is_known and name == "read") for word in rest):
        return Risk(_HIGH, "may evaluate its words")
    if name == "date" and _sets_clock([word.text for word in rest]):
        return Risk(_HIGH, "changes the system")
    if name == "tar" and rest and rest[0].is_known and not rest[0].text.startswith("-"):
        rest = [ShellWord(f"-{rest[0].text}"), *rest[1:]]  # its options may be written without a hyphen
    return _of_table(name, rest)


def _sets_clock(texts: Sequence[str]) -> bool:
    """Whether `date` has a bare number, which is a time to set unless an option says which time to show."""
    shows = any(text.startswith(("-d", "--d", "-r", "--r", "-j")) for text in texts)
    return not shows and any(re.fullmatch(r"\d[\d.]*", text) for text in texts)


def _of_table(name: str, rest: Sequence[ShellWord]) -> Risk:
    found = PROGRAMS.get(name)
    if found is None:
        return _UNKNOWN
    if name in ("source", "."):
        is_file = rest and rest[0].is_known and not rest[0].text.startswith(("/dev/", "/proc/"))
        return Risk(found.level, found.reason) if is_file else Risk(_HIGH, "runs what it reads")
    if found.high_option(rest):
        unknown = any(not word.is_known and word.may_be_option for word in rest)
        return _UNKNOWN_WORDS if unknown else Risk(_HIGH, "an option writes or runs")
    return Risk(found.level, found.reason)


def _with_paths(risk: Risk, words: Sequence[ShellWord], folder: str) -> Risk:
    """The risk with regard to where the program and its paths are, and to words that are not known."""
    name, rest = program_name(words[0].text), words[1:]
    if risk.level is _HIGH:
        return risk
    if name in _WRITERS or risk.reason == "edits files in place":
        if any(not word.is_known for word in rest):
            return _UNKNOWN_WORDS
        if any(_may_be_outside(word.text, folder) for word in rest):
            return Risk(_HIGH, "writes outside the folder")
    if risk.level is _NORMAL:
        hidden = any(word.has_pattern and _HIDDEN_PATTERN.search(word.text) for word in rest)
        return Risk(_HIGH, "may change hidden files") if hidden else risk
    if "/" in words[0].text and not _USUAL_FOLDERS.fullmatch(words[0].text):
        return _UNKNOWN
    if any(not word.is_known for word in rest):
        return Risk(_NORMAL, "words not known yet")
    found = PROGRAMS.get(name)
    if found and (found.letters or found.options) and any(word.has_pattern and word.text[0] in "*?[" for word in rest):
        return Risk(_NORMAL, "names may be options")
    if any(_may_be_outside(word.text, folder) for word in _without_script(name, rest)):
        return Risk(_NORMAL, "reads outside the folder")
    return risk


def _without_script(name: str, words: Sequence[ShellWord]) -> Sequence[ShellWord]:
    """The words of sed and awk without their script, which may look like a path."""
    if name not in ("sed", "gsed", "awk", "gawk", "mawk", "nawk") or any(word.text.startswith("-e") for word in words):
        return words
    first = next((number for number, word in enumerate(words) if not word.text.startswith("-")), len(words))
    return [*words[:first], *words[first + 1 :]]


def _may_be_outside(text: str, folder: str) -> bool:
    """Whether a word may be a path outside the folder. It may follow an option of one letter, or `=`."""
    values = (text[2:] if text.startswith("-") else text, text.partition("=")[2])
    for value in values:
        if value.startswith("~"):
            return True
        is_path = value.startswith("/") or ".." in value.split("/")
        if is_path and value not in _HARMLESS and not (folder and is_inside(absolute(value, folder), folder)):
            return True
    return False
