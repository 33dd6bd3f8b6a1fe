"""Finds the gate to talk to: the one given by its URL, otherwise the one running in this home.

An agent's token and an approver's session are never sent unencrypted over a network.
"""

import socket
from pathlib import Path
from typing import Final, NoReturn

from aileron_tui.core.address import Address, BadAddress, read_address
from aileron_tui.core.jsontext import Json, JsonError, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.files.agent_tokens import read_token
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError, read_private
from aileron_tui.runtime.errors import NoGate

FILE: Final = "gate.json"
START: Final = "Start one with `aileron-tui gate`, or pass the address of one with --url."
_START_HERE: Final = "Start one with `aileron-tui gate`, or open the console, which runs one."


@dataclass(frozen=True, slots=True)
class FoundGate:
    """Where a gate is. All but its URL are known only for a gate of this home.

    `token_file` is that of the default agent, None if there is no such agent.
    """

    url: str
    instance: str = ""
    token_file: Path | None = None
    socket: Path | None = None


def discover(url: str = "", data: Path | None = None) -> FoundGate:
    """Returns the gate to talk to, without checking that it is running."""
    path = (data or paths().data) / FILE
    if not url:
        return _own_gate(path)
    try:
        address = read_address(url)
    except BadAddress as error:
        raise NoGate("not a valid gate address", str(error), "Write it as http://127.0.0.1:8722.") from None
    try:
        here = _own_gate(path)
    except NoGate:
        here = None
    if here is not None and address.matches(read_address(here.url)):
        return here
    if not address.is_confidential:
        _refuse_unencrypted(address)
    return FoundGate(address.url)


def discover_here() -> FoundGate:
    """Returns the gate of this home, for what is possible only on its machine."""
    try:
        return discover()
    except NoGate as error:
        raise NoGate(error.title, error.detail, _START_HERE) from None


def agent_token(found: FoundGate) -> str:
    """The token to call a gate with: that of its default agent, unless another file is given."""
    if found.token_file is None:
        hint = "Pass the token file of an agent with --token-file. `aileron-tui agent list` shows them."
        raise NoGate("there is no agent token for this gate", found.url, hint)
    try:
        return read_token(found.token_file)
    except PrivateFileError as error:
        hint = "Check the path. `aileron-tui agent rotate NAME` writes a new token."
        raise NoGate("the agent token cannot be read", str(error), hint) from None


def _own_gate(path: Path) -> FoundGate:
    if not path.exists():
        raise NoGate("no gate is running here", f"{path} does not exist", START)
    try:
        fields = read_object(read_private(path, 64 * 1024))
    except (PrivateFileError, JsonError) as error:
        raise NoGate("cannot use the gate's address file", str(error), START) from None
    match fields:
        case {"url": str(url), "instance": str(instance), "agent_token_file": str(token_file)}:
            _check_own(url, path)
            agent_file = Path(token_file) if token_file else None
            return FoundGate(url, instance, agent_file, _socket_path(fields.get("socket")))
        case _:
            raise NoGate("cannot use the gate's address file", f"{path}: a field is missing or invalid", START)


def _socket_path(value: Json) -> Path | None:
    """The gate's Unix socket for approvers; None if it has none, for example because it is older."""
    path = Path(value) if isinstance(value, str) and value else None
    return path if path is not None and path.exists() else None


def _check_own(url: str, path: Path) -> None:
    """Refuses an address on another machine; a gate that listens on the network still has an address of this one."""
    try:
        address = read_address(url)
    except BadAddress as error:
        raise NoGate("cannot use the gate's address file", f"{path}: {error}", START) from None
    if not (address.is_confidential or _of_this_machine(address.host)):
        _refuse_unencrypted(address)


def _of_this_machine(host: str) -> bool:
    """Whether a host is an address of this machine, which is when a socket can be bound to it."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def _refuse_unencrypted(address: Address) -> NoReturn:
    raise NoGate(
        "the token or session would be sent unencrypted over the network",
        f"{address.url} is on another machine and does not use https",
        f"Use an ssh tunnel (ssh -L {address.port}:127.0.0.1:{address.port} host, then "
        f"http://127.0.0.1:{address.port}), or https.",
    )
