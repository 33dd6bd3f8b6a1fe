"""Check action, connector and suite manifests, how those of one folder fit together, and policies for MCP servers."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from aileron_tui.cli.connector_lint import connector_findings
from aileron_tui.cli.exit_codes import FAILED, OK, USAGE
from aileron_tui.cli.output import counted, print_json
from aileron_tui.core.findings import Finding, Reading, Severity
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_policy import McpPolicy
from aileron_tui.core.mcp_policy_check import check_policy
from aileron_tui.core.upstream_words import upstream_warning
from aileron_tui.core.visible_text import Visible, cells, clip, inline, visible
from aileron_tui.doors.known_servers import KnownServer, ServerFault, read_server, server_names
from aileron_tui.files.bundle_layout import ACTION_FILE, SUITE_FILE
from aileron_tui.files.manifest_files import (
    Manifests,
    UnreadableFile,
    read_file,
    read_folder,
    read_folders,
    read_manifest,
)
from aileron_tui.files.paths import bundled, paths
from aileron_tui.files.policy_files import is_policy_file, policies_in, read_policy_file
from aileron_tui.ledger.file_names import FILE

_LONGEST_LINE: Final = 160
_LONGEST_MESSAGE: Final = 400
_BOLD, _DIM, _RED, _YELLOW, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[0m"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files or folders; default: those in use")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if there are no errors, 1 if there are, 2 if a path does not exist. Warnings are not errors."""
    missing = [path for path in options.paths if not os.path.lexists(path)]
    for path in missing:
        sys.stderr.write(f"error: no such file or folder: {inline(path)}\n")
    if missing:
        return USAGE
    count, findings = lint(options.paths) if options.paths else lint_in_use()
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    if options.json:
        document: JsonObject = {
            "files": count,
            "errors": errors,
            "warnings": warnings,
            "findings": list(map(asdict, findings)),
        }
        print_json(document)
    else:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        for finding in findings:
            sys.stdout.write("\n".join(_lines(finding, colour)) + "\n\n")
        sys.stdout.write(f"{counted(count, 'file')} checked: {_summary(errors, warnings)}\n")
    return FAILED if errors else OK


def lint_in_use() -> tuple[int, list[Finding]]:
    """The number of files and the findings of what a gate of this home uses, or else of the samples."""
    from aileron_tui.files.config_file import load_config  # noqa: PLC0415  # not needed with paths

    here = paths()
    config = load_config(here.config)
    folders = [*config.manifests, *([here.config.parent] if (here.config.parent / "actions").is_dir() else [])]
    manifests = read_folders(folders) if folders else Manifests()
    count, findings = manifests.count, list(manifests.bundle().findings)
    findings += [finding for folder in folders for finding in connector_findings(folder)]
    if (here.data / FILE).exists():
        from aileron_tui.cli.installed_here import installed_here  # noqa: PLC0415  # loads the ledger
        from aileron_tui.packages.installed import installed_content  # noqa: PLC0415

        content = installed_content(installed_here()).bundle
        count += len(content.actions) + len(content.connectors)
        findings += content.findings
    if config.connectors:
        from aileron_tui.cli.installed_here import installed_here  # noqa: PLC0415  # loads the ledger
        from aileron_tui.packages.found_sources import known_connectors, unknown_names  # noqa: PLC0415

        for why in unknown_names(config.connectors, known_connectors(installed_here(), folders)):
            message, _, fix = why.partition(". ")
            findings.append(Finding("connector-unknown", message, fix, str(here.config)))
        for name, settings in config.connectors.items():
            if settings.upstream:
                fix = "Remove it when the test is over."
                warning = upstream_warning(name, settings.upstream)
                findings.append(Finding("upstream", warning, fix, str(here.config), severity=Severity.WARNING))
    if count:
        return count, findings
    count, samples = lint([str(bundled("manifests"))])
    return count, samples + findings


def lint(paths: list[str]) -> tuple[int, list[Finding]]:
    """The number of files that were read, and the findings in the order of the paths."""
    count = 0
    findings: list[Finding] = []
    contexts: dict[Path, dict[str, list[Finding]]] = {}
    for path in dict.fromkeys(paths):
        here = Path(path)
        is_folder = os.path.isdir(path)  # noqa: PTH112  # Path.is_dir raises if access is denied
        if is_folder or here.name == SUITE_FILE:
            manifests = read_folder(here if is_folder else here.parent)
            policies, unreadable = policies_in(here) if is_folder else ([], [])
            count += manifests.count + len(policies)
            findings += (*manifests.bundle().findings, *unreadable)
            findings += connector_findings(here) if is_folder else ()
            findings += _policy_findings(policies)
            if not (manifests.count or policies or manifests.unreadable or unreadable):
                message, fix = "no manifests found", "Use a folder that contains actions/*.md or mcp/*.toml, or a file."
                findings.append(Finding("empty-folder", message, fix, path))
            continue
        if is_policy_file(here):
            count += 1
            findings += _policy_findings([read_policy_file(path)])
            continue
        manifests = read_manifest(path)
        count += manifests.count
        findings += _in_context(here, manifests, contexts)
    return count, findings


def _policy_findings(policies: list[Reading[McpPolicy]]) -> Iterator[Finding]:
    """The findings of policies. One that a server uses is checked against the tools that were accepted from it."""
    servers = list(_known_servers()) if policies else []
    for policy in policies:
        yield from policy.findings
        file = str(Path(policy.source.file).absolute())
        tools = [{tool.name: tool.definition for tool in server.tools} for server in servers if server.policy == file]
        yield from dict.fromkeys(finding for known in tools for finding in check_policy(policy, known))


def _known_servers() -> Iterator[KnownServer]:
    data = paths().data
    for name in server_names(data):
        with suppress(ServerFault):  # doctor reports it
            yield read_server(data, name)


def _in_context(path: Path, manifests: Manifests, contexts: dict[Path, dict[str, list[Finding]]]) -> Iterable[Finding]:
    """The findings of one file. An action is checked together with the others in its folder, as it will be loaded."""
    whole = path.absolute()
    home = whole.parent if whole.name != ACTION_FILE or whole.parent.parent.name != "actions" else whole.parent.parent
    folder = home.parent if home.name == "actions" else home
    if manifests.actions and folder not in contexts:
        contexts[folder] = _by_file(read_folder(folder))
    found = contexts.get(folder, {}).get(str(whole))
    if found is None:
        return manifests.bundle().findings
    return [replace(finding, file=str(path)) for finding in found]


def _by_file(manifests: Manifests) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {reading.source.file: [] for reading in manifests.actions}
    for finding in manifests.bundle().findings:
        if finding.file in found:
            found[finding.file].append(finding)
    return found


def _lines(finding: Finding, colour: bool) -> Iterator[str]:
    def paint(style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if colour else text

    place = f"{inline(finding.file)}:{finding.line}:{finding.column}" if finding.line else inline(finding.file)
    shade = _RED if finding.severity is Severity.ERROR else _YELLOW
    message = clip(inline(finding.message), _LONGEST_MESSAGE)
    head = f"{paint(_BOLD, place)}: {paint(shade, finding.severity.value)}: {message}"
    yield f"{head} {paint(_DIM, f'[{finding.rule}]')}"
    line = _source_line(finding)
    if line is not None:
        number = str(finding.line)
        before = visible(line[: finding.column - 1])
        shown = clip(Visible(before + visible(line[finding.column - 1 :])), _LONGEST_LINE)
        yield paint(_DIM, f"  {number} │ ") + shown
        if (indent := cells(before)) < _LONGEST_LINE:
            yield paint(_DIM, f"  {' ' * len(number)} │ ") + " " * indent + paint(shade, "^")
    yield f"  {clip(inline(finding.fix), _LONGEST_MESSAGE)}"


def _source_line(finding: Finding) -> str | None:
    lines = _file_lines(finding.file)
    return lines[finding.line - 1].rstrip("\r") if 0 < finding.line <= len(lines) else None


@lru_cache(maxsize=1)
def _file_lines(file: str) -> list[str]:
    try:
        return read_file(file).decode("utf-8", errors="replace").removeprefix("\ufeff").split("\n")
    except UnreadableFile:
        return []


def _summary(errors: int, warnings: int) -> str:
    parts = [counted(errors, "error")] if errors else []
    parts += [counted(warnings, "warning")] if warnings else []
    return ", ".join(parts) or "no problems"
