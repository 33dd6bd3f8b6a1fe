"""The user's `config.toml`: closed like every other file, so that a mistyped key is never silently ignored."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import LONGEST_TIMEOUT
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.risk import RiskRule

HIGH_RISK: Final = ("confirm", "type", "passphrase")
DAEMON: Final = "daemon"
GATE: Final = "gate"


class ConfigError(AileronError):
    """The configuration cannot be used as it is written."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants of the gate. `timeout` is how long a request waits if its manifest does not say."""

    keep_previews: bool = False
    headless_decisions: bool = False
    timeout: int = LONGEST_TIMEOUT
    high_risk: str = "confirm"


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """How the console looks and behaves; 0 turns the undo window or the idle lock off."""

    theme: str = ""
    undo_seconds: int = 2
    lock_minutes: int = 15
    bell: bool = True
    notify: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """Where a connector's credential comes from: exactly one of `env`, `command` and `keyring` is set."""

    env: str = ""
    command: tuple[str, ...] = ()
    keyring: str = ""
    region: str = ""
    access_key_id: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """What the user says of one connector."""

    credential: CredentialSource | None = None
    memory_mib: int | None = None
    preview_may_post: bool = False


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """Where requests come from. Without `url`, a daemon is looked for as usual and a gate is the one of this home."""

    name: str
    kind: Literal["daemon", "gate"]
    url: str = ""
    token_file: Path | None = None
    token_env: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration; every part has its default."""

    policy: Policy = Policy()
    risk: "tuple[RiskRule, ...]" = ()
    connectors: Mapping[str, ConnectorSettings] = field(default_factory=dict)
    console: ConsoleConfig = field(default_factory=ConsoleConfig)
    sources: tuple[SourceConfig, ...] = ()
