"""The risk of a shell command, part by part, and what to warn about before it is allowed."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.core.git_risk import git_risk
from aileron_tui.core.protected_paths import protected_path
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.shell_parts import Redirection, ShellPart, ShellParts
from aileron_tui.core.shell_programs import PROGRAMS, has_option
from aileron_tui.core.shell_subcommands import SUBCOMMANDS
from aileron_tui.core.shell_words import ShellWord
from aileron_tui.core.tool_paths import absolute, is_inside

_HIGH, _NORMAL, _LOW = RiskLevel.HIGH, RiskLevel.NORMAL, RiskLevel.LOW

NOT_TAKEN_APART: Final = Risk(_HIGH, "cannot be taken apart")
_UNKNOWN: Final = Risk(_NORMAL, "effect unknown")
_UNKNOWN_WORDS: Final = Risk(_HIGH, "words not known yet")
_READS: Final = Risk(_LOW, "only reads")
_READS_OUTSIDE: Final = Risk(_NORMAL, "reads outside the folder")
_WRITES: Final = Risk(_NORMAL, "writes a file")
_WRITES_OUTSIDE: Final = Risk(_HIGH, "writes outside the folder")
_PROTECTED: Final = Risk(_HIGH, "names protected files")
_CODE: Final = Risk(_HIGH, "runs inline code")
_STDIN: Final = Risk(_HIGH, "runs what it reads")
_SCRIPT: Final = Risk(_NORMAL, "runs a script")
_ENVIRONMENT: Final = Risk(_HIGH, "changes what programs do")
_OPTION: Final = Risk(_HIGH, "an option writes or runs")

_SHELLS: Final = frozenset(
    [
        "sh",
        "ash",
        "bash",
        "dash",
        "rbash",
        "ksh",
        "mksh",
        "zsh",
        "csh",
        "tcsh",
        "fish",
        "elvish",
        "nu",
        "xonsh",
        "pwsh",
        "powershell",
    ]
)
_INTERPRETERS: Final = {
    **dict.fromkeys(("python", "pypy"), "c"),
    **dict.fromkeys(("node", "nodejs", "iojs"), "eprCi"),
    **dict.fromkeys(
        ("perl", "ruby", "lua", "luajit", "tclsh", "r", "rscript", "julia", "groovy", "scala"), "eEnpiIrMm"
    ),
    **dict.fromkeys(("php",), "rBREFdza"),
    **dict.fromkeys(_SHELLS, "csiO"),
    **dict.fromkeys(
        ("deno", "tsx", "ts-node", "irb", "ghci", "guile", "racket", "swipl", "ocaml", "erl", "elixir"), "eprx"
    ),
}
_CODE_OPTIONS: Final = (
    "--eval",
    "--print",
    "--exec",
    "--command",
    "--require",
    "--import",
    "--loader",
    "--init-file",
    "--rcfile",
)
_SUBCOMMANDS_OF_DENO: Final = ("eval", "repl")
# Wrappers that run the rest of their words, with the letters of options that have a value of their own.
_WRAPPERS: Final = {"nohup": "", "time": "fo", "command": "", "builtin": "", "nice": "n", "ionice": "cnp", "stdbuf": "ioe",
                    "timeout": "ks", "gtimeout": "ks", "env": "uCS", "caffeinate": "tw"}  # fmt: skip
_VERSION: Final = re.compile(r"[0-9.-]*(?:\.exe)?$")
_USUAL_FOLDERS: Final = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[^/]*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HARMLESS_TARGETS: Final = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"))
_POWERFUL_VARIABLES: Final = re.compile(
    r"""(?:PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|CDPATH|GLOBIGNORE|HOME|SHELL|TMPDIR
    |LD_.*|DYLD_.*|GIT_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER|LESS.*|MANOPT|PYTHON.*|NODE_OPTIONS|NODE_PATH|NPM_CONFIG_.*
    |npm_config_.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|JAVA_.*|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_.*|GRADLE_.*|CLASSPATH
    |SSH_.*|GCONV_PATH|LOCPATH|XDG_.*|ZDOTDIR|FPATH|RUSTC.*|CARGO_.*|RUSTFLAGS|GOFLAGS|CC|CXX|AR|MAKEFLAGS|MAKE
    |PIP_.*|UV_.*|DOCKER_.*|KUBECONFIG|AWS_.*|http_proxy|https_proxy|all_proxy|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY
    |.*_COMMAND|.*_ASKPASS|TAR_OPTIONS|GREP_OPTIONS|RIPGREP_CONFIG_PATH|OPENSSL_.*|SSL_.*|AILERON.*|TERMINFO.*)""",
    re.VERBOSE,
)
_SED_STEP: Final = (
    r"(?:(?:\d+|\$|/(?:\\.|[^/\\\n])*/)(?:,[ ]*(?:\d+|\$|\+\d+|/(?:\\.|[^/\\\n])*/))?[ ]*!?[ ]*)?"
    r"(?:[pdqPDGgHhNnlx=]|s(?P<d{0}>[/|,\#@:])(?:\\.|(?!(?P=d{0}))[^\\\n])*(?P=d{0})(?:\\.|(?!(?P=d{0}))[^\\\n])*(?P=d{0})[gpiI0-9]*)?"
)
_SED_STEPS: Final = re.compile(_SED_STEP.format(0))


def command_risk(command: ShellParts, folder: str = "", own: Sequence[str] = ()) -> Risk:
    """The risk of a command: that of its riskiest part. One that could not be taken apart is of high risk."""
    if command.problem or not command.parts:
        return NOT_TAKEN_APART
    risks = [risk for part in command.parts for risk in _part_risks(part, folder, own)]
    if _leaves_folder(command, folder) and any(
        redirection.writes for part in command.parts for redirection in part.redirections
    ):
        risks.append(_WRITES_OUTSIDE)
    return max(risks, key=lambda risk: risk.level.rank)


def _part_risks(part: ShellPart, folder: str, own: Sequence[str]) -> Iterator[Risk]:
    program = (
        program_risk(part.words, folder)
        if part.words
        else Risk(_NORMAL, "sets variables")
        if part.assignments
        else _READS
    )
    yield program
    if program.level is not _LOW and protected_path(part.text, own):
        yield _PROTECTED
    for name, _ in part.assignments:
        yield _ENVIRONMENT if _POWERFUL_VARIABLES.fullmatch(name) else Risk(_NORMAL, "sets variables")
    for redirection in part.redirections:
        yield from _redirection_risks(redirection, folder, own)


def _redirection_risks(redirection: Redirection, folder: str, own: Sequence[str]) -> Iterator[Risk]:
    target = redirection.target
    if "/dev/tcp/" in target.text or "/dev/udp/" in target.text:
        yield Risk(_HIGH, "reaches another machine")
    if not redirection.writes or target.text in _HARMLESS_TARGETS:
        return
    if not target.is_known or target.has_pattern:
        yield Risk(_HIGH, "writes to an unknown file")
    elif protected_path(target.text, own):
        yield _PROTECTED
    elif target.text.startswith("~") or (folder and not is_inside(absolute(target.text, folder), folder)):
        yield _WRITES_OUTSIDE
    else:
        yield _WRITES


def _leaves_folder(command: ShellParts, folder: str) -> bool:
    return any(is_cd(part) and not _stays(part, folder) for part in command.parts)


def is_cd(part: ShellPart) -> bool:
    """Whether a part changes the folder of what follows."""
    return bool(part.words) and part.words[0].text in ("cd", "pushd", "popd", "chdir")


def _stays(part: ShellPart, folder: str) -> bool:
    """Whether `cd` leads to a folder inside the given one, by its text."""
    targets = [word for word in part.words[1:] if word.text != "--"]
    if len(targets) != 1 or not targets[0].is_known or targets[0].text.startswith(("~", "-", "+")):
        return False
    return bool(folder) and is_inside(absolute(targets[0].text, folder), folder)


def program_risk(words: Sequence[ShellWord], folder: str = "") -> Risk:
    """The risk of a program with its words, the program first."""
    rest = list(words)
    for _ in range(8):
        if not rest:
            return _UNKNOWN
        if not rest[0].is_known or rest[0].has_pattern:
            return Risk(_HIGH, "program not known yet")
        name = program_name(rest[0].text)
        if name not in _WRAPPERS:
            return _of_program(name, rest, folder)
        if name == "command" and any(has_option(word.text, "vV") for word in rest[1:2]):
            return _READS
        inner = _unwrapped(name, rest[1:])
        if inner is None:
            return Risk(_HIGH, "runs other programs")
        if name == "env" and any("=" in word.text for word in rest[1 : len(rest) - len(inner)]):
            changed = program_risk(inner, folder) if inner else _UNKNOWN
            return max(changed, _ENVIRONMENT, key=lambda risk: risk.level.rank)
        if not inner:
            return _READS
        rest = inner
    return Risk(_HIGH, "runs other programs")


def program_name(text: str) -> str:
    """The name of a program without its folder and version, in lower case."""
    name = text.rpartition("/")[2].lower()
    if name in PROGRAMS or name in SUBCOMMANDS:
        return name
    return _VERSION.sub("", name) or name


def _unwrapped(name: str, words: Sequence[ShellWord]) -> list[ShellWord] | None:
    """What a wrapper runs, or None if that is not certain."""
    rest = list(words)
    while rest:
        first = rest[0]
        if not first.is_known:
            return None
        if first.text == "--":
            del rest[0]
            break
        if first.text.startswith("--") or (name == "env" and has_option(first.text, "SC")):
            if first.text not in ("--preserve-status", "--foreground", "--ignore-environment", "--verbose"):
                return None
            del rest[0]
        elif first.text.startswith("-") and len(first.text) > 1:
            joined = first.text[-1] in _WRAPPERS[name] and len(first.text) == 2
            if name == "time" and has_option(first.text, "oa"):
                return None
            del rest[: 2 if joined else 1]
        elif name == "env" and "=" in first.text:
            del rest[0]
        else:
            break
    if name in ("timeout", "gtimeout"):
        del rest[:1]
    return rest


def _of_program(name: str, words: Sequence[ShellWord], folder: str) -> Risk:
    rest = words[1:]
    if name == "git":
        risk = git_risk(rest)
    elif name in SUBCOMMANDS:
        risk = SUBCOMMANDS[name].risk(rest)
    elif name in _INTERPRETERS:
        risk = _interpreter_risk(name, rest)
    elif name in ("sed", "gsed"):
        risk = _sed_risk(rest)
    elif name in ("awk", "gawk", "mawk", "nawk"):
        risk = _awk_risk(rest)
    elif name.startswith(("mkfs", "fsck", "ld-linux", "ld-musl")):
        risk = Risk(_HIGH, "may destroy data" if name.startswith(("mkfs", "fsck")) else "runs other programs")
    else:
        risk = _table_risk(name, rest)
    return _with_place(risk, words, folder)


def _table_risk(name: str, rest: Sequence[ShellWord]) -> Risk:
    found = PROGRAMS.get(name)
    if found is None:
        return _UNKNOWN
    if found.high_option(rest):
        unknown = any(not word.is_known and word.may_be_option for word in rest)
        return _UNKNOWN_WORDS if unknown else _OPTION
    if name in ("source", ".", "test", "printf", "read", "unset", "wait") and any(
        not word.is_known or ("[" in word.text and name != "printf") for word in rest[:1]
    ):
        return _UNKNOWN_WORDS if name in ("source", ".") else Risk(found.level, found.reason)
    return Risk(found.level, found.reason)


def _with_place(risk: Risk, words: Sequence[ShellWord], folder: str) -> Risk:
    """A low risk becomes normal if the program or a path is somewhere else, or a word is not known."""
    if risk.level is not _LOW:
        return risk
    program = words[0].text
    if "/" in program and not _USUAL_FOLDERS.fullmatch(program):
        return _UNKNOWN
    for word in words[1:]:
        if not word.is_known:
            return Risk(_NORMAL, "words not known yet")
        if _may_be_outside(word.text, folder):
            return _READS_OUTSIDE
    return risk


def _may_be_outside(text: str, folder: str) -> bool:
    value = text.partition("=")[2] if text.startswith("-") else text
    if value.startswith("~"):
        return True
    if value.startswith("/") or ".." in value.split("/"):
        return value not in _HARMLESS_TARGETS and not (folder and is_inside(absolute(value, folder), folder))
    return False


def _interpreter_risk(name: str, rest: Sequence[ShellWord]) -> Risk:
    letters = _INTERPRETERS[name]
    for word in rest:
        if not word.is_known:
            return _UNKNOWN_WORDS if word.may_be_option else _SCRIPT
        if word.text in ("--version", "-V", "--help", "-h") and len(rest) == 1:
            return _READS
        if name in ("python", "pypy") and word.text.startswith("-m"):
            return Risk(_NORMAL, "runs a module")
        if has_option(word.text, letters, _CODE_OPTIONS) or word.text == "-":
            return _STDIN if word.text == "-" else _CODE
        if name == "deno":
            return _CODE if word.text in _SUBCOMMANDS_OF_DENO else _SCRIPT
        if not word.text.startswith("-"):
            return _STDIN if word.text.startswith("/dev/") or word.text.startswith("/proc/") else _SCRIPT
    return _STDIN


def _sed_risk(rest: Sequence[ShellWord]) -> Risk:
    """sed reads if its script only prints, deletes and replaces; other commands of its language write or run."""
    scripts: list[str] = []
    in_place = False
    words = iter(rest)
    for word in words:
        if not word.is_known:
            return _UNKNOWN_WORDS if word.may_be_option or not scripts else Risk(_NORMAL, "words not known yet")
        text = word.text
        if text in ("-e", "--expression"):
            following = next(words, None)
            if following is None or not following.is_known:
                return _UNKNOWN_WORDS
            scripts.append(following.text)
        elif has_option(text, "i", ("--in-place",)):
            in_place = True
        elif text.startswith("--expression="):
            scripts.append(text.partition("=")[2])
        elif text.startswith("-") and len(text) > 1:
            if not re.fullmatch(r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|debug|posix|separate|null-data)", text):
                return _OPTION
        elif not scripts:
            scripts.append(text)
    if not scripts or not all(map(_is_plain_sed, scripts)):
        return Risk(_HIGH, "sed may run or write")
    return Risk(_NORMAL, "edits files in place") if in_place else _READS


def _is_plain_sed(script: str) -> bool:
    position = 0
    while position < len(script):
        if script[position] in "; \n{}":
            position += 1
            continue
        found = _SED_STEPS.match(script, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
        if position < len(script) and script[position] not in "; \n}":
            return False
    return True


def _awk_risk(rest: Sequence[ShellWord]) -> Risk:
    words = iter(rest)
    for word in words:
        if not word.is_known:
            return _UNKNOWN_WORDS
        if word.text in ("-F", "-v"):
            if (value := next(words, None)) is None or not value.is_known:
                return _UNKNOWN_WORDS
        elif word.text.startswith(("-F", "-v")):
            continue
        elif word.text.startswith("-"):
            return _OPTION
        else:
            return _awk_program_risk(word.text)
    return _UNKNOWN_WORDS


def _awk_program_risk(program: str) -> Risk:
    if re.search(r"system|getline|[|@\\]|close|/inet", program):
        return Risk(_HIGH, "awk may run a program")
    if ">" in program and "print" in program:
        return Risk(_HIGH, "awk may write a file")
    return _READS


def shell_warnings(command: ShellParts, folder: str = "", own: Sequence[str] = ()) -> Iterator[str]:
    """What to warn about before a command is allowed, as sentences. They may quote the command."""
    if command.problem:
        yield f"this command could not be taken apart: {command.problem}"
    if any(
        program_name(word.text) in ("sudo", "sudoedit", "doas", "su", "pkexec", "run0")
        for part in command.parts
        for word in part.words
        if word.is_known
    ):
        yield "it runs something as another user (sudo)"
    names = dict.fromkeys(
        name for part in command.parts for name, _ in part.assignments if _POWERFUL_VARIABLES.fullmatch(name)
    )
    for name in names:
        yield f"it sets {name}, which changes what programs do"
    for part in command.parts:
        for redirection in part.redirections:
            yield from _redirection_warnings(redirection, folder, own)


def _redirection_warnings(redirection: Redirection, folder: str, own: Sequence[str]) -> Iterator[str]:
    for risk in _redirection_risks(redirection, folder, own):
        if risk.level is _HIGH:
            yield f"a redirection {risk.reason}: {redirection.operator} {redirection.target.text or '…'}"
