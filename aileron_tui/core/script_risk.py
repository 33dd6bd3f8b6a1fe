"""The risk of programs that run a language of their own: interpreters, shells, sed and awk."""

import re
from collections.abc import Sequence
from typing import Final

from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.shell_programs import has_option
from aileron_tui.core.shell_subcommands import SUBCOMMANDS
from aileron_tui.core.shell_words import ShellWord

_HIGH, _NORMAL, _LOW = RiskLevel.HIGH, RiskLevel.NORMAL, RiskLevel.LOW

_READS: Final = Risk(_LOW, "only reads")
_UNKNOWN_WORDS: Final = Risk(_HIGH, "words not known yet")
_CODE: Final = Risk(_HIGH, "runs inline code")
_STDIN: Final = Risk(_HIGH, "runs what it reads")
_SCRIPT: Final = Risk(_NORMAL, "runs a script")
_OPTION: Final = Risk(_HIGH, "an option writes or runs")

_SHELLS: Final = "sh ash bash dash rbash ksh mksh zsh csh tcsh fish elvish nu xonsh"
_OTHERS: Final = "perl ruby lua luajit tclsh r rscript julia groovy scala irb ghci guile racket swipl ocaml erl elixir"
# The letters of options that run code, read it from the input or load something first.
_LETTERS: Final = {
    **dict.fromkeys(("python", "pypy"), "ci"),
    **dict.fromkeys(("node", "nodejs", "tsx", "ts-node"), "epriC"),
    **dict.fromkeys(_OTHERS.split(), "eEnpiIrMmlaxs"),
    **dict.fromkeys(_SHELLS.split(), "csiO"),
    "php": "rBREFdzaS",
    "deno": "e",
}
INTERPRETERS: Final = frozenset(_LETTERS)
# Elsewhere such an option means something else, and the code is read from the input: `sh -V`, `bash -h`, `tclsh -h`.
_VERSIONS: Final = {
    **dict.fromkeys(("python", "pypy"), ("--version", "-V", "--help", "-h")),
    **dict.fromkeys(("node", "nodejs", "ruby", "perl", "php", "deno"), ("--version", "--help", "-h")),
    **dict.fromkeys(("bash", "zsh", "fish"), ("--version", "--help")),
}
_CODE_OPTIONS: Final = (
    *("--eval", "--print", "--exec", "--command", "--require", "--import", "--loader", "--experimental-loader"),
    *("--init-file", "--rcfile", "--init-command", "--interactive", "--run", "--process-code"),
)
# Modules that run what they are given, or serve or publish files.
_MODULES: Final = frozenset(
    ("timeit", "code", "pdb", "trace", "twine", "http.server", "webbrowser", "smtpd", "asyncio")
)
_SED_OPTION: Final = re.compile(r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|debug|posix|separate|null-data)")
_SED_ADDRESS: Final = r"(?:\d+|\$|/(?:\\.|[^/\\\n])*/)"
_SED_STEP: Final = re.compile(
    rf"(?:{_SED_ADDRESS}(?:, *(?:\+\d+|{_SED_ADDRESS}))? *!? *)?"
    r"(?:[pdqPDGgHhNnlx=]|s([/|,#@:])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiI0-9]*)?"
)


def interpreter_risk(name: str, words: Sequence[ShellWord]) -> Risk:
    """The risk of an interpreter or shell with these words after its name: is the code in a file, or given here?"""
    texts = [word.text for word in words]
    if len(words) == 1 and words[0].is_known and texts[0] in _VERSIONS.get(name, ()):
        return _READS
    first = next((number for number, word in enumerate(words) if not word.may_be_option), len(words))
    if any(not word.is_known for word in words[:first]):
        return _UNKNOWN_WORDS
    if name in ("python", "pypy") and first and texts[first - 1].startswith("-") and texts[first - 1].endswith("m"):
        return _module_risk(words[first:])
    # An option may have a value, which then is not the script: code may follow it.
    for text in texts if first else texts[:1]:
        if text == "-":
            return _STDIN
        if text.startswith(("-", "+")) and has_option(f"-{text[1:]}", _LETTERS[name], _CODE_OPTIONS):
            return _CODE
    if first == len(words):
        return _STDIN
    if name == "deno" and texts[first] in ("eval", "repl"):
        return _CODE
    return _STDIN if texts[first].startswith(("/dev/", "/proc/")) or not words[first].is_known else _SCRIPT


def _module_risk(words: Sequence[ShellWord]) -> Risk:
    """The risk of `python -m`."""
    if not words or not words[0].is_known or words[0].text in _MODULES:
        return _CODE
    if words[0].text in ("pip", "pipx", "poetry", "uv"):
        return SUBCOMMANDS[words[0].text].risk(words[1:])
    return Risk(_NORMAL, "runs a module")


def sed_risk(words: Sequence[ShellWord]) -> Risk:
    """sed reads if its script only prints, deletes and replaces; other commands of its language write or run."""
    scripts: list[str] = []
    files: list[ShellWord] = []
    in_place = False
    rest = iter(words)
    for word in rest:
        if not word.is_known and word.may_be_option:
            return _UNKNOWN_WORDS
        if word.text in ("-e", "--expression"):
            following = next(rest, None)
            if following is None or not following.is_known:
                return _UNKNOWN_WORDS
            scripts.append(following.text)
        elif word.text.startswith("--expression="):
            scripts.append(word.text.partition("=")[2])
        elif has_option(word.text, "i", ("--in-place",)):
            in_place = True
        elif word.text.startswith("-") and len(word.text) > 1:
            if not _SED_OPTION.fullmatch(word.text):
                return _OPTION
        else:
            files.append(word)
    if not scripts and files:
        first = files.pop(0)
        scripts = [first.text] if first.is_known else []
    if not scripts or not all(map(_is_plain_sed, scripts)):
        return Risk(_HIGH, "sed may run or write")
    return Risk(_NORMAL, "edits files in place") if in_place else _READS


def _is_plain_sed(script: str) -> bool:
    position = 0
    while position < len(script):
        if script[position] in "; \n{}":
            position += 1
            continue
        found = _SED_STEP.match(script, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
        if position < len(script) and script[position] not in "; \n{}":
            return False
    return True


def awk_risk(words: Sequence[ShellWord]) -> Risk:
    """awk reads if its program neither runs a command nor writes a file."""
    rest = iter(words)
    for word in rest:
        if not word.is_known:
            return _UNKNOWN_WORDS
        if word.text in ("-F", "-v"):
            value = next(rest, None)
            if value is None or (not value.is_known and not value.is_one):
                return _UNKNOWN_WORDS
        elif word.text.startswith(("-F", "-v")):
            continue
        elif word.text.startswith("-"):
            return _OPTION
        else:
            return _awk_program_risk(word.text.replace("||", ""))
    return _UNKNOWN_WORDS


def _awk_program_risk(program: str) -> Risk:
    if re.search(r"system|getline|[|@]", program):
        return Risk(_HIGH, "awk may run a program")
    return Risk(_HIGH, "awk may write a file") if ">" in program and "print" in program else _READS
