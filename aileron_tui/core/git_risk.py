"""The risk of git commands, by subcommand and options.

Git runs programs that its settings name: pagers, editors, hooks, filters, aliases. Writing these settings is protected
(`core/protected_paths.py`), so a command counts as reading as long as it sets none of them itself.
"""

from collections.abc import Sequence
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

_READING: Final = frozenset(
    [
        "status",
        "diff",
        "log",
        "show",
        "rev-parse",
        "ls-files",
        "ls-tree",
        "blame",
        "annotate",
        "shortlog",
        "describe",
        "cat-file",
        "rev-list",
        "merge-base",
        "grep",
        "name-rev",
        "for-each-ref",
        "whatchanged",
        "count-objects",
        "version",
        "diff-tree",
        "diff-index",
        "diff-files",
        "show-ref",
        "show-branch",
        "cherry",
        "range-diff",
        "check-ignore",
        "check-attr",
        "verify-commit",
        "verify-tag",
    ]
)
_CHANGING: Final = frozenset(
    [
        "add",
        "commit",
        "merge",
        "cherry-pick",
        "revert",
        "stash",
        "mv",
        "fetch",
        "pull",
        "clone",
        "init",
        "apply",
        "am",
        "bundle",
        "notes",
        "worktree",
        "submodule",
        "sparse-checkout",
        "lfs",
        "bisect",
        "format-patch",
        "tag",
        "switch",
        "reset",
        "branch",
        "remote",
    ]
)
_FIXED: Final = {
    "push": _SENDS, "send-pack": _SENDS, "send-email": _SENDS, "request-pull": _SENDS, "http-push": _SENDS,
    "clean": _REMOVES, "rm": _REMOVES, "gc": _REMOVES, "prune": _REMOVES, "repack": _REMOVES,
    "checkout": _DISCARDS, "restore": _DISCARDS, "checkout-index": _DISCARDS, "read-tree": _DISCARDS,
    "rebase": _REWRITES, "filter-branch": _REWRITES, "filter-repo": _REWRITES, "replace": _REWRITES,
    "update-ref": _REWRITES, "symbolic-ref": _REWRITES, "commit-tree": _REWRITES, "fast-import": _REWRITES,
    "config": _SETS, "credential": _SETS, "update-index": _SETS,
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
    options = [text for text in _before_files(texts) if text.startswith("-")]
    others = [text for text in texts if not text.startswith("-")]
    first = others[0] if others else ""

    def has(letters: str, *long: str) -> bool:
        return any(has_option(text, letters, long) for text in options)

    if name in _READING:
        if name == "grep" and has("O"):
            return _RUNS
        return Risk(_HIGH, "words not known yet") if unknown else _READS
    match name:
        case "checkout":
            return _CHANGES if has("b", "--orphan") and not has("fB", "--force") and "--" not in texts else _DISCARDS
        case "restore":
            return _CHANGES if has("S", "--staged") and not has("W", "--worktree") else _DISCARDS
        case "switch":
            return _DISCARDS if has("fC", "--force", "--discard-changes", "--force-create") else _CHANGES
        case "reset":
            return _DISCARDS if has("", "--hard", "--merge", "--keep") or unknown else _CHANGES
        case "branch":
            if has("dDmMfcC", "--delete", "--move", "--force", "--copy", "--edit-description") or unknown:
                return _REMOVES
            return _READS if not others or has("l", "--list", "--contains", "--merged") else _CHANGES
        case "tag":
            if has("dfsu", "--delete", "--force", "--sign", "--local-user") or unknown:
                return _REMOVES
            return _READS if not others or has("l", "--list") else _CHANGES
        case "stash":
            if first in ("drop", "clear", "pop"):
                return _REMOVES
            return _READS if first in ("list", "show") else _CHANGES
        case "remote":
            if first in {"", "get-url"}:
                return _READS
            return Risk(_NORMAL, "reaches the network") if first == "show" else _SETS
        case "config":
            reading = has("l", "--get", "--get-all", "--list", "--get-regexp") or first in ("get", "list")
            return _READS if reading and not has("e", "--edit", "--add", "--unset", "--replace-all") else _SETS
        case "reflog":
            return _REMOVES if first in ("expire", "delete", "drop") else _READS
        case "worktree" | "submodule" | "bisect" | "lfs" | "notes":
            if first in ("remove", "prune", "run", "foreach", "update", "deinit", "push", "unlock"):
                return _RUNS if first in ("run", "foreach", "update") else _REMOVES
            return _READS if first in ("list", "status") else _CHANGES
        case "commit":
            return Risk(_HIGH, "rewrites history") if has("", "--amend") else Risk(_NORMAL, "makes a commit")
        case "add":
            return Risk(_NORMAL, "stages files")
        case "fetch" | "pull" | "clone" | "ls-remote":
            if has("u" if name != "pull" else "", "--force") and name == "clone":
                return _RUNS
            return Risk(_NORMAL, "reaches the network") if not has("c") else _RUNS
        case _ if name in _FIXED:
            return _FIXED[name]
        case _ if name in _CHANGING:
            return _CHANGES
        case _:
            return Risk(_HIGH, "unknown git command")
