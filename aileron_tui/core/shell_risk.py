"""The risk of a shell command, part by part, and what to warn about before it is allowed."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from aileron_tui.core.program_risk import program_name, program_risk, runs_as_another_user, unwrapped, variables_set
from aileron_tui.core.protected_paths import protected_path
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.shell_parts import Redirection, ShellPart, ShellParts
from aileron_tui.core.tool_paths import absolute, is_inside
from aileron_tui.core.tool_places import quoted_part

_HIGH, _NORMAL, _LOW = RiskLevel.HIGH, RiskLevel.NORMAL, RiskLevel.LOW

NOT_TAKEN_APART: Final = Risk(_HIGH, "cannot be taken apart")
_WRITES_OUTSIDE: Final = Risk(_HIGH, "writes outside the folder")
_PROTECTED: Final = Risk(_HIGH, "names protected files")
_SETS: Final = Risk(_NORMAL, "sets variables")

_HARMLESS_TARGETS: Final = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_POWERFUL_VARIABLES: Final = re.compile(
    r"""PATH|IFS|ENV|BASH_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|CDPATH|GLOBIGNORE|HOME|SHELL|TMPDIR|EXECIGNORE
    |LD_.*|DYLD_.*|GIT_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER|LESS.*|MANOPT|PYTHON.*|NODE_.*|NPM_CONFIG_.*|npm_config_.*
    |PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|JAVA_.*|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_.*|GRADLE_.*|CLASSPATH|PHP.*
    |SSH_.*|GCONV_PATH|LOCPATH|XDG_.*|ZDOTDIR|FPATH|RUSTC.*|CARGO_.*|RUSTFLAGS|GO.*|CC|CXX|AR|LD|MAKEFLAGS|MAKE
    |PIP_.*|UV_.*|DOCKER_.*|KUBECONFIG|AWS_.*|http_proxy|https_proxy|all_proxy|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY
    |.*_COMMAND|.*_ASKPASS|.*_OPTIONS|.*_WRAPPER|RIPGREP_CONFIG_PATH|OPENSSL_.*|SSL_.*|AILERON.*|TERMINFO.*|TERMCAP
    |CLAUDE.*|ANTHROPIC.*|CODEX.*|OPENAI.*|GEMINI.*|COPILOT.*|OPENCODE.*""".replace("\n    ", "")
)


def command_risk(command: ShellParts, folder: str = "", own: Sequence[str] = ()) -> Risk:
    """The risk of a command: that of its riskiest part. One that could not be taken apart is of high risk."""
    if command.problem:
        return NOT_TAKEN_APART
    if not command.parts:
        return Risk(_NORMAL, "runs nothing")
    risks = [risk for part in command.parts for risk in _part_risks(part, folder, own)]
    if any(risk.level is not _LOW for risk in risks) and _protected(command, own):
        risks.append(_PROTECTED)
    cds = [part for part in command.parts if _is_cd(part)]
    if cds and any(_runs(part) == "git" for part in command.parts):
        risks.append(Risk(_NORMAL, "git in another folder"))  # its settings may run programs
    if any(not _stays(part, folder) for part in cds) and any(risk.level is not _LOW for risk in _without(cds, command)):
        risks.append(Risk(_HIGH, "works outside the folder"))
    return max(risks, key=lambda risk: risk.level.rank)


def _without(parts: Sequence[ShellPart], command: ShellParts) -> Iterator[Risk]:
    """The risks of the other parts, as if they worked in the agent's folder."""
    for part in command.parts:
        if part not in parts:
            yield from _part_risks(part, "/", ())


def _part_risks(part: ShellPart, folder: str, own: Sequence[str]) -> Iterator[Risk]:
    yield program_risk(part.words, folder) if part.words else Risk(_LOW, "only reads")
    for name in _variables(part):
        yield Risk(_HIGH, "changes what programs do") if _POWERFUL_VARIABLES.fullmatch(name) else _SETS
    for redirection in part.redirections:
        yield from _redirection_risks(redirection, folder, own)


def _variables(part: ShellPart) -> Iterator[str]:
    yield from (name for name, _ in part.assignments)
    yield from variables_set(part.words)


def _redirection_risks(redirection: Redirection, folder: str, own: Sequence[str]) -> Iterator[Risk]:
    target = redirection.target
    if "/dev/tcp/" in target.text or "/dev/udp/" in target.text:
        yield Risk(_HIGH, "reaches another machine")
    if not redirection.writes:
        if redirection.operator == "<" and not _is_inside(target.text, folder):
            yield Risk(_NORMAL, "reads outside the folder")
    elif target.text in _HARMLESS_TARGETS and target.is_known:
        return
    elif not target.is_known or target.has_pattern:
        yield Risk(_HIGH, "writes to an unknown file")
    elif protected_path(target.text, own):
        yield _PROTECTED
    else:
        yield Risk(_NORMAL, "writes a file") if _is_inside(target.text, folder) else _WRITES_OUTSIDE


def _is_inside(text: str, folder: str) -> bool:
    return not text.startswith("~") and is_inside(absolute(text, folder), folder)


def _protected(command: ShellParts, own: Sequence[str]) -> str:
    """What a command names that no rule may allow a change to, also if the name is put together by quotes."""
    words = (word.text for part in command.parts for word in (*part.words, *(value for _, value in part.assignments)))
    return protected_path(command.text, own) or protected_path(" ".join(words), own)


def _writes_here(redirection: Redirection) -> bool:
    """Whether a file is written whose path depends on the folder."""
    return redirection.writes and not redirection.target.text.startswith("/")


def _is_cd(part: ShellPart) -> bool:
    return _runs(part) in ("cd", "pushd", "popd", "chdir")


def _runs(part: ShellPart) -> str:
    """The name of the program that a part runs in the end, or ""."""
    found = unwrapped(part.words)
    return program_name(found[0].text) if found else ""


def _stays(part: ShellPart, folder: str) -> bool:
    """Whether `cd` leads to a folder inside the given one, by its text."""
    targets = [word for word in part.words[1:] if word.text != "--"]
    if len(targets) != 1 or not targets[0].is_known or targets[0].text.startswith(("~", "-", "+")):
        return False
    return _is_inside(targets[0].text, folder)


def shell_warnings(command: ShellParts, folder: str = "", own: Sequence[str] = ()) -> Iterator[str]:
    """What to warn about before a command is allowed, as sentences. They may quote the command."""
    if command.problem:
        yield f"the command could not be taken apart: {command.problem}"
    if any(runs_as_another_user(part.words) for part in command.parts):
        yield "it runs something as another user (sudo)"
    for name in dict.fromkeys(name for part in command.parts for name in _variables(part)):
        if _POWERFUL_VARIABLES.fullmatch(name):
            yield f"it sets {name}, which changes what programs do"
    reads_only = all(risk.level is _LOW for part in command.parts for risk in _part_risks(part, folder, own))
    if (command.problem or not reads_only) and (found := _protected(command, own)):
        yield f"it names {found}"
    redirections = [redirection for part in command.parts for redirection in part.redirections]
    if any(map(_is_cd, command.parts)) and any(map(_writes_here, redirections)):
        yield "it changes the folder before it writes, so where it writes is not certain"
    for redirection in redirections:
        for risk in _redirection_risks(redirection, folder, own):
            if risk.level is _HIGH and risk is not _PROTECTED:
                target = f"{quoted_part(redirection.target.text)}{'' if redirection.target.is_known else '…'}"
                yield f"a redirection {risk.reason}: {redirection.operator} {target}"
