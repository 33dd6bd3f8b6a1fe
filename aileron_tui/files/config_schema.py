"""The tables and keys of `config.toml`, read from the definitions in `config`, for the reader and for the docs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from types import UnionType
from typing import Any, Final, cast, get_args, get_origin

from aileron_tui.core.findings import Path, Problems
from aileron_tui.core.toml_schema import (
    Fields,
    NamedTablesSchema,
    StringListSchema,
    StringTableSchema,
    TableListSchema,
    TableSchema,
    dotted,
)
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import (
    ActionSettings,
    BundleConfig,
    ConnectorSettings,
    ConsoleConfig,
    CredentialSource,
    LedgerConfig,
    MetricsConfig,
    NotificationConfig,
    Policy,
    SourceConfig,
    SurfacesConfig,
    WebhookConfig,
    WebhookSecret,
    key,
)


@dataclass(frozen=True, slots=True)
class RiskConfig:
    """The risk of some calls, by patterns such as `send-*`. The first entry whose patterns all match is used."""

    level: str = field(
        metadata={
            "meaning": "Risk of the calls that match.",
            "example": '"high"',
            "choices": ("low", "normal", "high"),
        }
    )
    action: str = key("", "Pattern for the name of the action. If not set, any action.", '"send-*"')
    connector: str = key("", "Pattern for the name of the connector. If not set, any connector.", '"github://acme/*"')
    op: str = key("", "Pattern for the op. If not set, any op.")


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key: its meaning, an example of its value in TOML, and its limits.

    `pattern` is a regular expression for the whole value, and `pattern_hint` describes it in words.
    """

    name: str
    type: type
    default: object
    meaning: str
    example: str = ""
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    pattern_hint: str = ""

    @property
    def required(self) -> bool:
        """Whether the key must be set."""
        return self.default is MISSING

    @property
    def limits(self) -> str:
        """The numbers that are allowed, in words."""
        if self.least is None:
            return ""
        return f"{self.least} or more" if self.most is None else f"between {self.least} and {self.most}"


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """One table: its header as written in the file, "" for the keys before the first one, and its definition."""

    header: str
    definition: type

    @property
    def meaning(self) -> str:
        """What the table is for."""
        return " ".join((self.definition.__doc__ or "").split())

    @property
    def keys(self) -> tuple[ConfigKey, ...]:
        """The keys in the order in which they are defined."""
        return tuple(_keys(self.definition))


TABLES: Final = (
    ConfigTable("", BundleConfig),
    ConfigTable("[policy]", Policy),
    ConfigTable("[ledger]", LedgerConfig),
    ConfigTable("[console]", ConsoleConfig),
    ConfigTable("[surfaces]", SurfacesConfig),
    ConfigTable("[notifications]", NotificationConfig),
    ConfigTable("[webhook]", WebhookConfig),
    ConfigTable("[webhook.secret]", WebhookSecret),
    ConfigTable("[metrics]", MetricsConfig),
    ConfigTable("[[risk]]", RiskConfig),
    ConfigTable("[[sources]]", SourceConfig),
    ConfigTable('[connectors."github://acme/tickets"]', ConnectorSettings),
    ConfigTable('[connectors."github://acme/tickets".credential]', CredentialSource),
    ConfigTable("[actions.send-ticket]", ActionSettings),
)


def check_limits(table: Mapping[str, Any], definition: type, path: Path, problems: Problems) -> None:
    """Reports every value of a table that is missing or outside its limits. The types must have been checked before."""
    for each in _keys(definition):
        here = (*path, each.name)
        value = table.get(each.name)
        if each.required and problems.missing(value, here):
            choices = ", ".join(each.choices)
            fix = f"Set it to one of {choices}." if choices else f"Add {each.name} = {each.example}."
            problems.add(here, "required", f"{dotted(here)} is required", fix)
        elif value is None or (each.required and not value):
            continue
        elif each.least is not None and not each.least <= value <= (value if each.most is None else each.most):
            message = f"{dotted(here)} must be {each.limits}, not {value}"
            problems.add(here, "out-of-range", message, f"Write a number that is {each.limits}.")
        elif each.choices and value not in each.choices:
            message = f'"{value}" is not a valid value for {dotted(here)}'
            problems.add(here, "invalid-value", message, f"Use one of {', '.join(each.choices)}.")
        elif each.pattern and not re.fullmatch(each.pattern, value):
            problems.add(here, "invalid-value", f'"{value}" is not a valid value for {dotted(here)}', each.pattern_hint)


def _keys(definition: type) -> Iterator[ConfigKey]:
    for each in fields(definition):
        if not each.metadata:  # a table inside this one
            continue
        default = each.default if each.default_factory is MISSING else each.default_factory()
        yield ConfigKey(each.name, _toml_type(each.type), default, **each.metadata)


def _toml_type(annotation: Any) -> type:
    """The type of a value in TOML: `bool`, `int`, `str`, `list` (of strings) or `dict` (of strings)."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is UnionType:
        return _toml_type(next(each for each in inner if each is not type(None)))
    if annotation in (bool, int):
        return bool if annotation is bool else int
    return list if origin is tuple else dict if origin is Mapping else str


def _schema(definition: type) -> Fields:
    """What `enforce_schema` checks: every key of a table with its type, and the tables inside it."""
    schemas: Fields = {}
    for each in fields(definition):
        if each.metadata:
            toml = _toml_type(each.type)
            schemas[each.name] = StringListSchema() if toml is list else StringTableSchema() if toml is dict else toml
        else:
            table = next(inner for inner in get_args(each.type) if is_dataclass(inner))
            schemas[each.name] = TableSchema(_schema(cast("type", table)))
    return schemas


SCHEMA: Final[Fields] = {
    **_schema(BundleConfig),
    "policy": TableSchema(_schema(Policy)),
    "ledger": TableSchema(_schema(LedgerConfig)),
    "console": TableSchema(_schema(ConsoleConfig)),
    "surfaces": TableSchema(_schema(SurfacesConfig)),
    "notifications": TableSchema(_schema(NotificationConfig)),
    "metrics": TableSchema(_schema(MetricsConfig)),
    "webhook": TableSchema(_schema(WebhookConfig)),
    "risk": TableListSchema(_schema(RiskConfig)),
    "sources": TableListSchema(_schema(SourceConfig)),
    "connectors": NamedTablesSchema(_schema(ConnectorSettings)),
    "actions": NamedTablesSchema(_schema(ActionSettings)),
}
