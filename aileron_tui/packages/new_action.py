"""Adds a new action to the repository of a connector."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.connector import Connector, read_connector
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Finding, Severity
from aileron_tui.core.jsontext import Json
from aileron_tui.core.new_action import NewAction, NewInput, action_text
from aileron_tui.core.toml_schema import nearest
from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import ACTION_FILE, ConnectorFiles, find_files
from aileron_tui.files.manifest_files import read_folder, read_manifest_file
from aileron_tui.files.new_files import create_files
from aileron_tui.packages.new_repository import UNPINNED
from aileron_tui.sandbox.connector_package import package_hash, read_package_files


class CannotAdd(AileronError):
    """An action that cannot be added to a repository."""


@dataclass(frozen=True, slots=True)
class ActionWishes:
    """What the author wants; "" stands for the default. `shown` has the labels and fields of the preview."""

    name: str
    connector: str = ""
    op: str = ""
    intent: str = ""
    inputs: tuple[NewInput, ...] = ()
    gated: bool = False
    preview: str = ""
    shown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AddedAction:
    """The file that was created, whether it is pinned, and what `lint` warns about in it."""

    file: str
    connector: str
    pinned: bool
    warnings: tuple[Finding, ...]


def add_action(folder: Path, wishes: ActionWishes) -> AddedAction:
    """Writes the action, or nothing if it would not be valid together with what is in the repository."""
    files, connector = _chosen(folder, wishes.connector)
    there = read_folder(folder)
    actions = [reading.value for reading in there.actions if reading.value]
    new = NewAction(
        wishes.name,
        wishes.intent or wishes.name.replace("-", " ").replace("_", " ").capitalize(),
        connector.name,
        connector.version,
        package_hash(read_package_files(files)) if files.module else f"sha256:{UNPINNED}",
        wishes.op or wishes.name.replace("-", "_").replace(".", "_"),
        wishes.inputs,
        _constants(actions, connector.name, [each.name for each in wishes.inputs]),
        wishes.gated,
        wishes.preview,
        wishes.shown,
    )
    file = _place(folder, wishes.name)
    reading = read_action(data := action_text(new).encode(), str(folder / file))
    findings = replace(there, actions=(*there.actions, reading)).bundle().findings
    own = tuple(finding for finding in findings if finding.file == reading.source.file)
    for finding in own:
        if finding.severity is Severity.ERROR:
            raise CannotAdd(f"cannot add {wishes.name}", finding.message, finding.fix)
    create_files(folder, {file: data})
    return AddedAction(str(folder / file), connector.name, bool(files.module), own)


def _chosen(folder: Path, name: str) -> tuple[ConnectorFiles, Connector]:
    """The connector with this name, or the only one."""
    found: dict[str, tuple[ConnectorFiles, Connector]] = {}
    for files in find_files(str(folder), []).connectors:
        reading = read_manifest_file(files.manifest, read_connector)
        if reading.value is None:
            finding = reading.findings[0]
            raise CannotAdd(f"cannot read {files.manifest}", f"line {finding.line}: {finding.message}", finding.fix)
        found[reading.value.name] = files, reading.value
    if not found:
        hint = "Name its repository with --in, or make one with `aileron-tui new connector`."
        raise CannotAdd(f"there is no connector in {folder}", hint=hint)
    if name and name not in found:
        close = nearest(name, list(found))
        hint = f'Did you mean "{close}"?' if close else f"There is {', '.join(sorted(found))}."
        raise CannotAdd(f"there is no connector {name} in {folder}", hint=hint)
    if not name and len(found) > 1:
        detail, hint = ", ".join(sorted(found)), "Choose one of them with --connector."
        raise CannotAdd(f"there are several connectors in {folder}", detail, hint)
    return found[name or next(iter(found))]


def _constants(actions: Sequence[Action], connector: str, inputs: Collection[str]) -> tuple[tuple[str, Json], ...]:
    """What every step on this connector passes to it without asking the agent, such as an address."""
    steps = [step.inputs for action in actions for step in action.execute if step.connector == connector]
    return tuple(
        (key, value)
        for key, value in (steps[0] if steps else {}).items()
        if isinstance(value, str)
        and "${" not in value
        and key not in inputs
        and all(step.get(key) == value for step in steps)
    )


def _place(folder: Path, name: str) -> str:
    """Where the action goes: like the others, in a folder of its own or beside them."""
    files = [Path(file) for file in find_files(str(folder), []).actions]
    if files and all(file.name != ACTION_FILE for file in files):
        return (files[0].parent / f"{name}.md").relative_to(folder).as_posix()
    return f"actions/{name}/{ACTION_FILE}"
