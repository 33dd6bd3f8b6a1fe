"""Variables that a project gives to an agent, and so to the agent's hooks and to every command that is approved."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from aileron_tui.doors.settings_findings import Finding, read_text

_LOADING: Final = re.compile(r"(LD|DYLD)_.*|GCONV_PATH|GLIBC_TUNABLES", re.IGNORECASE)
"""What the system itself obeys before the first program that the hook starts."""

_CHANGING: Final = re.compile(
    r"PATH|HOME|XDG_.*|PYTHON.*|__PYVENV_LAUNCHER__|AILERON.*|.*_PROXY|.*_BASE_URL|NODE_.*|BUN_.*|GIT_.*|PERL.*|RUBY.*"
    r"|OPENSSL_.*|SSL_.*|LOCPATH|EDITOR|PAGER|BASH_ENV|BASH_FUNC_.*|ENV|ZDOTDIR|SHELL|SHELLOPTS|BASHOPTS|PS4",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"^\s*(?:export\s+)?([\w.-]+)\s*(?:=|:\s)", re.MULTILINE | re.ASCII)


def environment_findings(path: Path, names: Iterable[str], title: str, *, all_names: bool = False) -> Iterator[Finding]:
    """What variables in a file can do to an agent.

    Variables that are not known to be dangerous are named only if `all_names` is set. Values are never shown.
    """
    kinds: dict[str, list[str]] = {"loading": [], "changing": [], "other": []}
    for name in sorted(set(names)):
        kinds[_kind(name)].append(name)
    if loading := kinds["loading"]:
        words = f"{path} sets {', '.join(loading)}: with that, a file can answer instead of the hook, without the gate"
        yield Finding(words, f"Remove it before you start {title} here.", switches_off=True)
    if changing := kinds["changing"]:
        words = (
            f"{path} sets {', '.join(changing)}, which can change what an approved command does or where it connects"
        )
        yield Finding(words, "Check the values, or remove them.")
    if all_names and kinds["other"]:
        yield Finding(f"{path} sets variables for {title}: {', '.join(kinds['other'])}", "Check what they do.")


def file_names(path: Path) -> list[str]:
    """The names of the variables in a `.env` file. Raises SettingsFault."""
    return _NAME.findall(read_text(path) or "")


def _kind(name: str) -> str:
    return "loading" if _LOADING.fullmatch(name) else "changing" if _CHANGING.fullmatch(name) else "other"
