"""Bundles: manifests that are loaded together, and the rules that hold between them."""

from collections.abc import Mapping, Sequence

from aileron_tui.core.action import Action
from aileron_tui.core.connector import Connector
from aileron_tui.core.findings import Finding, Path, Problems, Reading, TomlSource
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class BundledConnector:
    """A connector that comes with the bundle: its manifest, and the hash of its bytes if the module is there."""

    reading: Reading[Connector]
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What may be called: every action that passed all rules. A bad file never hides a good one."""

    actions: Mapping[str, Action]
    connectors: Mapping[str, Connector]
    findings: tuple[Finding, ...]


def check_bundle(actions: Sequence[Reading[Action]], packages: Sequence[BundledConnector] = ()) -> Bundle:
    """The bundle of these files, with the findings of each and of all together, file by file."""
    extra: dict[int, Problems] = {}
    connectors = _connectors(packages, extra)
    named = _named(actions, extra)
    _pins(named, packages, extra)
    staying = _with_sound_previews([item for item in named if not _rejected(item[0], extra)], actions, extra)
    readings: list[Reading[Action] | Reading[Connector]] = [*actions, *(package.reading for package in packages)]
    findings = tuple(finding for reading in readings for finding in _findings(reading, extra))
    return Bundle({action.name: action for _, action in staying}, connectors, findings)


_Named = tuple[Reading[Action], Action]


def _findings(reading: Reading[Action] | Reading[Connector], extra: Mapping[int, Problems]) -> tuple[Finding, ...]:
    problems = extra.get(id(reading))
    return (*reading.findings, *problems.findings(reading.source)) if problems else reading.findings


def _rejected(reading: Reading[Action], extra: Mapping[int, Problems]) -> bool:
    problems = extra.get(id(reading))
    return problems is not None and problems.rejected


def _report(extra: dict[int, Problems], reading: object) -> Problems:
    return extra.setdefault(id(reading), Problems())


def _connectors(packages: Sequence[BundledConnector], extra: dict[int, Problems]) -> dict[str, Connector]:
    found: dict[str, Connector] = {}
    files: dict[str, TomlSource] = {}
    for package in packages:
        connector = package.reading.value
        if connector is None:
            continue
        if first := files.get(connector.name):
            message = f'connector "{connector.name}" is also declared in {first.file}'
            path = ("connector", "name")
            _report(extra, package.reading).add(path, "connector-twice", message, "Keep one of the two.")
            continue
        found[connector.name] = connector
        files[connector.name] = package.reading.source
    return found


def _named(actions: Sequence[Reading[Action]], extra: dict[int, Problems]) -> list[_Named]:
    """The readable actions; of two with one name the first stays."""
    first: dict[str, str] = {}
    named: list[_Named] = []
    for reading in actions:
        action = reading.value
        if action is None:
            continue
        if action.name in first:
            message = f'action "{action.name}" is also declared in {first[action.name]}'
            _report(extra, reading).add(("name",), "action-twice", message, "Rename one of the two.")
            continue
        first[action.name] = reading.source.file
        named.append((reading, action))
    return named


def _pins(named: Sequence[_Named], packages: Sequence[BundledConnector], extra: dict[int, Problems]) -> None:
    """A pin that differs from the connector beside it would be refused at every call."""
    present = {package.reading.value.name: package for package in reversed(packages) if package.reading.value}
    if not present:
        return
    for reading, action in named:
        for index, requirement in enumerate(action.requires):
            package = present.get(requirement.name)
            if package is None or package.reading.value is None:
                continue
            path: Path = ("requires", "connectors", index)
            if package.hash and requirement.hash.lower() != package.hash:
                message = f"the pin {requirement.hash} is not the hash of {requirement.name}, {package.hash}"
                _report(extra, reading).add((*path, "hash"), "pin", message, f"Write {package.hash}.")
            elif requirement.version != (version := package.reading.value.version):
                message = f"version {requirement.version} is required, {version} is here"
                _report(extra, reading).warn((*path, "version"), "pin-version", message, f"Write {version}.")


def _with_sound_previews(
    named: list[_Named], actions: Sequence[Reading[Action]], extra: dict[int, Problems]
) -> list[_Named]:
    """Leaves out actions whose preview may not be called: it is gated, or nobody vouches that it only reads.

    Gates count wherever they stand, also in a file that was dropped. Promises count only where they stand in an
    action that stays, so a rejection can take away the promise another preview relies on: repeat until none does.
    """
    gated = {
        (step.connector, step.op)
        for reading in actions
        if reading.value is not None and reading.value.gated
        for step in reading.value.execute
    }
    while True:
        idempotent = {(step.connector, step.op) for _, action in named for step in action.execute if step.idempotent}
        sound = [item for item in named if not _preview_fault(*item, gated, idempotent, extra)]
        if len(sound) == len(named):
            return sound
        named = sound


def _preview_fault(
    reading: Reading[Action],
    action: Action,
    gated: set[tuple[str, str]],
    idempotent: set[tuple[str, str]],
    extra: dict[int, Problems],
) -> bool:
    preview = action.approval.preview
    if preview is None:
        return False
    connector, path = action.execute[0].connector, ("approval", "preview", "op")
    promised, needs_asking = (connector, preview.op) in idempotent, (connector, preview.op) in gated
    if not promised:
        message = f'no action of the bundle declares "{preview.op}" of {connector} as idempotent'
        fix = f'Add an action with a step op = "{preview.op}", idempotent = true, or name one that only reads.'
        _report(extra, reading).add(path, "preview-not-idempotent", message, fix)
    if needs_asking:
        message = f'"{preview.op}" needs an approval itself, so it cannot be called before one'
        fix = "Name an operation that no action of the bundle gates."
        _report(extra, reading).add(path, "preview-gated", message, fix)
    return needs_asking or not promised
