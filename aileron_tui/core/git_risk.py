"""The risk of git commands, by subcommand and options.

Git runs programs that its settings name: pagers, editors, hooks, filters, aliases. Writing these settings is protected
(`core/protected_paths.py`), so a command counts as reading as long as it sets none of them itself.
"""

from collections.abc import Callable, Sequence
from typing import Final

from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.shell_programs import has_option
from aileron_tui.core.shell_words import ShellWord

_HIGH, _NORMAL, _LOW = RiskLevel.HIGH, RiskLevel.NORMAL, RiskLevel.LOW

_READS: Final = Risk(_LOW, "only reads")
_CHANGES: Final = Risk(_NORMAL, "changes the repository")
_DISCARDS: Final = Risk(_HIGH, "may discard changes")
_REMOVES: Final = Risk(_HIGH, "may remove something")
_REWRITES: Final = Risk(_HIGH, "rewrites history")
_SENDS: Final = Risk(_HIGH, "may send or publish")
_RUNS: Final = Risk(_HIGH, "git may run a program")
_SETS: Final = Risk(_HIGH, "changes settings of git")
_NETWORK: Final = Risk(_NORMAL, "reaches the network")

_READING_NAMES: Final = """
    status diff log show rev-parse ls-files ls-tree blame annotate shortlog describe cat-file rev-list merge-base grep
    name-rev for-each-ref whatchanged count-objects version diff-tree diff-index diff-files show-ref show-branch cherry
    range-diff check-ignore check-attr verify-commit verify-tag"""
_CHANGING_NAMES: Final = """
    merge cherry-pick revert mv init apply am bundle sparse-checkout format-patch"""
_READING: Final = frozenset(_READING_NAMES.split())
_CHANGING: Final = frozenset(_CHANGING_NAMES.split())
_FIXED: Final = {
    "push": _SENDS, "send-pack": _SENDS, "send-email": _SENDS, "request-pull": _SENDS, "http-push": _SENDS,
    "clean": _REMOVES, "rm": _REMOVES, "gc": _REMOVES, "prune": _REMOVES, "repack": _REMOVES,
    "checkout-index": _DISCARDS, "read-tree": _DISCARDS,
    "rebase": _REWRITES, "filter-branch": _REWRITES, "filter-repo": _REWRITES, "replace": _REWRITES,
    "update-ref": _REWRITES, "symbolic-ref": _REWRITES, "commit-tree": _REWRITES, "fast-import": _REWRITES,
    "credential": _SETS, "update-index": _SETS,
}  # fmt: skip
# Options that run a program or write a file in whichever subcommand has them.
_RUNNING: Final = (
    *("--output", "--ext-diff", "--textconv", "--filters", "--open-files-in-pager", "--exec", "--upload-pack"),
    *("--receive-pack", "--template", "--config", "--config-env", "--exec-path", "--recurse-submodules", "--extcmd"),
    *("--gpg-sign", "--separate-git-dir", "--output-directory", "--upload-archive", "--tool", "--paginate"),
)
_VALUED: Final = frozenset(("-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"))
_GLOBAL: Final = frozenset(("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"))


def git_risk(words: Sequence[ShellWord]) -> Risk:
    """The risk of git with these words after its name."""
    rest = list(words)
    elsewhere = False
    while rest and rest[0].is_known and rest[0].text.startswith("-"):
        option = rest[0].text.partition("=")[0]
        if option in ("--version", "--help", "-h", "-v") and len(rest) == 1:
            return _READS
        if option not in _GLOBAL and option not in _VALUED:
            return _RUNS
        elsewhere = elsewhere or option in _VALUED
        del rest[: 2 if option in _VALUED and "=" not in rest[0].text else 1]
    if not rest:
        return _READS
    if not rest[0].is_known:
        return Risk(_HIGH, "words not known yet")
    name, *rest = rest
    texts = [word.text for word in rest]
    if any("::" in text for text in texts if name.text in ("clone", "fetch", "pull", "push", "remote", "ls-remote")):
        return _RUNS
    if any(has_option(text, options=_RUNNING) for text in _before_files(texts)):
        return _RUNS
    unknown = any(not word.is_known and word.may_be_option for word in rest)
    risk = _of_subcommand(name.text, texts, unknown)
    if elsewhere and risk.level is _LOW:
        return Risk(_NORMAL, "works in another folder")
    return risk


def _before_files(texts: Sequence[str]) -> Sequence[str]:
    """The words before `--`, after which git reads no options."""
    return texts[: texts.index("--")] if "--" in texts else texts


def _of_subcommand(name: str, texts: Sequence[str], unknown: bool) -> Risk:
    if name in _READING:
        if name == "grep" and _Words(texts).has("O"):
            return _RUNS
        return Risk(_HIGH, "words not known yet") if unknown else _READS
    if name in _JUDGED:
        if unknown and name not in ("add", "commit"):
            return Risk(_HIGH, "words not known yet")
        return _JUDGED[name](_Words(texts))
    if name in _FIXED:
        return _FIXED[name]
    return _CHANGES if name in _CHANGING else Risk(_HIGH, "unknown git command")


class _Words:
    """The words after a subcommand: `first` is the first one that is not an option."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.options = [text for text in _before_files(texts) if text.startswith("-")]
        self.others = [text for text in texts if not text.startswith("-")]
        self.first = self.others[0] if self.others else ""

    def has(self, letters: str, *options: str) -> bool:
        """Whether one of these options is there."""
        return any(has_option(text, letters, options) for text in self.options)


def _checkout(words: _Words) -> Risk:
    is_new = words.has("b", "--orphan") and not words.has("fB", "--force") and "--" not in words.texts
    return _CHANGES if is_new else _DISCARDS


def _restore(words: _Words) -> Risk:
    return _CHANGES if words.has("S", "--staged") and not words.has("W", "--worktree") else _DISCARDS


def _switch(words: _Words) -> Risk:
    return _DISCARDS if words.has("fC", "--force", "--discard-changes", "--force-create") else _CHANGES


def _reset(words: _Words) -> Risk:
    return _DISCARDS if words.has("", "--hard", "--merge", "--keep") else _CHANGES


def _branch(words: _Words) -> Risk:
    if words.has("dDmMfcC", "--delete", "--move", "--force", "--copy", "--edit-description"):
        return _REMOVES
    return _READS if not words.others or words.has("l", "--list", "--contains", "--merged") else _CHANGES


def _tag(words: _Words) -> Risk:
    if words.has("dfsu", "--delete", "--force", "--sign", "--local-user"):
        return _REMOVES
    return _READS if not words.others or words.has("l", "--list") else _CHANGES


def _stash(words: _Words) -> Risk:
    if words.first in ("drop", "clear", "pop"):
        return _REMOVES
    return _READS if words.first in ("list", "show") else _CHANGES


def _remote(words: _Words) -> Risk:
    if words.first in ("", "get-url"):
        return _READS
    return _NETWORK if words.first == "show" else _SETS


def _config(words: _Words) -> Risk:
    if len(words.texts) == 1 and words.first:
        return _READS
    reads = words.has("l", "--get", "--get-all", "--list", "--get-regexp") or words.first in ("get", "list")
    return _READS if reads and not words.has("e", "--edit", "--add", "--unset", "--replace-all") else _SETS


def _nested(words: _Words) -> Risk:
    """Subcommands that have subcommands of their own."""
    if words.first in ("run", "foreach", "update", "visualize", "view"):
        return _RUNS
    if words.first in ("remove", "prune", "deinit", "push", "unlock", "expire", "delete", "drop", "reset"):
        return _REMOVES
    return _READS if words.first in ("list", "status", "log") else _CHANGES


def _reflog(words: _Words) -> Risk:
    return _REMOVES if words.first in ("expire", "delete", "drop") else _READS


def _network(words: _Words) -> Risk:
    return _RUNS if words.has("cu") else _NETWORK


_JUDGED: Final[dict[str, Callable[[_Words], Risk]]] = {
    "checkout": _checkout,
    "restore": _restore,
    "switch": _switch,
    "reset": _reset,
    "branch": _branch,
    "tag": _tag,
    "stash": _stash,
    "remote": _remote,
    "config": _config,
    "reflog": _reflog,
    **dict.fromkeys(("worktree", "submodule", "bisect", "lfs", "notes"), _nested),
    **dict.fromkeys(("fetch", "pull", "clone", "ls-remote"), _network),
    "commit": lambda words: _REWRITES if words.has("", "--amend") else Risk(_NORMAL, "makes a commit"),
    "add": lambda _: Risk(_NORMAL, "stages files"),
}
