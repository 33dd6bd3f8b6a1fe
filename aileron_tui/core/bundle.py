"""Bundles: manifests that are loaded together, and the checks that involve several of them."""

from collections.abc import Mapping, Sequence

from aileron_tui.core.action import Action
from aileron_tui.core.connector import Connector
from aileron_tui.core.findings import Finding, Path, Problems, Reading, TomlSource
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class BundledConnector:
    """A connector in the bundle: its manifest, and the hash of its bytes if its module is present."""

    reading: Reading[Connector]
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The actions that passed every check, the connectors, and all findings. A bad file does not affect good ones."""

    actions: Mapping[str, Action]
    connectors: Mapping[str, Connector]
    findings: tuple[Finding, ...]


def check_bundle(actions: Sequence[Reading[Action]], packages: Sequence[BundledConnector] = ()) -> Bundle:
    """Builds a bundle. Its findings, within each file and across files, are in the order of the files."""
    extra: dict[int, Problems] = {}
    connectors = _connectors(packages, extra)
    named = _named(actions, extra)
    _check_pins(named, packages, extra)
    kept = _with_valid_previews([item for item in named if not _rejected(item[0], extra)], actions, extra)
    readings: list[Reading[Action] | Reading[Connector]] = [*actions, *(package.reading for package in packages)]
    findings = tuple(finding for reading in readings for finding in _findings(reading, extra))
    return Bundle({action.name: action for _, action in kept}, connectors, findings)


_Named = tuple[Reading[Action], Action]


def _findings(reading: Reading[Action] | Reading[Connector], extra: Mapping[int, Problems]) -> tuple[Finding, ...]:
    problems = extra.get(id(reading))
    return (*reading.findings, *problems.findings(reading.source)) if problems else reading.findings


def _rejected(reading: Reading[Action], extra: Mapping[int, Problems]) -> bool:
    problems = extra.get(id(reading))
    return problems is not None and problems.rejected


def _problems_of(extra: dict[int, Problems], reading: object) -> Problems:
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
            _problems_of(extra, package.reading).add(path, "connector-twice", message, "Keep one of them.")
            continue
        found[connector.name] = connector
        files[connector.name] = package.reading.source
    return found


def _named(actions: Sequence[Reading[Action]], extra: dict[int, Problems]) -> list[_Named]:
    """The readable actions. If two have the same name, the first is kept."""
    first: dict[str, str] = {}
    named: list[_Named] = []
    for reading in actions:
        action = reading.value
        if action is None:
            continue
        if action.name in first:
            message = f'action "{action.name}" is also declared in {first[action.name]}'
            _problems_of(extra, reading).add(("name",), "action-twice", message, "Rename one of them.")
            continue
        first[action.name] = reading.source.file
        named.append((reading, action))
    return named


def _check_pins(named: Sequence[_Named], packages: Sequence[BundledConnector], extra: dict[int, Problems]) -> None:
    """Reports pins that differ from the bundled connector, because every call would be refused."""
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
                message = f"the pin {requirement.hash} does not match {requirement.name}, whose hash is {package.hash}"
                fix = f"Set it with `aileron-tui pin`, or write {package.hash}."
                _problems_of(extra, reading).add((*path, "hash"), "pin", message, fix)
            elif requirement.version != (version := package.reading.value.version):
                message = f"version {requirement.version} is required, but the bundle has {version}"
                _problems_of(extra, reading).warn((*path, "version"), "pin-version", message, f"Write {version}.")


def _with_valid_previews(
    named: list[_Named], actions: Sequence[Reading[Action]], extra: dict[int, Problems]
) -> list[_Named]:
    """Drops actions whose preview op is gated or not declared idempotent.

    An op is gated if any action gates it, even one that was dropped. An op counts as idempotent only if an action that
    is kept declares it so. Dropping one action can therefore invalidate the preview of another: repeat until none is
    dropped.
    """
    gated = {
        (step.connector, step.op)
        for reading in actions
        if reading.value is not None and reading.value.gated
        for step in reading.value.execute
    }
    while True:
        idempotent = {(step.connector, step.op) for _, action in named for step in action.execute if step.idempotent}
        valid = [item for item in named if not _preview_is_invalid(*item, gated, idempotent, extra)]
        if len(valid) == len(named):
            return valid
        named = valid


def _preview_is_invalid(
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
    idempotent_op, gated_op = (connector, preview.op) in idempotent, (connector, preview.op) in gated
    if not idempotent_op:
        message = f'no action in the bundle declares "{preview.op}" of {connector} as idempotent'
        fix = (
            "A preview runs before anybody approves, so its op needs an action of its own that needs no approval, with "
            f'[[execute]] id = "read", connector = "{connector}", op = "{preview.op}", idempotent = true. '
            "Add one, or name another op."
        )
        _problems_of(extra, reading).add(path, "preview-not-idempotent", message, fix)
    if gated_op:
        message = f'"{preview.op}" needs approval itself, so it cannot be called before asking'
        fix = "Name an op that needs no approval in any action of the bundle."
        _problems_of(extra, reading).add(path, "preview-gated", message, fix)
    return gated_op or not idempotent_op
