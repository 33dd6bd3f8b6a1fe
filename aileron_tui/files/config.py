"""The user's `config.toml` as values: each key with its type, default, meaning and limits.

All keys are defined here, except those of `[[risk]]`: they are in `config_schema`, because their values are converted.
`config_reader` checks a file against these definitions, and `make configuration` writes docs/configuration.md from
them.
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from aileron_tui.core.alert_routing import ORDER
from aileron_tui.core.errors import AileronError
from aileron_tui.core.states import LONGEST_TIMEOUT
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from aileron_tui.core.risk import RiskRule

SECURITY_KEY: Final = "key"
HIGH_RISK: Final = ("confirm", "type", "passphrase", SECURITY_KEY)
DAEMON: Final = "daemon"
GATE: Final = "gate"
OPENCODE: Final = "opencode"
LONGEST_OP: Final = 300
"""The longest time limit of an op, in seconds."""

T = TypeVar("T")


class ConfigError(AileronError):
    """An error in the configuration file."""


def key(default: T, meaning: str, example: str = "", **limits: object) -> T:
    """A field that is a key of `config.toml`; `example` is TOML, and `config_schema.ConfigKey` lists the limits."""
    return field(default=default, metadata={"meaning": meaning, "example": example, **limits})


@dataclass(frozen=True, slots=True)
class Policy:
    """How the gate asks, and what it keeps."""

    keep_previews: bool = key(
        False, "Keep the text of previews in the ledger. Otherwise only their digest is kept.", "true"
    )
    headless_decisions: bool = key(
        False, "Allow `approve` and `deny` without a terminal, for example in a script.", "false"
    )
    timeout: int = key(
        LONGEST_TIMEOUT,
        "Seconds that a request waits for an answer if its manifest sets no timeout.",
        "120",
        least=1,
        most=LONGEST_TIMEOUT,
    )
    longest_wait: int = key(
        1800,
        "Seconds after which a request cannot wait any longer. Until then, `+` in the console adds five minutes.",
        "600",
        least=1,
        most=86_400,
    )
    asks_per_10_minutes: int = key(
        600,
        "Requests of one agent that people can be asked to answer in 10 minutes. Its further gated calls are refused "
        "with `asked_too_often`, and the operator is told. 0 turns this off.",
        "100",
        least=0,
        most=100_000,
    )
    high_risk: str = key(
        "confirm",
        "How to confirm an approval at high risk: press `y`, type the action's name, enter the passphrase of "
        "the signing key, or touch a security key. With `key`, the gate refuses every other approval at high risk.",
        '"type"',
        choices=HIGH_RISK,
    )


@dataclass(frozen=True, slots=True)
class LedgerConfig:
    """How long the gate's ledger keeps what requests contain ([more](ledger.md#keep-less))."""

    keep: str = key(
        "",
        "Time after which the contents of ended requests are removed from the gate's ledger, as days or weeks, `1d` at "
        "least. If not set, they are kept.",
        '"365d"',
        pattern=r"[0-9]{1,5}[dw]",
        pattern_hint='Write days or weeks, such as "365d" or "52w".',
    )


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """How the console looks and behaves."""

    theme: str = key(
        "",
        "Colour theme: `aileron-dark`, `aileron-light`, `aileron-contrast` or `aileron-plain`. If not set, "
        "`aileron-dark`, or `aileron-plain` where `NO_COLOR` is set. To try one out, press `ctrl+p` in the console "
        "and type `theme`.",
        '"aileron-light"',
    )
    undo_seconds: int = key(
        2,
        "Seconds that an approval is held before it is sent, so that `u` can undo it. 0 turns this off.",
        "3",
        least=0,
        most=60,
    )
    lock_minutes: int = key(
        15, "Minutes without a key press after which the console locks itself. 0 turns this off.", "30", least=0
    )
    follow: bool = key(
        True,
        "Go to the next waiting request once the one on screen was answered here and has ended, and no key was "
        "pressed for 1.5 seconds.",
        "false",
    )
    bell: bool = key(True, "Ring the terminal bell when a request arrives.", "false")
    notify: bool = key(True, "Send a desktop notification through the terminal when a request arrives.", "true")
    keys: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "meaning": "Your own key bindings for the console, by the ids in [the list of keys](keys.md).",
            "example": '{ history = "H", "history.export" = "E,f5" }',
        },
    )


@dataclass(frozen=True, slots=True)
class SurfacesConfig:
    """Whom the gate alerts to a request, and in which order ([more](surfaces.md#routing)).

    Every surface lists every request. The prompt in a terminal always comes last and cannot be left out.
    """

    order: tuple[str, ...] = key(
        ORDER,
        "Surfaces to alert, first to last: `console`, `page`, `notification`, `webhook`. What is left out is not "
        "alerted.",
        '["console", "notification"]',
    )
    share: int | None = key(
        None,
        "Seconds that each surface gets before the next one is alerted too. If not set, an equal share of the time "
        "that is left, 60 at most.",
        "30",
        least=1,
        most=3600,
    )


def account_key(meaning: str) -> str:
    """Defines the key that names an account."""
    hint = "Use a name that `aileron-tui bindings` lists."
    pattern = r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}"
    return key("", meaning, '"work"', pattern=pattern, pattern_hint=hint)


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """The credential of a connector. Set exactly one of `env`, `command` and `keyring`."""

    env: str = key("", "Environment variable that holds the secret.", '"TICKETS_TOKEN"')
    command: tuple[str, ...] = key((), 'Command that prints the secret, such as `["pass", "tickets"]`.')
    keyring: str = key("", "Entry of the system's keyring, as `service/user`.")
    region: str = key("", "AWS region for AWS signatures. Overrides the one in the connector's manifest.")
    access_key_id: str = key("", "AWS access key id for AWS signatures. Overrides the one in the connector's manifest.")


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """Settings of one connector, under the name that manifests give it."""

    credential: CredentialSource | None = None
    seconds: int | None = key(
        None,
        "Time limit of one op in seconds. If not set, 30. A preview always has 5 seconds.",
        "180",
        least=1,
        most=LONGEST_OP,
    )
    memory_mib: int | None = key(None, "Memory limit of one call in MiB. If not set, 256.", "64", least=1, most=4096)
    body_mib: int | None = key(
        None, "Size limit of one response of a service in MiB, decompressed. If not set, 8.", "32", least=1, most=256
    )
    preview_may_post: bool = key(
        False, "Let previews of this connector send HTTP POST requests. Otherwise they can only read.", "false"
    )
    upstream: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "meaning": "For tests: servers on this machine that are asked in place of hosts of the connector. They "
            "also get its credential, and every prompt warns about it "
            "([more](installing.md#limits-proxies-and-certificates)).",
            "example": '{ "api.example.com:443" = "http://127.0.0.1:8080" }',
        },
    )
    account: str = account_key("Account that this connector uses, which is only needed if it has several.")


@dataclass(frozen=True, slots=True)
class ActionSettings:
    """Settings of one action, under its name."""

    account: str = account_key("Account that the connectors of this action use, whatever their own settings say.")


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """A daemon, a gate or an opencode server whose requests the console shows.

    Without any `[[sources]]`, the console uses the daemon or gate that it finds on this machine.
    """

    name: str = field(
        metadata={
            "meaning": "Name of the source, shown beside its requests and used with `--source`.",
            "example": '"work"',
            "pattern": "[a-z0-9-]{1,20}",
            "pattern_hint": "Use 1 to 20 lower-case letters, digits and dashes.",
        }
    )
    kind: Literal["daemon", "gate", "opencode"] = field(
        metadata={"meaning": "What the source is.", "example": '"daemon"', "choices": (DAEMON, GATE, OPENCODE)}
    )
    url: str = key(
        "",
        "Address of the source. If not set, the daemon or gate of this machine; required for opencode. Over a network, "
        "use `https://`.",
        '"http://127.0.0.1:9000"',
    )
    token_file: Path | None = key(
        None, "Full path of the file with the daemon's token. Not for a gate.", '"~/.aileron/work.token"'
    )
    token_env: str = key("", "Environment variable with the daemon's token, instead of `token_file`.")
    password_env: str = key(
        "", "Environment variable with opencode's password, such as `OPENCODE_SERVER_PASSWORD`. Only for opencode."
    )
    password_file: Path | None = key(
        None, "Full path of the file with opencode's password, instead of `password_env`. Only for opencode."
    )
    password_command: tuple[str, ...] = key(
        (), 'Command that prints opencode\'s password, such as `["pass", "opencode"]`, instead. Only for opencode.'
    )
    username: str = key("", "User name that opencode expects. If not set, `opencode`. Only for opencode.")


@dataclass(frozen=True, slots=True)
class NotificationConfig:
    """Desktop notifications about waiting requests. They need an [extra](start.md#an-extra)."""

    content: bool = key(
        True,
        "Show the action, the agent and the summary of a request. Otherwise notifications only say that requests wait, "
        "which is safer if your lock screen shows them.",
        "false",
    )


@dataclass(frozen=True, slots=True)
class WebhookSecret:
    """The secrets that sign webhook messages. Set exactly one of `env`, `command`, `keyring` and `file`.

    A secret begins with `whsec_`. To replace one, put the new and the old one there, separated by a space: messages are
    signed with each of them.
    """

    env: str = key("", "Environment variable that holds the secrets.", '"AILERON_WEBHOOK_SECRET"')
    command: tuple[str, ...] = key((), 'Command that prints the secrets, such as `["pass", "aileron-webhook"]`.')
    keyring: str = key("", "Entry of the system's keyring, as `service/user`.")
    file: Path | None = key(None, "Full path of a file that only you can read.")


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    """Tells a server of yours that a request waits ([more](surfaces.md#webhook)). Needs `[webhook.secret]`."""

    url: str = key(
        "",
        "Address that messages are sent to: `https://`, or on this machine. If not set, none are sent.",
        '"https://hooks.example.com/aileron"',
    )
    content: bool = key(
        False,
        "Also send the summary of the request, which can contain parts of its preview.",
        "false",
    )
    secret: WebhookSecret | None = None


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """Numbers about the gate's work for Prometheus ([more](operating.md#metrics))."""

    enabled: bool = key(
        False,
        "Serve `/v1/metrics` to approvers, and to the token that the gate writes to `metrics.token` in its folder.",
        "true",
    )


@dataclass(frozen=True, slots=True)
class BundleConfig:
    """Folders with actions and connectors of your own, written before the first table."""

    manifests: tuple[str, ...] = key(
        (),
        "Full paths of bundles or of connectors' repositories. What is in them is used once it was approved with `add` "
        "([more](installing.md#what-the-gate-uses)).",
        '["~/aileron-connector-google"]',
    )


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration; every part has a default."""

    policy: Policy = Policy()
    risk: "tuple[RiskRule, ...]" = ()
    connectors: Mapping[str, ConnectorSettings] = field(default_factory=dict)
    console: ConsoleConfig = field(default_factory=ConsoleConfig)
    sources: tuple[SourceConfig, ...] = ()
    surfaces: SurfacesConfig = field(default_factory=SurfacesConfig)
    notifications: NotificationConfig = field(default_factory=NotificationConfig)
    webhook: WebhookConfig = field(default_factory=WebhookConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    manifests: tuple[Path, ...] = ()
    actions: Mapping[str, ActionSettings] = field(default_factory=dict)
    ledger: LedgerConfig = LedgerConfig()
