"""Action manifests: what an agent may call, which connectors it needs, and whether it needs approval."""

import re
from typing import Any, Final

from aileron_tui.core import frontmatter
from aileron_tui.core.action_templates import check_collisions, check_template
from aileron_tui.core.findings import Path, Problems, Reading, TomlSource
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.manifest_names import PLAIN_NAME_RULE, fqn_fault, is_plain_name, is_semver, reference_fault
from aileron_tui.core.preview_directive import PreviewDirective, read_directive
from aileron_tui.core.states import LONGEST_TIMEOUT
from aileron_tui.core.toml_schema import (
    AnyTableSchema,
    Fields,
    StringListSchema,
    StringTableSchema,
    TableListSchema,
    TableSchema,
    dotted,
    enforce_schema,
)
from aileron_tui.core.values import dataclass

TYPES: Final = ("string", "integer", "number", "boolean", "array", "object")
ITEM_TYPES: Final = ("string", "integer", "number", "boolean", "object")
_USE_A_TYPE: Final = f"Use one of {', '.join(TYPES)}."

_INPUT_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_FIELDS: Final[Fields] = {
    "name": str,
    "version": str,
    "source": str,
    "requires": TableSchema(
        {"connectors": TableListSchema({"name": str, "version": str, "hash": str, "capabilities": StringListSchema()})}
    ),
    "match": TableSchema({"intent": str}),
    "inputs": TableListSchema(
        {
            "name": str,
            "type": str,
            "description": str,
            "required": bool,
            "label": str,
            "multiline": bool,
            "items_type": str,
        }
    ),
    "execute": TableListSchema(
        {"id": str, "connector": str, "op": str, "idempotent": bool, "inputs": AnyTableSchema()}
    ),
    "approval": TableSchema(
        {
            "required": bool,
            "timeout": int,
            "preview": TableSchema(
                {"op": str, "args": AnyTableSchema(), "render": StringTableSchema(), "multiline": StringListSchema()}
            ),
        }
    ),
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """A connector that an action uses: exactly these bytes, and only these ops."""

    name: str
    version: str
    hash: str
    capabilities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of an action, and how it is shown to the operator."""

    name: str
    type: str
    description: str
    required: bool = True
    label: str = ""
    multiline: bool = False
    items_type: str = ""

    @property
    def title(self) -> str:
        """The label to show beside the value: `label`, or else the name."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Step:
    """One `[[execute]]` entry. `idempotent` is None if the manifest does not set it."""

    id: str
    connector: str
    op: str
    idempotent: bool | None
    inputs: JsonObject


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether approval is required, how many seconds to wait for it, and the preview to fetch before asking."""

    required: bool = False
    timeout: int | None = None
    preview: PreviewDirective | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """Something an agent may call. An instance has passed every check that needs only its own manifest."""

    name: str
    version: str
    source: str
    requires: tuple[Requirement, ...]
    intent: str
    inputs: tuple[Input, ...]
    execute: tuple[Step, ...]
    approval: Approval
    body: str

    @property
    def gated(self) -> bool:
        """Whether the action needs approval."""
        return self.approval.required

    def requirement(self, name: str) -> Requirement | None:
        """The requirement for this connector, if there is one."""
        return next((requirement for requirement in self.requires if requirement.name == name), None)


def read_action(data: bytes | str, file: str) -> Reading[Action]:
    """Returns the action in a manifest file, with every problem found in it."""
    try:
        parts = frontmatter.split(frontmatter.decode(data, file), file)
        table = frontmatter.tables(parts.source)
    except frontmatter.UnreadableManifest as error:
        return Reading(None, (error.finding,), TomlSource(file))
    problems = Problems()
    enforce_schema(table, _FIELDS, (), problems)
    action = _ActionReader(table, problems).action(parts.body)
    if not problems.any:
        return Reading(action, (), parts.source)
    return Reading(None if problems.rejected else action, problems.findings(parts.source), parts.source)


class _ActionReader:
    """Checks a manifest from top to bottom. Each method returns its part of the action, even if it has problems."""

    def __init__(self, table: dict[str, Any], problems: Problems) -> None:
        self._table = table
        self._problems = problems
        self._declared: set[str] = set()

    def action(self, body: str) -> Action:
        table = self._table
        name = self._name()
        version = self._version(table, ())
        source = self._source()
        requires = self._requires()
        intent: str = table.get("match", {}).get("intent", "")
        if not intent:
            self._report_missing(("match", "intent"), "Describe in one sentence when an agent should call this action.")
        inputs = tuple([self._input(item, ("inputs", index)) for index, item in enumerate(table.get("inputs", ()))])
        steps = table.get("execute", ())
        if not steps:
            self._report_missing(("execute",), "Add an [[execute]] step.")
        approval = self._approval(table.get("approval", {}))
        execute = self._execute(steps, {needed.name: needed.capabilities for needed in reversed(requires)})
        return Action(name, version, source, requires, intent, inputs, execute, approval, body)

    def _report_missing(self, path: Path, fix: str) -> None:
        """Reports a required value that is missing or empty, unless it was removed because of its type."""
        if self._problems.missing(None, path):
            self._problems.add(path, "required", f"{dotted(path)} is required", fix)

    def _name(self) -> str:
        name: str = self._table.get("name", "")
        if not name:
            self._report_missing(("name",), 'Add name = "…", which agents use to call the action.')
        elif not is_plain_name(name):
            self._problems.add(("name",), "name", f'"{name}" is not a valid action name', PLAIN_NAME_RULE)
        return name

    def _version(self, table: dict[str, Any], path: Path) -> str:
        version: str = table.get("version", "")
        fix = "Write three numbers such as 1.2.3, without a leading v."
        if not version:
            self._report_missing((*path, "version"), fix)
        elif not is_semver(version):
            self._problems.add((*path, "version"), "version", f'"{version}" is not a strict SemVer version', fix)
        return version

    def _source(self) -> str:
        source: str = self._table.get("source", "")
        fix = "Write where the action comes from, such as github://owner/repo/actions/name@1.2.3."
        if not source:
            self._report_missing(("source",), fix)
        elif fault := reference_fault(source):
            self._problems.add(("source",), "source", f'"{source}" is not a valid reference: {fault}', fix)
        return source

    def _requires(self) -> tuple[Requirement, ...]:
        path = ("requires", "connectors")
        items = self._table.get("requires", {}).get("connectors", ())
        if not items:
            self._report_missing(path, "Add a [[requires.connectors]] table for the connector the action uses.")
        return tuple([self._requirement(item, (*path, index)) for index, item in enumerate(items)])

    def _requirement(self, table: dict[str, Any], path: Path) -> Requirement:
        add = self._problems.add
        name: str = table.get("name", "")
        fix = "Write its full name, such as github://owner/repo, without a version."
        if not name:
            self._report_missing((*path, "name"), fix)
        elif fault := fqn_fault(name):
            add((*path, "name"), "connector-name", f'"{name}" is not a valid connector name: {fault}', fix)
        version = self._version(table, path)
        pin: str = table.get("hash", "")
        fix = "Write sha256: and the 64 hex digits of the connector's hash."
        if not pin:
            self._report_missing((*path, "hash"), fix)
        elif not pin.startswith("sha256:") or pin == "sha256:":
            add((*path, "hash"), "hash", f'"{pin}" is not a valid hash', fix)
        capabilities = table.get("capabilities", ())
        if not capabilities:
            self._report_missing((*path, "capabilities"), "List the ops that the action uses.")
        for index, capability in enumerate(capabilities):
            if not capability.strip():
                here = (*path, "capabilities", index)
                add(here, "capability", f"{dotted(here)} is empty", "Name an op, or remove the entry.")
        return Requirement(name, version, pin, tuple(capabilities))

    def _input(self, table: dict[str, Any], path: Path) -> Input:
        add = self._problems.add
        name: str = table.get("name", "")
        fix = "Use lower-case letters, digits and '_', starting with a letter."
        if not name:
            self._report_missing((*path, "name"), fix)
        elif not _INPUT_NAME.fullmatch(name):
            add((*path, "name"), "input-name", f'"{name}" is not a valid input name', fix)
        elif name in self._declared:
            add((*path, "name"), "input-twice", f'input "{name}" is declared twice', "Rename or remove one of them.")
        self._declared.add(name)
        type_: str = table.get("type", "")
        if not type_:
            self._report_missing((*path, "type"), _USE_A_TYPE)
        elif type_ not in TYPES:
            add((*path, "type"), "input-type", f'"{type_}" is not a valid input type', _USE_A_TYPE)
        description: str = table.get("description", "")
        if not description.strip():
            self._report_missing(
                (*path, "description"), "Describe what to pass. Agents see only this description of the input."
            )
        label: str = table.get("label", "")
        if label and not label.strip():
            add((*path, "label"), "label", f"{dotted(path)}.label is blank", "Write a label, or remove the key.")
        multiline: bool = table.get("multiline", False)
        if multiline and type_ != "string" and type_ in TYPES:
            fix = 'Remove it, or set type = "string".'
            add((*path, "multiline"), "multiline", f'only a string can be multiline, not "{type_}"', fix)
        items_type: str = table.get("items_type", "")
        if items_type and type_ in TYPES:
            self._items_type(items_type, type_, (*path, "items_type"))
        return Input(name, type_, description, table.get("required", True), label, multiline, items_type)

    def _items_type(self, items_type: str, type_: str, path: Path) -> None:
        if type_ != "array":
            fix = 'Remove it, or set type = "array".'
            self._problems.add(path, "items-type", f'items_type is only for arrays, not for "{type_}"', fix)
        elif items_type not in ITEM_TYPES:
            fix = f"Use one of {', '.join(ITEM_TYPES)}."
            self._problems.add(path, "items-type", f'"{items_type}" is not a valid items_type', fix)

    def _approval(self, table: dict[str, Any]) -> Approval:
        if not table:
            return Approval()
        required: bool = table.get("required", False)
        preview = table.get("preview")
        directive = None if preview is None else self._preview(preview, ("approval", "preview"))
        if directive and not required:
            fix = "Set required = true in [approval], or remove the preview."
            message = "the preview is never fetched, because no approval is required"
            self._problems.warn(("approval", "preview"), "preview-unused", message, fix)
        return Approval(required, self._timeout(table.get("timeout")), directive)

    def _timeout(self, seconds: int | None) -> int | None:
        if seconds is None:
            return None
        path = ("approval", "timeout")
        if seconds < 1:
            message = f"approval.timeout must be 1 or more, not {seconds}"
            self._problems.add(path, "timeout", message, f"Write a number between 1 and {LONGEST_TIMEOUT}.")
            return None
        if seconds > LONGEST_TIMEOUT:
            message = f"a timeout of {seconds} s is shortened to {LONGEST_TIMEOUT} s"
            self._problems.warn(path, "timeout-cut", message, f"Write {LONGEST_TIMEOUT} or less.")
        message = "current Aileron daemons reject a manifest with approval.timeout"
        self._problems.warn(
            path,
            "timeout-unknown-upstream",
            message,
            "Keep it only if the action always runs on aileron-tui's own gate.",
        )
        return min(seconds, LONGEST_TIMEOUT)

    def _preview(self, table: dict[str, Any], path: Path) -> PreviewDirective:
        op: str = table.get("op", "")
        if not op.strip():
            self._report_missing((*path, "op"), "Name the read-only op to call before asking.")
        if not table.get("render"):
            self._report_missing((*path, "render"), "Add at least one field of the op's result.")
        check_template(table.get("args", {}), (*path, "args"), self._declared, self._problems)
        return read_directive(op, table, path, self._problems)

    def _execute(self, steps: Any, granted: dict[str, tuple[str, ...]]) -> tuple[Step, ...]:
        ids: set[str] = set()
        return tuple([self._step(item, ("execute", index), ids, granted) for index, item in enumerate(steps)])

    def _step(self, table: dict[str, Any], path: Path, ids: set[str], granted: dict[str, tuple[str, ...]]) -> Step:
        add = self._problems.add
        id_: str = table.get("id", "")
        if not id_:
            self._report_missing((*path, "id"), 'Add id = "…", the name of the step in the result.')
        elif id_ in ids:
            add((*path, "id"), "step-twice", f'step "{id_}" is declared twice', "Rename one of them.")
        ids.add(id_)
        connector: str = table.get("connector", "")
        if not connector:
            self._report_missing((*path, "connector"), "Name a connector from [[requires.connectors]].")
        elif connector not in granted:
            fix = "Write the name exactly as it is there, or add the connector."
            add(
                (*path, "connector"),
                "step-connector",
                f'connector "{connector}" is not in [[requires.connectors]]',
                fix,
            )
        op: str = table.get("op", "")
        if not op:
            self._report_missing((*path, "op"), "Name an op of the connector.")
        elif (capabilities := granted.get(connector)) and op not in capabilities:
            message = f'"{op}" is not in the capabilities of {connector}, so the call will be refused'
            self._problems.warn((*path, "op"), "op-not-granted", message, f'Add "{op}" to its capabilities.')
        inputs: JsonObject = table.get("inputs", {})
        check_template(inputs, (*path, "inputs"), self._declared, self._problems)
        check_collisions(inputs, (*path, "inputs"), self._declared, self._problems)
        return Step(id_, connector, op, table.get("idempotent"), inputs)
