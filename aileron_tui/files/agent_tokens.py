"""The files of agents: their tokens, stored in plain text only there, and the keys of those who may approve.

A program that executes approved calls itself knows the approvers from the file beside its token.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from aileron_tui.core.agent_names import DEFAULT_AGENT
from aileron_tui.files.private_files import PrivateFileError, private_folder, read_private, write_private

_DEFAULT_FILE: Final = "agent.token"
_FOLDER: Final = "agents"
_LONGEST: Final = 4096


def token_path(data: Path, agent: str) -> Path:
    """The token file of an agent. The file of `default` has the name from before agents had tokens of their own."""
    return data / _DEFAULT_FILE if agent == DEFAULT_AGENT else data / _FOLDER / f"{agent}.token"


def approvers_path(data: Path, agent: str) -> Path:
    """The file with the keys of those who may approve what an agent asks."""
    return token_path(data, agent).with_suffix(".approvers")


def write_approvers(data: Path, agent: str, lines: Iterable[str]) -> None:
    """Writes the keys of those who may approve, one line each, for the program of an agent."""
    path = approvers_path(data, agent)
    private_folder(path.parent)
    write_private(path, "".join(f"{line}\n" for line in lines).encode(), replace=True)


def agents_with_tokens(data: Path) -> tuple[str, ...]:
    """The agents that have a token file."""
    named = sorted(path.stem for path in (data / _FOLDER).glob("*.token"))
    return ((DEFAULT_AGENT,) if (data / _DEFAULT_FILE).exists() else ()) + tuple(named)


def write_token(path: Path, token: str) -> None:
    """Writes a token file, which only the user can read; replaces an older one."""
    private_folder(path.parent)
    write_private(path, f"{token}\n".encode(), replace=True)


def read_token(path: Path) -> str:
    """The token in a file. Raises PrivateFileError."""
    try:
        token = read_private(path, _LONGEST).decode("ascii").strip()
    except UnicodeDecodeError:
        raise PrivateFileError(f"{path} does not contain a token") from None
    if not token:
        raise PrivateFileError(f"{path} is empty")
    return token
