"""What the console opens: decided from the command line, the configuration and what runs here."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Literal

from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import DAEMON, Config, SourceConfig
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

_HEALTH_SECONDS: Final = 5.0


class Undecided(AileronError):
    """The command line does not say what to open."""


@dataclass(frozen=True, slots=True)
class DaemonChoice:
    """A daemon. `find` looks anew for each connection, because a restart moves it."""

    name: str
    find: Callable[[], Daemon]
    kind: Literal["daemon"] = "daemon"
    note: str = ""


@dataclass(frozen=True, slots=True)
class GateChoice:
    """A gate in another process."""

    name: str
    find: Callable[[], FoundGate]
    kind: Literal["gate"] = "gate"
    note: str = ""


@dataclass(frozen=True, slots=True)
class InsideChoice:
    """A gate to be started in this process; `find` finds it once it runs."""

    name: str
    find: Callable[[], FoundGate]
    kind: Literal["inside"] = "inside"
    note: str = ""


Chosen = DaemonChoice | GateChoice | InsideChoice
"""A source to open. `note` tells the operator what was passed over on the way to it, and may hold foreign text."""


def chosen(options: object, config: Config, env: Mapping[str, str] = os.environ) -> list[Chosen]:
    """The sources to open, at least one.

    What was asked for on purpose, on the command line, in the configuration or in the environment, is opened or
    refused with the reason; only what happens to run here may be passed over for the next.
    """
    url: str = getattr(options, "url", "") or ""
    token_file: Path | None = getattr(options, "token_file", None)
    inside = bool(getattr(options, "standalone", False) or getattr(options, "manifests", None))
    if inside and (url or token_file):
        raise Undecided(
            "a gate inside and one elsewhere were both asked for",
            hint="Leave out --url and --token-file, or --standalone and --manifests.",
        )
    if inside:
        return [InsideChoice("", discover)]
    if url:
        return [_at(url, token_file, env)]
    if token_file:
        wanted = NamedDaemon(token_file=token_file)
        find(wanted, env)
        return [DaemonChoice("", partial(find, wanted, env))]
    if config.sources:
        return [_configured(source, env) for source in config.sources]
    return [_running(env)]


def kind_of(url: str) -> Literal["daemon", "gate"]:
    """What answers at an address: a gate says which instance it is, a daemon does not. Nothing secret is sent."""
    from aileron_tui.runtime.http_connection import HttpConnection  # noqa: PLC0415  # only for an address that was named

    wire = HttpConnection(url, peer="runtime", hint="Look whether a daemon or a gate runs there.")
    try:
        health = wire.ask("GET", "/v1/health", seconds=_HEALTH_SECONDS)
    finally:
        wire.close()
    if isinstance(health.get("instance"), str):
        return "gate"
    if health.get("service") == "aileron" or health.get("status") == "ok":
        return "daemon"
    raise InvalidReply(f"what answers at {url} is neither a daemon nor a gate", hint="Check the address.")


def _at(text: str, token_file: Path | None, env: Mapping[str, str]) -> Chosen:
    """The one at the address of the command line."""
    try:
        url = read_address(text).url
    except BadAddress as error:
        hint = "Write it as http://127.0.0.1:8722."
        raise NoGate("this is not the address of a daemon or a gate", str(error), hint) from None
    if kind_of(url) == "gate":
        if token_file:
            hint = "Leave out --token-file."
            raise Undecided(f"{url} is a gate, which takes no token: it knows your key", hint=hint)
        discover(url)  # refuses what must not be used before anything is opened
        return GateChoice("", partial(discover, url))
    # With an address of its own, the token of the environment is for the daemon there.
    variable = TOKEN_VARIABLE if env.get(TOKEN_VARIABLE) and not env.get(URL_VARIABLE) and not token_file else ""
    wanted = NamedDaemon(url, token_file, variable)
    find(wanted, env)
    return DaemonChoice("", partial(find, wanted, env))


def _configured(source: SourceConfig, env: Mapping[str, str]) -> Chosen:
    """Not looked at yet: the trouble of one source must not keep the others from being opened."""
    if source.kind == DAEMON:
        wanted = NamedDaemon(source.url, source.token_file, source.token_env)
        return DaemonChoice(source.name, partial(find, wanted, env))
    return GateChoice(source.name, partial(discover, source.url))


def _running(env: Mapping[str, str]) -> Chosen:
    """The daemon, else the gate that runs here, else one inside."""
    note = ""
    try:
        daemon = find(env=env)
    except NoDaemon as error:
        if error.why not in (NoDaemonReason.ABSENT, NoDaemonReason.LEFT_OVER):
            raise
        note = str(error) if error.why is NoDaemonReason.LEFT_OVER else ""
    else:
        if daemon.how == URL_VARIABLE and kind_of(daemon.url) == "gate":
            discover(daemon.url)
            return GateChoice("", partial(discover, daemon.url))
        return DaemonChoice("", partial(find, env=env))
    with suppress(NoGate):
        GateProbe(discover()).verified_instance()
        return GateChoice("", discover, note=note)
    return InsideChoice("", discover, note=note)
