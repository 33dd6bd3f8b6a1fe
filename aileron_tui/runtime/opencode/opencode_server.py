"""Where opencode listens, and the password for it. No message repeats the password."""

import base64
import os
import socket
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import PrivateFileError, read_private
from aileron_tui.files.secret_command import SecretCommandError, command_output
from aileron_tui.runtime.errors import NoGate

START: Final = "Start it with `opencode serve`."
USERNAME: Final = "opencode"

_LARGEST_PASSWORD: Final = 4096
_CONNECT_SECONDS: Final = 3.0


class NoOpencode(NoGate):
    """The server cannot be used: nothing answers there, or its password is not available."""


@dataclass(frozen=True, slots=True)
class NamedOpencode:
    """The server named in the configuration, with at most one place for its password."""

    url: str
    username: str = USERNAME
    password_env: str = ""
    password_file: Path | None = None
    password_command: tuple[str, ...] = ()

    @property
    def has_password(self) -> bool:
        """Whether a place for the password is named."""
        return bool(self.password_env or self.password_file or self.password_command)


@dataclass(frozen=True, slots=True)
class OpencodeServer:
    """A server that answers. Without a password, it obeys every program that can reach its port."""

    url: str
    username: str = USERNAME
    password: str = field(default="", repr=False)

    @property
    def instance(self) -> str:
        """Identifies the server. It does not say when it was started."""
        return f"opencode {self.url}"

    @property
    def headers(self) -> dict[str, str]:
        """What identifies us."""
        if not self.password:
            return {}
        pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")
        return {"Authorization": f"Basic {pair}"}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that must not be repeated: the password, and the header that contains it."""
        return (self.password, self.headers["Authorization"].removeprefix("Basic ")) if self.password else ()


def find_opencode(named: NamedOpencode, env: Mapping[str, str] = os.environ) -> OpencodeServer:
    """Reads the password and checks that something listens at the address; raises NoOpencode."""
    try:
        address = read_address(named.url)
    except BadAddress as error:
        raise NoOpencode("not a valid address of opencode", str(error), "Use http://127.0.0.1:4096.") from None
    password = read_password(named, env)
    if password and not address.is_confidential:
        detail = f"{address.url} is on another machine and does not use https"
        title = "the password would be sent unencrypted over the network"
        raise NoOpencode(title, detail, "Use https, or an ssh tunnel and the address of its local end.")
    try:
        socket.create_connection((address.host, address.port), timeout=_CONNECT_SECONDS).close()
    except (OSError, UnicodeError) as error:
        reason = "timed out" if isinstance(error, TimeoutError) else str(getattr(error, "strerror", None) or error)
        raise NoOpencode(f"cannot connect to {address.url}", reason.lower(), START) from None
    return OpencodeServer(address.url, named.username, password)


def read_password(named: NamedOpencode, env: Mapping[str, str] = os.environ) -> str:
    """The password, "" if no place for it is named; raises NoOpencode if it cannot be read there."""
    if named.password_env:
        return _checked(env.get(named.password_env, ""), named.password_env)
    if named.password_file is not None:
        path = named.password_file.expanduser() if named.password_file.parts[:1] == ("~",) else named.password_file
        try:
            text = read_private(path, _LARGEST_PASSWORD).decode("utf-8", "replace")
        except PrivateFileError as error:
            raise NoOpencode("opencode's password cannot be read", str(error), error.hint) from None
        return _checked(text, str(named.password_file))
    if named.password_command:
        try:
            return _checked(command_output(named.password_command), named.password_command[0])
        except SecretCommandError as error:
            hint = "Check password_command in the configuration."
            raise NoOpencode("opencode's password cannot be read", str(error), hint) from None
    return ""


def _checked(text: str, where: str) -> str:
    text = text.strip()
    if not text:
        hint = "Put the password there that opencode has in OPENCODE_SERVER_PASSWORD."
        raise NoOpencode("opencode's password is missing", f"{where} is empty or not set", hint)
    if len(text) > _LARGEST_PASSWORD or not text.isprintable():
        detail = f"what {where} contains is too long, or has a line break or a control character"
        raise NoOpencode("not a valid password", detail, "Put the password there and nothing else.")
    return text
