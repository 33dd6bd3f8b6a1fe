"""Files that no rule may allow a change to: agents' settings, `.git`, MCP settings, shell start-up files, our own home.

Whoever can write to one of them can run code as the user or weaken the gate, so a person is asked every time. Names
are looked for anywhere in a text, because a path may be one word of a command, a line of a patch or a part of a URL.
A name that is only mentioned is found too; then a rule spares no prompt, which does no harm.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final
from urllib.parse import unquote

from aileron_tui.core.jsontext import Json

_GIT: Final = "git's own files"
_AGENTS: Final = "settings of an agent"
_MCP: Final = "settings of MCP servers"
_SHELL: Final = "a start-up file of a shell"
_OWN: Final = "the files of aileron-tui"

# Names in lower case. A name with a slash is a folder and a name in it.
_NAMES: Final = {
    _GIT: (".git", "git~1", ".gitconfig", ".gitmodules", ".config/git"),
    _MCP: (".mcp.json", "mcp.json", "mcp_config.json", "claude_desktop_config.json"),
    _AGENTS: (
        ".claude",
        ".claude.json",
        ".codex",
        ".gemini",
        ".copilot",
        ".cursor",
        ".windsurf",
        ".codeium",
        ".opencode",
        "opencode.json",
        "opencode.jsonc",
        ".qwen",
        ".goose",
        ".continue",
        ".aider.conf.yml",
        ".vscode",
        ".zed",
        "claude~1",
        "codex~1",
        ".config/claude",
        ".config/opencode",
        ".config/goose",
        ".config/zed",
        ".config/github-copilot",
        "/etc/claude-code",
        "/etc/codex",
        "claudecode/managed-settings.json",
        "managed-settings.json",
        ".github/hooks",
    ),
    _SHELL: (
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".kshrc",
        ".mkshrc",
        ".cshrc",
        ".tcshrc",
        ".login",
        ".logout",
        ".inputrc",
        ".envrc",
        ".pam_environment",
        ".xprofile",
        ".xsession",
        ".xinitrc",
        ".config/fish",
        "config.fish",
        ".config/nushell",
        ".config/environment.d",
        "profile.ps1",
        "microsoft.powershell_profile.ps1",
        "/etc/profile",
        "/etc/profile.d",
        "/etc/environment",
        "/etc/bash.bashrc",
        "/etc/bashrc",
        "/etc/zsh",
        "/etc/zshrc",
        "/etc/zshenv",
        "/etc/zprofile",
        "/etc/fish",
    ),
    _OWN: (
        ".aileron",
        ".config/aileron-tui",
        ".local/share/aileron-tui",
        ".local/state/aileron-tui",
        ".cache/aileron-tui",
        "application support/aileron-tui",
        "caches/aileron-tui",
    ),
}
_OUTSIDE: Final = r"[\w.~$%+@-]"
"""A character that continues a file name."""

_SLASHES: Final = re.compile(r"[/\\]+(?:\.?[/\\]+)*")
_UP: Final = re.compile(r"(?:^|(?<=[^\w.~$%+@/-])|(?<=/))[^/\s]+/\.\.(?=/|$)")
_MOST_DECODING: Final = 3


_KINDS: Final = {name: kind for kind, names in _NAMES.items() for name in names}
_NO_PATH: Final = re.compile(r"[^./\\~%]*", re.ASCII)
"""A text without any character that every protected name, or a disguise of one, has."""


_OTHER_NAMES: Final = tuple(name for name in _KINDS if not name.startswith("."))


@cache
def _dotted_names() -> re.Pattern[str]:
    """Finds names that begin with a dot, the longest first. Compiling it takes some milliseconds."""
    names = sorted((name for name in _KINDS if name.startswith(".")), key=len, reverse=True)
    return re.compile(rf"\.(?=({'|'.join(re.escape(name[1:]) for name in names)}))")


def _names_in(form: str) -> Iterator[str]:
    """The protected names that occur in a text, perhaps as a part of another name."""
    if "." in form:
        for found in _dotted_names().finditer(form):
            yield from (name for name in _KINDS if name[0] == "." and f".{found[1]}".startswith(name))
    yield from (name for name in _OTHER_NAMES if name in form)


@cache
def _whole(name: str) -> re.Pattern[str]:
    """Matches a name as a whole. Some systems ignore dots and blanks at the end of a name."""
    return re.compile(rf"(?<!{_OUTSIDE}){re.escape(name)}(?=[. ]*(?:$|[^\w.~$%+@ -]|\s))")


def protected_path(text: str, own: Iterable[str] = ()) -> str:
    """What a text names that no rule may allow a change to, in words, or "".

    `own` are the folders that this program uses. A path that only a symbolic link leads to cannot be seen here, so
    where a tool would write, its resolved path must be checked as well as the path as it was written.
    """
    if text.isascii() and _NO_PATH.fullmatch(text):
        return ""
    for form in _forms(text):
        if kind := next((_KINDS[name] for name in _names_in(form) if _whole(name).search(form)), ""):
            return kind
        for folder in own:
            name = _normal(folder).rstrip("/")
            if len(name) > 1 and re.search(rf"(?<!{_OUTSIDE}){re.escape(name)}(?!{_OUTSIDE})", form):
                return _OWN
    return ""


def protected_value(value: Json, own: Iterable[str] = ()) -> str:
    """What the texts of a JSON value name that no rule may allow a change to, in words, or ""."""
    return protected_path("\n".join(_texts(value)), own)


def _forms(text: str) -> Iterator[str]:
    """The text in the forms in which a program may read it as a path."""
    for _ in range(_MOST_DECODING):
        normal = _normal(text)
        yield normal
        if "/.." in normal and (short := _without_parents(normal)) != normal:
            yield short
        if "%" not in text or (decoded := unquote(text)) == text:
            return
        text = decoded


def _normal(text: str) -> str:
    """The text in lower case, with plain slashes and without characters that some file systems ignore in names."""
    if text.isascii():
        return _SLASHES.sub("/", text.lower()) if "/" in text or "\\" in text else text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(character for character in folded if unicodedata.category(character) not in ("Cf", "Mn"))
    return _SLASHES.sub("/", visible)


def _without_parents(text: str) -> str:
    """The text with `folder/..` removed, as a program does that resolves paths by their text."""
    for _ in range(100):
        shorter = _SLASHES.sub("/", _UP.sub("", text))
        if shorter == text:
            break
        text = shorter
    return text


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
