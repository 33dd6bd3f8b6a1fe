"""Who asks: the agent, the program, and the process."""

import os
import socket
import sys
from pathlib import Path
from typing import Final

from aileron_tui.core.values import dataclass

DEFAULT_AGENT: Final = "python"

_LONGEST_NAME: Final = 200
_LONGEST_HOST: Final = 60


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """Which agent the program is, and where its gate is.

    Without `data` and `url`, the gate is that of this home. `program` is its name in prompts and rules; it is that of
    the main module if it is not given.
    """

    agent: str = DEFAULT_AGENT
    data: Path | None = None
    url: str = ""
    token_file: Path | None = None
    program: str = ""

    @property
    def program_name(self) -> str:
        """The program's name in prompts and rules."""
        return self.program or main_name()


def main_name() -> str:
    """The name of the program by its main module: that of a package, or of a file without its ending."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    name = spec.name.removesuffix(".__main__") if spec is not None else Path(getattr(main, "__file__", "") or "").stem
    return name[:_LONGEST_NAME] if name.isprintable() and name else "python"


def checked_name(name: str, what: str, longest: int = _LONGEST_NAME) -> str:
    """A name that fits into one line of a prompt. Raises ValueError."""
    if not name.isprintable() or not name.strip() or len(name) > longest:
        raise ValueError(f"{what} must be a text of 1 to {longest} printable characters")
    return name


def session() -> str:
    """A name for this process that no other process has, so that it can be found out whether it is still running."""
    return f"{socket.gethostname()[:_LONGEST_HOST]}/{os.getpid()}/{_started(os.getpid())}"


def is_running(name: str) -> bool:
    """Whether the process with this session may still be running. One on another machine may be."""
    host, _, rest = name.rpartition("/")[0].rpartition("/")[0], "", name.split("/")[-2:]
    if len(rest) != 2 or not rest[0].isdecimal():
        return False
    if host != socket.gethostname()[:_LONGEST_HOST]:
        return True
    pid = int(rest[0])
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return rest[1] == _started(pid)


def _started(pid: int) -> str:
    """When a process was started, in the units of its system; "0" where that is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return fields[19] if fields[0] != "Z" else "ended"
    except (OSError, IndexError):
        return "0"
