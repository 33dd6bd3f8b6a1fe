"""Which sources to open: decided by the options, the configuration and what runs on this machine."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import DAEMON, OPENCODE, Config, SourceConfig
from aileron_tui.runtime.daemon.daemon_discovery import (
    TOKEN_VARIABLE,
    URL_VARIABLE,
    Daemon,
    NamedDaemon,
    NoDaemon,
    NoDaemonReason,
    find,
)
from aileron_tui.runtime.errors import InvalidReply, NoGate
from aileron_tui.runtime.gate_discovery import FoundGate, discover
from aileron_tui.runtime.gate_probe import GateProbe

if TYPE_CHECKING:
    from aileron_tui.runtime.opencode.opencode_server import NamedOpencode, OpencodeServer

_HEALTH_SECONDS: Final = 5.0


class ConflictingOptions(AileronError):
    """The options contradict each other."""


@dataclass(frozen=True, slots=True)
class DaemonChoice:
    """A daemon. `find` looks for it again at each connection, because its address changes when it restarts."""

    name: str
    find: Callable[[], Daemon]
    kind: Literal["daemon"] = "daemon"
    note: str = ""


@dataclass(frozen=True, slots=True)
class OpencodeChoice:
    """An opencode server. `find` reads its password again at each connection."""

    name: str
    find: "Callable[[], OpencodeServer]"
    kind: Literal["opencode"] = "opencode"
    note: str = ""


@dataclass(frozen=True, slots=True)
class GateChoice:
    """A gate that is running."""

    name: str
    find: Callable[[], FoundGate]
    kind: Literal["gate"] = "gate"
    note: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddedGateChoice:
    """A gate to start in this process; `find` finds it once it is running."""

    name: str
    find: Callable[[], FoundGate]
    kind: Literal["embedded"] = "embedded"
    note: str = ""


SourceChoice = DaemonChoice | OpencodeChoice | GateChoice | EmbeddedGateChoice
"""A source to open. `note` says what was skipped before it was chosen, and may contain foreign text."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the user asked for. `embedded` starts a gate in this process."""

    url: str = ""
    token_file: Path | None = None
    embedded: bool = False


def choose_sources(
    config: Config, options: SourceOptions | None = None, env: Mapping[str, str] = os.environ
) -> list[SourceChoice]:
    """The sources to open, at least one.

    A source that was asked for, by an option, in the configuration or in the environment, is opened, or the reason why
    it cannot be is raised. If nothing was asked for, one is chosen from what runs on this machine.
    """
    wanted = options or SourceOptions()
    if wanted.embedded:
        if wanted.url or wanted.token_file:
            hint = "Use either --url and --token-file, or --standalone and --manifests."
            raise ConflictingOptions("cannot use an embedded gate and another source together", hint=hint)
        return [EmbeddedGateChoice("", discover)]
    if wanted.url:
        return [_at_address(wanted.url, wanted.token_file, env)]
    if wanted.token_file:
        daemon = NamedDaemon(token_file=wanted.token_file)
        find(daemon, env)
        return [DaemonChoice("", partial(find, daemon, env))]
    if config.sources:
        return [_configured(source, env) for source in config.sources]
    return [_running(env)]


def source_kind(url: str) -> Literal["daemon", "gate"]:
    """Which kind of source answers at an address: only a gate reports an instance. No secret is sent."""
    from aileron_tui.runtime.health_reply import ask_health  # noqa: PLC0415  # only for a given address
    from aileron_tui.runtime.http_connection import HttpConnection  # noqa: PLC0415

    connection = HttpConnection(url, peer="runtime", hint="Check that a daemon or a gate is running there.")
    try:
        health = ask_health(connection, _HEALTH_SECONDS)
    finally:
        connection.close()
    if isinstance(health.get("instance"), str):
        return "gate"
    if health.get("service") == "aileron" or health.get("status") == "ok":
        return "daemon"
    raise InvalidReply(f"{url} is neither a daemon nor a gate", hint="Check the address.")


def _at_address(text: str, token_file: Path | None, env: Mapping[str, str]) -> SourceChoice:
    """The source at the address of --url."""
    try:
        url = read_address(text).url
    except BadAddress as error:
        raise NoGate("invalid address", str(error), "Use an address such as http://127.0.0.1:8722.") from None
    if source_kind(url) == "gate":
        if token_file:
            hint = "Omit --token-file."
            raise ConflictingOptions(f"{url} is a gate, which needs no token: you sign in with your key", hint=hint)
        discover(url)  # refuses an unsafe address before anything is opened
        return GateChoice("", partial(discover, url))
    # With --url, a token in the environment that has no address of its own is meant for that daemon.
    variable = TOKEN_VARIABLE if env.get(TOKEN_VARIABLE) and not env.get(URL_VARIABLE) and not token_file else ""
    daemon = NamedDaemon(url, token_file, variable)
    find(daemon, env)
    return DaemonChoice("", partial(find, daemon, env))


def _configured(source: SourceConfig, env: Mapping[str, str]) -> SourceChoice:
    """A source of the configuration. It is not contacted yet, so that one failure does not affect the others."""
    if source.kind == DAEMON:
        daemon = NamedDaemon(source.url, source.token_file, source.token_env)
        return DaemonChoice(source.name, partial(find, daemon, env))
    if source.kind == OPENCODE:
        from aileron_tui.runtime.opencode.opencode_server import find_opencode  # noqa: PLC0415  # few have one

        return OpencodeChoice(source.name, partial(find_opencode, named_opencode(source), env))
    return GateChoice(source.name, partial(discover, source.url))


def named_opencode(source: SourceConfig) -> "NamedOpencode":
    """The opencode server of a source of the configuration."""
    from aileron_tui.runtime.opencode.opencode_server import USERNAME, NamedOpencode  # noqa: PLC0415  # few have one

    return NamedOpencode(
        source.url, source.username or USERNAME, source.password_env, source.password_file, source.password_command
    )


def _running(env: Mapping[str, str]) -> SourceChoice:
    """The daemon that runs here, else the gate that runs here, else an embedded gate."""
    note = ""
    try:
        daemon = find(env=env)
    except NoDaemon as error:
        if error.why not in (NoDaemonReason.ABSENT, NoDaemonReason.LEFT_OVER):
            raise
        note = str(error) if error.why is NoDaemonReason.LEFT_OVER else ""
    else:
        if daemon.how == URL_VARIABLE and source_kind(daemon.url) == "gate":
            discover(daemon.url)
            return GateChoice("", partial(discover, daemon.url))
        return DaemonChoice("", partial(find, env=env))
    with suppress(NoGate):
        GateProbe(discover()).verified_instance()
        return GateChoice("", discover, note=note)
    return EmbeddedGateChoice("", discover, note=note)
