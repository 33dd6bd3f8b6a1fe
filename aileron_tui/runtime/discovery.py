"""Which gate to talk to: the one that was named, else the one that runs on this home."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.files.places import places
from aileron_tui.files.private import PrivateFileError, read_private
from aileron_tui.runtime.errors import NoGate

FILE: Final = "gate.json"
START: Final = "Start one with `aileron-tui gate`, or name one with --url."


@dataclass(frozen=True, slots=True)
class Found:
    """Where a gate is. `instance` and `token_file` are known only of a gate of this home."""

    url: str
    instance: str = ""
    token_file: Path | None = None


def discover(url: str = "", data: Path | None = None) -> Found:
    """The gate to talk to; whether it is alive shows when it is first asked."""
    path = (data or places().data) / FILE
    if not url:
        return _written(path)
    named = url.rstrip("/")
    if not named.startswith(("http://", "https://")):
        raise NoGate("this is not the address of a gate", url, "Write it as http://127.0.0.1:8722.")
    try:
        here = _written(path)
    except NoGate:
        return Found(named)
    return here if here.url == named else Found(named)


def agent_token(found: Found) -> str:
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


def _written(path: Path) -> Found:
    if not path.exists():
        raise NoGate("no gate is running here", f"there is no {path}", START)
    try:
        fields = read_object(read_private(path, 64 * 1024))
    except (PrivateFileError, JsonError) as error:
        raise NoGate("the file that says where the gate is cannot be used", str(error), START) from None
    match fields:
        case {"url": str(url), "instance": str(instance), "agent_token_file": str(token_file)}:
            return Found(url, instance, Path(token_file))
        case _:
            raise NoGate("the file that says where the gate is cannot be used", f"{path} lacks a field", START)
