"""Writes docs/manifests.md from the corpus of manifests: examples, and what `lint` says about each kind of problem.

The messages are what the program says about a case of `tests/corpus`. Run it as `python -m tools.manifests`.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from aileron_tui.core.action import read_action
from aileron_tui.core.bundle import BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Finding, Reading, Severity
from aileron_tui.core.mcp_policy import policy_reading
from aileron_tui.core.suite import read_suite
from aileron_tui.core.visible_text import inline
from tests.corpus.cases import Case, base, cases

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "manifests.md"

_LONGEST_EXAMPLE: Final = 70
_MARK: Final = re.compile(rb"[ \t]*#[!?] [a-z0-9, -]+(?=\r?$)", re.MULTILINE)
_READERS: Final[dict[str, Callable[[bytes, str], Reading[Any]]]] = {
    "action": read_action,
    "connector": read_connector,
    "suite": read_suite,
    "policy": policy_reading,
}

_BEFORE: Final = """\
# Manifests by example

An **action** says what an agent may ask for, what is shown before, and what then runs. A **connector** is the
WebAssembly module that does it, with a manifest of the hosts and credentials it needs. A **suite** names actions that
belong together, and a **policy** says how the tools of an MCP server are shown. The
[sample suite](../manifests/actions/send-draft.md) is complete and works in the demo.

```
aileron-tui lint manifests/                                     # every problem, with its line and how to fix it
aileron-tui preview send-draft --arg draft_id=r-12345 --demo    # the prompt as the operator will see it
```

Each table lists every rule that `lint` checks in such a file, with one example: a line that breaks the rule, what is
reported, and what to do. The words of a rule can differ with the mistake. A file with an error is not used; one with a
warning is. `gate`, `preview` and `add` check the same. Unknown keys are errors, so a misspelt safeguard is not silently
left out.
"""
_ACTION: Final = """\
A Markdown file. Between the `+++` lines is TOML; the text below is for people and agents. `${args.draft_id}` stands for
an input. With `[approval]`, a person is asked, and `[approval.preview]` names the op that fetches what is shown:
`render` gives each field a label and a path into what was fetched."""
_CONNECTOR: Final = """\
`manifest.toml`, beside `connector.wasm`. It reaches only the hosts that are listed here, and never sees the
credential."""
_POLICY: Final = """\
How the tools of a server are shown ([more](mcp.md#previews)). Tools that it does not name are asked about with what the
agent sent."""
_SECTIONS: Final = {
    "action": ("An action", _ACTION),
    "connector": ("A connector", _CONNECTOR),
    "suite": ("A suite", "`suite.toml`: actions by their path in this folder, or by their address."),
    "policy": ("A policy for an MCP server", _POLICY),
}
OTHERS: Final = {
    "Together": (
        (
            "pin",
            "the hash of a required connector is not that of the connector beside it",
            "Write its hash: `pin` does.",
        ),
        (
            "pin-unset",
            "the pin is a placeholder, because this is the source of an action",
            "Add the release, or run `pin`.",
        ),
        ("connector-unknown", "the configuration names a connector that does not exist", "Correct the name."),
        (
            "upstream",
            "a connector asks a test server on this machine instead of its service (a warning)",
            "Remove `upstream` from the configuration when the test is over.",
        ),
        ("suite-missing", "a suite names an action that is not there", "Add the file, or remove the entry."),
    ),
    "Files": (
        ("unreadable", "a file or a folder cannot be read", "Check its permissions."),
        ("line-too-long", "a line has more bytes than allowed", "Split the line."),
        ("empty-folder", "there are no manifests in the folder", "Name a folder with actions, or a file."),
        ("module-missing", "a connector has no module, so it cannot be installed", "Build it, or add the release."),
        ("module", "the module of a connector cannot be used; the message says why", "Build it again."),
        ("signature", "the signature of a connector is not valid", "Sign it again with `pin --sign`."),
        ("store-changed", "a connector was changed after it was stored", "Install it again."),
        ("action-state", "the file that says which actions are enabled cannot be read", "Correct or remove it."),
        ("action-disabled", "an action is disabled, so it is not used (a warning)", "Enable it if you want to use it."),
    ),
    "Installed packages": (
        ("package", "an installed package cannot be used; the message says why", "Do what is printed."),
        ("package-entry", "an entry of the ledger about packages was ignored", "Run `aileron-tui history verify`."),
        ("package-key", "a package was approved with a key that was revoked later", "Remove it if you distrust it."),
    ),
    "Policies and their servers": (
        ("unknown-tool", "the server has no such tool", "Correct the name."),
        (
            "preview-not-read-only",
            "the preview's tool is not said to only read, so it is never called",
            "Name another.",
        ),
        ("preview-arg", "the preview's tool has no such arg, or needs another", "Correct `args`."),
    ),
}
"""What only a whole folder, an installation or a running server shows: the rule, its meaning and what to do."""


def document() -> str:
    """The whole page."""
    return _BEFORE + "".join(_lines())


def _lines() -> Iterator[str]:
    for kind, (title, words) in _SECTIONS.items():
        ((name, text),) = base(kind).items()
        language = "toml" if name.endswith(".toml") else "md"
        yield f"\n## {title}\n\n{words}\n\n```{language}\n{text.strip()}\n```\n\n"
        yield from _table(_examples(cases(kind), lambda case, kind=kind: _read(kind, case)))  # type: ignore[misc]
    yield "\n## Several files together\n\nWhat is found once all actions and connectors of a folder are known.\n\n"
    yield from _table(_examples(cases("bundle"), _read_bundle))
    yield "\n## Everything else\n\n| where | rule | what it means | what to do |\n|---|---|---|---|\n"
    for where, rows in OTHERS.items():
        yield from (f"| {where} | `{rule}` | {means} | {fix} |\n" for rule, means, fix in rows)


def _read(kind: str, case: Case) -> Sequence[Finding]:
    ((file, data),) = case.files.items()
    return _READERS[kind](_unmarked(data), file).findings


def _read_bundle(case: Case) -> Sequence[Finding]:
    files = {file: _unmarked(data) for file, data in case.files.items()}
    actions = [read_action(data, file) for file, data in files.items() if file.endswith(".md")]
    packages = [BundledConnector(read_connector(data, file)) for file, data in files.items() if file.endswith(".toml")]
    return check_bundle(actions, packages).findings


def _unmarked(data: bytes) -> bytes:
    """A file without the marks of the corpus, which some messages would quote."""
    return _MARK.sub(b"", data)


def _examples(found: list[Case], read: Callable[[Case], Sequence[Finding]]) -> Iterator[tuple[Case, Finding]]:
    """The first case of each rule: one that breaks no other rule, if there is such a case."""
    best: dict[str, tuple[Case, Finding]] = {}
    alone: set[str] = set()
    for case in found:
        findings = read(case)
        is_alone = len({finding.rule for finding in findings}) == 1
        for finding in findings:
            if finding.rule not in best or (finding.rule not in alone and is_alone):
                best[finding.rule] = case, finding
            if is_alone:
                alone.add(finding.rule)
    yield from best.values()


def _table(rows: Iterator[tuple[Case, Finding]]) -> Iterator[str]:
    yield "| rule | for example | it says | what to do |\n|---|---|---|---|\n"
    for case, finding in rows:
        warning = " (warning)" if finding.severity is Severity.WARNING else ""
        example = _example(case, finding)
        yield f"| `{finding.rule}`{warning} | {example} | {_cell(finding.message)} | {_cell(finding.fix)} |\n"


def _example(case: Case, finding: Finding) -> str:
    """The line that breaks the rule, or the name of the case if the line says nothing by itself."""
    lines = _unmarked(case.files[finding.file]).decode("utf-8", "replace").split("\n")
    line = lines[finding.line - 1].strip() if finding.line else ""
    if not line or line.startswith(("+++", "[", "]")) or "`" in line:
        return _cell(case.id.partition(": ")[2])
    shown = line if len(line) <= _LONGEST_EXAMPLE else f"{line[:_LONGEST_EXAMPLE]} …"
    return f"`{_cell(shown, escapes=False)}`"


def _cell(text: str, *, escapes: bool = True) -> str:
    """Text for a cell of a table, in which a bar would end the cell and `<` begin HTML."""
    shown = inline(text).replace("|", "\\|")
    return shown.replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*") if escapes else shown


def main() -> int:
    """Writes the page."""
    DOCUMENT.write_text(document(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
