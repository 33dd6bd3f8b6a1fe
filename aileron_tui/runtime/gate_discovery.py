"""Which gate to talk to: the one that was named, else the one that runs on this home.

What lets us in there, an agent's token or an approver's session, never crosses a network in the clear.
"""

import socket
from pathlib import Path
from typing import Final, NoReturn

from aileron_tui.core.address import Address, BadAddress, read_address
from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError, read_private
from aileron_tui.runtime.errors import NoGate

FILE: Final = "gate.json"
START: Final = "Start one with `aileron-tui gate`, or name one with --url."


@dataclass(frozen=True, slots=True)
class FoundGate:
    """Where a gate is. `instance` and `token_file` are known only of a gate of this home."""

    url: str
    instance: str = ""
    token_file: Path | None = None


def discover(url: str = "", data: Path | None = None) -> FoundGate:
    """The gate to talk to; whether it is alive shows when it is first asked."""
    path = (data or paths().data) / FILE
    if not url:
        return _written(path)
    try:
        address = read_address(url)
    except BadAddress as error:
        raise NoGate("this is not the address of a gate", str(error), "Write it as http://127.0.0.1:8722.") from None
    try:
        here = _written(path)
    except NoGate:
        here = None
    if here is not None and address.matches(read_address(here.url)):
        return here
    if not address.is_confidential:
        _refuse(address)
    return FoundGate(address.url)


def agent_token(found: FoundGate) -> str:
    """The token that lets an agent in; new each time the gate starts."""
    if found.token_file is None:
        raise NoGate(
            "there is no agent token for this gate", found.url, "Name the file that holds it with --token-file."
        )
    try:
        token = read_private(found.token_file, 4096).decode("ascii").strip()
    except (PrivateFileError, UnicodeDecodeError) as error:
        raise NoGate("the agent token cannot be read", str(error), "Is the gate still running?") from None
    if not token:
        raise NoGate("the agent token cannot be read", f"{found.token_file} is empty", "Start the gate again.")
    return token


def _written(path: Path) -> FoundGate:
    if not path.exists():
        raise NoGate("no gate is running here", f"there is no {path}", START)
    try:
        fields = read_object(read_private(path, 64 * 1024))
    except (PrivateFileError, JsonError) as error:
        raise NoGate("the file that says where the gate is cannot be used", str(error), START) from None
    match fields:
        case {"url": str(url), "instance": str(instance), "agent_token_file": str(token_file)}:
            _check_own(url, path)
            return FoundGate(url, instance, Path(token_file))
        case _:
            raise NoGate("the file that says where the gate is cannot be used", f"{path} lacks a field", START)


def _check_own(url: str, path: Path) -> None:
    """A gate that was let out into the network is still reached from here without crossing it."""
    try:
        address = read_address(url)
    except BadAddress as error:
        raise NoGate("the file that says where the gate is cannot be used", f"{path}: {error}", START) from None
    if not (address.is_confidential or _of_this_machine(address.host)):
        _refuse(address)


def _of_this_machine(host: str) -> bool:
    """Whether it is an address of this machine: only on such a one can a socket be bound."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def _refuse(address: Address) -> NoReturn:
    raise NoGate(
        "what lets you in there would cross the network in the clear",
        f"{address.url} is on another machine and not encrypted",
        f"Go through an ssh tunnel (ssh -L {address.port}:127.0.0.1:{address.port} host, then "
        f"http://127.0.0.1:{address.port}), or use https.",
    )
