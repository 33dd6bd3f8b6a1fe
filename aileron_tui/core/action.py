"""Action manifests: what an agent may call, what it needs, and whether a person is asked first."""

import re
from typing import Any, Final

from aileron_tui.core import frontmatter
from aileron_tui.core.findings import Path, Problems, Reading, TomlSource
from aileron_tui.core.interpolation import TOKEN
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.manifest_names import fqn_fault, is_semver, reference_fault
from aileron_tui.core.states import LONGEST_TIMEOUT
from aileron_tui.core.toml_schema import (
    AnyTableSchema,
    Fields,
    StringListSchema,
    StringTableSchema,
    TableListSchema,
    TableSchema,
    conform,
    dotted,
)
from aileron_tui.core.values import dataclass

TYPES: Final = ("string", "integer", "number", "boolean", "array", "object")
ITEM_TYPES: Final = ("string", "integer", "number", "boolean", "object")
_USE_A_TYPE: Final = f"Use one of {', '.join(TYPES)}."

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
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
    """A connector an action uses: exactly these bytes, and only these of its operations."""

    name: str
    version: str
    hash: str
    capabilities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of a call, and how the operator is shown it."""

    name: str
    type: str
    description: str
    required: bool = True
    label: str = ""
    multiline: bool = False
    items_type: str = ""

    @property
    def title(self) -> str:
        """What stands beside the value."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a connector. `idempotent` is None where the manifest is silent."""

    id: str
    connector: str
    op: str
    idempotent: bool | None
    inputs: JsonObject


@dataclass(frozen=True, slots=True)
class PreviewDirective:
    """The read-only operation that is called before asking, and which parts of its answer are shown, in order."""

    op: str
    args: JsonObject
    render: tuple[tuple[str, str], ...]
    multiline: frozenset[str]


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether a person is asked, for how many seconds at most, and what is fetched for them."""

    required: bool = False
    timeout: int | None = None
    preview: PreviewDirective | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """Something an agent may call. A value of this type has passed every rule of a single manifest."""

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
        """Whether a person is asked before it runs."""
        return self.approval.required

    def requirement(self, name: str) -> Requirement | None:
        """The requirement for this connector."""
        return next((requirement for requirement in self.requires if requirement.name == name), None)


def read_action(data: bytes | str, file: str) -> Reading[Action]:
    """The action in a manifest file, or every reason why there is none."""
    try:
        framed = frontmatter.split(frontmatter.decode(data, file), file)
        table = frontmatter.tables(framed.source)
    except frontmatter.UnreadableManifest as error:
        return Reading(None, (error.finding,), TomlSource(file))
    problems = Problems()
    conform(table, _FIELDS, (), problems)
    action = _ActionReader(table, problems).action(framed.body)
    if not problems.any:
        return Reading(action, (), framed.source)
    return Reading(None if problems.rejected else action, problems.findings(framed.source), framed.source)


class _ActionReader:
    """Applies the rules in their order. Each method builds its part whether or not something is wrong with it."""

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
            self._absent(("match", "intent"), "Say in a sentence when an agent should call this action.")
        inputs = tuple([self._input(item, ("inputs", index)) for index, item in enumerate(table.get("inputs", ()))])
        steps = table.get("execute", ())
        if not steps:
            self._absent(("execute",), "Add an [[execute]] step.")
        approval = self._approval(table.get("approval", {}))
        execute = self._execute(steps, {needed.name: needed.capabilities for needed in reversed(requires)})
        return Action(name, version, source, requires, intent, inputs, execute, approval, body)

    def _absent(self, path: Path, fix: str) -> None:
        """Reports a required value that is absent or empty, unless that is so because it had the wrong type."""
        if self._problems.lacks(None, path):
            self._problems.add(path, "required", f"{dotted(path)} is required", fix)

    def _name(self) -> str:
        name: str = self._table.get("name", "")
        if not name:
            self._absent(("name",), 'Add name = "…", as agents will call it.')
        elif not _NAME.fullmatch(name):
            fix = "Use lower-case letters, digits, '.', '_' and '-', starting with a letter or digit."
            self._problems.add(("name",), "name", f'"{name}" is not a name for an action', fix)
        return name

    def _version(self, table: dict[str, Any], path: Path) -> str:
        version: str = table.get("version", "")
        fix = "Write three numbers such as 1.2.3, without a leading v."
        if not version:
            self._absent((*path, "version"), fix)
        elif not is_semver(version):
            self._problems.add((*path, "version"), "version", f'"{version}" is not a strict SemVer', fix)
        return version

    def _source(self) -> str:
        source: str = self._table.get("source", "")
        fix = "Write where it comes from, such as github://owner/repo/actions/name@1.2.3."
        if not source:
            self._absent(("source",), fix)
        elif fault := reference_fault(source):
            self._problems.add(("source",), "source", f'"{source}" is not a reference: {fault}', fix)
        return source

    def _requires(self) -> tuple[Requirement, ...]:
        path = ("requires", "connectors")
        items = self._table.get("requires", {}).get("connectors", ())
        if not items:
            self._absent(path, "Add a [[requires.connectors]] table for the connector the action uses.")
        return tuple([self._requirement(item, (*path, index)) for index, item in enumerate(items)])

    def _requirement(self, table: dict[str, Any], path: Path) -> Requirement:
        add = self._problems.add
        name: str = table.get("name", "")
        fix = "Name it as its author does, such as github://owner/repo, without a version."
        if not name:
            self._absent((*path, "name"), fix)
        elif fault := fqn_fault(name):
            add((*path, "name"), "connector-name", f'"{name}" does not name a connector: {fault}', fix)
        version = self._version(table, path)
        pin: str = table.get("hash", "")
        fix = "Pin the connector's bytes with sha256: and 64 hex digits."
        if not pin:
            self._absent((*path, "hash"), fix)
        elif not pin.startswith("sha256:") or pin == "sha256:":
            add((*path, "hash"), "hash", f'"{pin}" is not a hash', fix)
        capabilities = table.get("capabilities", ())
        if not capabilities:
            self._absent((*path, "capabilities"), "List the operations the action uses.")
        for index, capability in enumerate(capabilities):
            if not capability.strip():
                here = (*path, "capabilities", index)
                add(here, "capability", f"{dotted(here)} is empty", "Name an operation or take the entry out.")
        return Requirement(name, version, pin, tuple(capabilities))

    def _input(self, table: dict[str, Any], path: Path) -> Input:
        add = self._problems.add
        name: str = table.get("name", "")
        fix = "Use lower-case letters, digits and '_', starting with a letter."
        if not name:
            self._absent((*path, "name"), fix)
        elif not _INPUT_NAME.fullmatch(name):
            add((*path, "name"), "input-name", f'"{name}" is not a name for an input', fix)
        elif name in self._declared:
            add((*path, "name"), "input-twice", f'input "{name}" is declared twice', "Rename or remove one.")
        self._declared.add(name)
        type_: str = table.get("type", "")
        if not type_:
            self._absent((*path, "type"), _USE_A_TYPE)
        elif type_ not in TYPES:
            add((*path, "type"), "input-type", f'"{type_}" is not a type of input', _USE_A_TYPE)
        description: str = table.get("description", "")
        if not description.strip():
            self._absent((*path, "description"), "Say what to pass: it is all the agent learns about this input.")
        label: str = table.get("label", "")
        if label and not label.strip():
            add((*path, "label"), "label", f"{dotted(path)}.label is blank", "Write a label or take the key out.")
        multiline: bool = table.get("multiline", False)
        if multiline and type_ != "string" and type_ in TYPES:
            fix = 'Take it out, or set type = "string".'
            add((*path, "multiline"), "multiline", f'only a string can be multiline, not "{type_}"', fix)
        items_type: str = table.get("items_type", "")
        if items_type and type_ in TYPES:
            self._items_type(items_type, type_, (*path, "items_type"))
        return Input(name, type_, description, table.get("required", True), label, multiline, items_type)

    def _items_type(self, items_type: str, type_: str, path: Path) -> None:
        if type_ != "array":
            fix = 'Take it out, or set type = "array".'
            self._problems.add(path, "items-type", f'only an array has items_type, not "{type_}"', fix)
        elif items_type not in ITEM_TYPES:
            fix = f"Use one of {', '.join(ITEM_TYPES)}."
            self._problems.add(path, "items-type", f'"{items_type}" is not a type of item', fix)

    def _approval(self, table: dict[str, Any]) -> Approval:
        if not table:
            return Approval()
        required: bool = table.get("required", False)
        preview = table.get("preview")
        directive = None if preview is None else self._preview(preview, ("approval", "preview"))
        if directive and not required:
            fix = "Set required = true in [approval], or take the preview out."
            message = "the preview is never fetched, because no approval is required"
            self._problems.warn(("approval", "preview"), "preview-unused", message, fix)
        return Approval(required, self._timeout(table.get("timeout")), directive)

    def _timeout(self, seconds: int | None) -> int | None:
        if seconds is None:
            return None
        path = ("approval", "timeout")
        if seconds < 1:
            self._problems.add(path, "timeout", f"a timeout of {seconds} s asks nobody", "Write 1 to 300 seconds.")
            return None
        if seconds > LONGEST_TIMEOUT:
            message = f"{seconds} s is cut to {LONGEST_TIMEOUT} s"
            self._problems.warn(path, "timeout-cut", message, f"Write at most {LONGEST_TIMEOUT}.")
        message = "an Aileron daemon of today refuses a manifest with approval.timeout"
        self._problems.warn(path, "timeout-unknown-upstream", message, "Keep it only for the gate of aileron-tui.")
        return min(seconds, LONGEST_TIMEOUT)

    def _preview(self, table: dict[str, Any], path: Path) -> PreviewDirective:
        add = self._problems.add
        op: str = table.get("op", "")
        if not op.strip():
            self._absent((*path, "op"), "Name the read-only operation to call before asking.")
        render: dict[str, str] = table.get("render", {})
        if not render:
            self._absent((*path, "render"), "Show at least one field of the answer.")
        args: JsonObject = table.get("args", {})
        self._template(args, (*path, "args"))
        for label, target in render.items():
            here = (*path, "render", label)
            if not label.strip():
                add(here, "render-label", "a label of render is empty", "Give the field a label.")
            if self._problems.lacks(target.strip(), here):
                fix = "Write a path such as message.snippet."
                add(here, "render-path", f"the path of {dotted(here)} is empty", fix)
        multiline = table.get("multiline", ())
        for index, label in enumerate(multiline):
            if label not in render:
                fix = f"Use one of {', '.join(render)}." if render else "Add it to render."
                add((*path, "multiline", index), "multiline-label", f'"{label}" is not a label of render', fix)
        return PreviewDirective(op, args, tuple(render.items()), frozenset(multiline))

    def _execute(self, steps: Any, granted: dict[str, tuple[str, ...]]) -> tuple[Step, ...]:
        ids: set[str] = set()
        return tuple([self._step(item, ("execute", index), ids, granted) for index, item in enumerate(steps)])

    def _step(self, table: dict[str, Any], path: Path, ids: set[str], granted: dict[str, tuple[str, ...]]) -> Step:
        add = self._problems.add
        id_: str = table.get("id", "")
        if not id_:
            self._absent((*path, "id"), 'Add id = "…": the step\'s name in the result.')
        elif id_ in ids:
            add((*path, "id"), "step-twice", f'step "{id_}" is declared twice', "Rename one of them.")
        ids.add(id_)
        connector: str = table.get("connector", "")
        if not connector:
            self._absent((*path, "connector"), "Name a connector of [[requires.connectors]].")
        elif connector not in granted:
            fix = "Write the name exactly as in [[requires.connectors]]."
            add((*path, "connector"), "step-connector", f'connector "{connector}" is not required by this action', fix)
        op: str = table.get("op", "")
        if not op:
            self._absent((*path, "op"), "Name an operation of the connector.")
        elif (capabilities := granted.get(connector)) and op not in capabilities:
            message = f'"{op}" is not among the capabilities of {connector}, so the call will be refused'
            self._problems.warn((*path, "op"), "op-not-granted", message, f'Add "{op}" to its capabilities.')
        inputs: JsonObject = table.get("inputs", {})
        self._template(inputs, (*path, "inputs"))
        return Step(id_, connector, op, table.get("idempotent"), inputs)

    def _template(self, node: Json, path: Path) -> None:
        if isinstance(node, str):
            self._tokens(node, path)
        elif isinstance(node, dict):
            for key, item in node.items():
                if not isinstance(item, str) or "${" in item:
                    self._template(item, (*path, key))
        elif isinstance(node, list):
            for index, item in enumerate(node):
                self._template(item, (*path, index))

    def _tokens(self, text: str, path: Path) -> None:
        names = TOKEN.findall(text)
        for name in dict.fromkeys(names):
            if name not in self._declared:
                fix = f'Declare "{name}" in [[inputs]], or correct the name.'
                message = f"${{args.{name}}} is not an input of this action"
                self._problems.add(path, "undeclared-input", message, fix)
        if text.count("${") > len(names):
            message = f"{dotted(path)} holds a ${{…}} that is passed on as it is"
            self._problems.warn(path, "literal-token", message, "Only ${args.name} is replaced.")
