"""What authors can do about a preview of their own action that did not show what it should."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from aileron_tui.core.action import Action
from aileron_tui.core.fieldpath import find
from aileron_tui.core.findings import Severity
from aileron_tui.core.jsontext import Json
from aileron_tui.core.preview_directive import PreviewDirective
from aileron_tui.files.bundle_layout import ACTION_FILE, MODULE_FILE
from aileron_tui.files.manifest_files import read_folder
from aileron_tui.sandbox.connector_call import EXITED, NOT_AN_ANSWER
from aileron_tui.sandbox.failure import Boundary, Failure, FailureKind
from aileron_tui.sandbox.preview import PreviewOutcome

_MOST_KEYS = 12


def advice(action: Action, outcome: PreviewOutcome, folders: Sequence[Path]) -> Iterator[str]:
    """What to do, one sentence per line. Nothing for what is installed: its user is not its author."""
    declared = action.approval.preview
    if not folders or declared is None:
        return
    where = " ".join(map(str, folders))
    if outcome.failure:
        line = _about_failure(outcome.failure, declared.op, where, loaded=bool(outcome.hash))
        yield from [line] if line else []
    elif outcome.output is None:
        yield f'{declared.op} wrote nothing to standard output, so every field is n/a. Write {{"output": {{…}}}}.'
    else:
        yield from _about_fields(declared, outcome.output)


def rejections(name: str, folders: Sequence[Path]) -> list[str]:
    """Why an action that is in these folders cannot be used, and what to do; nothing if it is not there."""
    for folder in folders:
        manifests = read_folder(folder)
        for reading in manifests.actions:
            file = Path(reading.source.file)
            plain = file.parent.name if file.name == ACTION_FILE else file.stem
            if name != (reading.value.name if reading.value else plain):
                continue
            for finding in manifests.bundle().findings:
                if finding.file == reading.source.file and finding.severity is Severity.ERROR:
                    whole = f"To see every problem, run: aileron-tui lint {folder}"
                    return [f"{finding.file}:{finding.line}: {finding.message}", finding.fix, whole]
    return []


def _about_failure(failure: Failure, op: str, where: str, *, loaded: bool) -> str:
    match failure.kind:
        case _ if failure.reported_by_guest:
            return ""
        case FailureKind.HASH_MISMATCH:
            return f"Set the pins with `aileron-tui pin {where}`."
        case FailureKind.CONNECTOR_LOAD_FAILED if failure.boundary is Boundary.RUNTIME:
            return f"Build it first, for example with `make`: the folder {where} has no {MODULE_FILE} for it."
        case FailureKind.CONNECTOR_LOAD_FAILED if not loaded:
            return (
                "Build a program for WASI preview 1 that imports only wasi_snapshot_preview1 and aileron_host: "
                "with Go GOOS=wasip1 GOARCH=wasm, with zig -target wasm32-wasi."
            )
        case FailureKind.CONNECTOR_LOAD_FAILED:
            return f"The module trapped in {op}: look for a panic, an invalid pointer or memory that ran out."
        case FailureKind.CONNECTOR_RUNTIME_ERROR if failure.message.startswith(EXITED):
            return (
                f"Check that the module has an op {op}. To report that a call failed, "
                'write {"error": {"class": "…", "message": "…"}} and exit with 0.'
            )
        case FailureKind.CONNECTOR_RUNTIME_ERROR if failure.message.startswith(NOT_AN_ANSWER):
            return (
                'Write only {"output": {…}} or {"error": {…}} to standard output, '
                "and everything else to standard error or with `log`."
            )
        case FailureKind.CAPABILITY_DENIED if "method" in failure.details:
            return (
                "Use an op that only sends GET or HEAD. If the API reads with POST, the user can allow it: "
                "`preview_may_post = true` in the configuration of the connector."
            )
        case FailureKind.CAPABILITY_DENIED if "granted" in failure.details:
            return f"Add the host to [capabilities.network] in the manifest, then run `aileron-tui pin {where}`."
        case _:
            return ""


def _about_fields(declared: PreviewDirective, output: Json) -> Iterator[str]:
    """A line for each field that is not in the output, with what is there instead."""
    for label, path in declared.render:
        if any(match.value is not None for match in find(output, path)):
            continue
        parts, node, depth = path.split("."), output, 0
        while depth < len(parts) and (found := find(output, ".".join(parts[: depth + 1]))):
            node, depth = found[0].value, depth + 1
        keys = list(node) if isinstance(node, dict) else []
        there = f"; {'.'.join(parts[:depth]) or 'it'} has {', '.join(keys[:_MOST_KEYS])}" if keys else ""
        more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
        yield f'{label} is n/a: there is no "{path}" in what {declared.op} returned{there}{more}'
