"""Files that no rule may allow a change to: agents' settings, `.git`, MCP settings, shell start-up files, our own home.

Whoever can write to one of them can run code as the user or weaken the gate, so a person is asked every time. Names
are looked for anywhere in a text, because a path may be one word of a command, a line of a patch or a part of a URL.
A name that is only mentioned is found too; then a rule spares no prompt, which does no harm.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache, lru_cache
from typing import Final
from urllib.parse import unquote

from aileron_tui.core.jsontext import Json

_GIT: Final = "git's own files"
_AGENTS: Final = "settings of an agent"
_MCP: Final = "settings of MCP servers"
_SHELL: Final = "a start-up file of a shell"
_OWN: Final = "the files of aileron-tui"
_TOO_MANY: Final = "too many patterns to check"

# Names in lower case. A name with a slash is a folder and a name in it, wherever that folder is.
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
        "etc/claude-code",
        "etc/codex",
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
        "etc/profile",
        "etc/profile.d",
        "etc/environment",
        "etc/bash.bashrc",
        "etc/bashrc",
        "etc/zsh",
        "etc/zshrc",
        "etc/zshenv",
        "etc/zprofile",
        "etc/fish",
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
_WORD: Final = re.compile(r"[\w.~$%+@/-]+")
_KEPT: Final = 16
"""How many folders are looked at before and after a `..`."""

_WILD: Final = re.compile(r"[*?\[{]")
_PATTERN: Final = re.compile(r"""(?<![^\s/"'`=,:;(])[\[{]*\.[^\s/"'`=]{0,100}""")
"""A name in a text that begins with a dot, perhaps as a pattern of a shell."""

_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_PATTERNS: Final = 200
_MOST_DECODING: Final = 5
_SHORT: Final = 200
"""The longest text about which it is remembered what it names."""


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
    """The protected names that occur in a text, perhaps as a part of another name. Each is yielded once."""
    if "." in form:
        for found in dict.fromkeys(match[1] for match in _dotted_names().finditer(form)):
            yield from (name for name in _KINDS if name[0] == "." and f".{found}".startswith(name))
    yield from (name for name in _OTHER_NAMES if name in form)


@cache
def _whole(name: str) -> re.Pattern[str]:
    """Matches a name as a whole, also after `@` and after an option of one letter.

    Some systems ignore dots and blanks at the end of a name.
    """
    before = rf"(?:(?<!{_OUTSIDE})|(?<=@)|(?<=\s-\w)|(?<=^-\w))"
    return re.compile(rf"{before}{re.escape(name)}(?=[. ]*(?:$|[^\w.~$%+@ -]|\s))")


def _matched_by_patterns(form: str) -> str:
    """What the patterns in a text match, such as `.gi?` or `.{git,x}`, in words, or ""."""
    if not _WILD.search(form):
        return ""
    choices = list(dict.fromkeys(pattern for pattern in _PATTERN.findall(form) if _WILD.search(pattern)))
    for choice in choices:  # which becomes longer meanwhile
        if len(choices) > _MOST_PATTERNS:
            return _TOO_MANY
        if braces := _BRACES.search(choice):
            before, after = choice[: braces.start()], choice[braces.end() :]
            choices += (f"{before}{inner}{after}" for inner in braces[1].split(","))
        elif any(map(str.isalpha, choice)):  # without a letter it is probably in a regular expression, such as `.*`
            matches = re.compile(translate(choice)).match
            if kind := next((kind for name, kind in _KINDS.items() if name[0] == "." and matches(name)), ""):
                return kind
    return ""


def protected_path(text: str, own: Iterable[str] = ()) -> str:
    """What a text names that no rule may allow a change to, in words, or "".

    `own` are the folders that this program uses. A path that only a symbolic link leads to cannot be seen here, so
    where a tool would write, its resolved path must be checked as well as the path as it was written.
    """
    if text.isascii() and _NO_PATH.fullmatch(text):
        return ""
    folders = _folders(tuple(own))
    for form in _forms(text):
        if kind := next((_KINDS[name] for name in _names_in(form) if _whole(name).search(form)), ""):
            return kind
        if kind := _matched_by_patterns(form):
            return kind
        if folders and folders.search(form):
            return _OWN
    return ""


@lru_cache(maxsize=8)
def _folders(own: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds these folders in a text."""
    names = [name for folder in own if len(name := _normal(folder).rstrip("/")) > 1]
    return re.compile(rf"(?<!{_OUTSIDE})(?:{'|'.join(map(re.escape, names))})(?!{_OUTSIDE})") if names else None


def protected_value(value: Json, own: Iterable[str] = ()) -> str:
    """What the texts of a JSON value name that no rule may allow a change to, in words, or "".

    A folder may be in one text and the name in it in another.
    """
    texts, own = tuple(dict.fromkeys(_texts(value))), tuple(own)
    found = (kind for text in texts if (kind := _protected_text(text, own)))
    return next(found, "") or _protected_in_parts(texts, own)


def _protected_text(text: str, own: tuple[str, ...]) -> str:
    return _protected_short_text(text, own) if len(text) <= _SHORT else protected_path(text, own)


@lru_cache(maxsize=4096)
def _protected_short_text(text: str, own: tuple[str, ...]) -> str:
    """The same as `protected_path`. The names of inputs and many of their values are the same in most calls."""
    return protected_path(text, own)


def _protected_in_parts(texts: Iterable[str], own: tuple[str, ...]) -> str:
    """What two texts name together: one ends with a folder, and one begins with a name in it."""
    paths = {path for text in texts for path in (_short_paths(text) if len(text) <= _SHORT else _paths(text))}
    cuts, last_names = _cuts(own), _last_names(own)
    folders = (path for path in paths if path.rpartition("/")[2] in last_names)
    rests = [rest for path in folders for end in _ends(path) for rest in cuts.get(end, ())]
    starts = {start for path in paths for start in _starts(path)} if rests else set()
    return next((kind for rest, kind in rests if rest in starts), "")


def _paths(text: str) -> frozenset[str]:
    """The paths that a text may be."""
    return frozenset(_resolved(form) for form in _decoded(text))


_short_paths: Final = lru_cache(maxsize=4096)(_paths)


@lru_cache(maxsize=8)
def _last_names(own: tuple[str, ...]) -> frozenset[str]:
    """The last parts of the folders of protected names."""
    return frozenset(folder.rpartition("/")[2] for folder in _cuts(own))


@lru_cache(maxsize=8)
def _cuts(own: tuple[str, ...]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """The folders of protected names, each with the rests of these names and what they are."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, kind in (*_KINDS.items(), *((_normal(folder).strip("/"), _OWN) for folder in own)):
        parts = name.split("/")
        for cut in range(1, len(parts)):
            found.setdefault("/".join(parts[:cut]), []).append(("/".join(parts[cut:]), kind))
    return found


def _ends(path: str) -> Iterator[str]:
    parts = path.rsplit("/", _KEPT)
    return ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))


def _starts(path: str) -> Iterator[str]:
    parts = path.split("/", _KEPT)
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def _forms(text: str) -> Iterator[str]:
    """The text in the forms in which a program may read it as a path."""
    for form in _decoded(text):
        yield form
        if "/.." in form:
            yield "\n".join(_after_parents(form))


def _decoded(text: str) -> Iterator[str]:
    for _ in range(_MOST_DECODING):
        text = _normal(text)
        yield text
        if "%" not in text or (decoded := unquote(text)) == text:
            return
        text = decoded


def _after_parents(text: str) -> Iterator[str]:
    """The parts of paths that only resolving `..` brings together.

    A blank may end a path or be a part of a name, so that words, lines and the whole text are read as paths.
    """
    for path in {*_WORD.findall(text), *text.split("\n"), text}:
        if "/.." in path:
            yield from _brought_together(path)


def _brought_together(path: str) -> Iterator[str]:
    folders: list[str] = []
    went_up, mark = False, -1
    for name in (*path.split("/"), ".."):
        if name == "..":
            if mark >= 0:
                yield f"/{'/'.join(folders[max(0, mark - _KEPT) : mark + _KEPT])}"
            del folders[-1:]
            went_up, mark = True, -1
        elif name not in ("", "."):
            mark = len(folders) if went_up else mark
            went_up = False
            folders.append(name)


def _resolved(path: str) -> str:
    """The path without `..`, as a program makes it that resolves paths by their text."""
    if "/" not in path:
        return path
    folders: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del folders[-1:]
        elif name not in ("", "."):
            folders.append(name)
    return "/".join(folders)


def _normal(text: str) -> str:
    """The text in lower case, with plain slashes and without characters that some file systems ignore in names."""
    if text.isascii():
        return _SLASHES.sub("/", text.lower()) if "/" in text or "\\" in text else text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(character for character in folded if unicodedata.category(character) not in ("Cf", "Mn"))
    return _SLASHES.sub("/", visible)


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
