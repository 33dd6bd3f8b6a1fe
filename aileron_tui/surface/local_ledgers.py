"""The ledgers of this home: the gate's, and one for each daemon that we have connected to."""

from pathlib import Path

from aileron_tui.core.values import dataclass
from aileron_tui.files.paths import paths
from aileron_tui.ledger.errors import LedgerError
from aileron_tui.ledger.file_names import DAEMONS, FILE, lock_path
from aileron_tui.ledger.lock_file import noted_head


@dataclass(frozen=True, slots=True)
class LocalLedger:
    """A ledger file, which may not exist yet. `note` is about other ledgers, and may contain foreign text."""

    path: Path
    note: str = ""


def gate_ledger() -> Path:
    """The path of the gate's ledger."""
    return paths().data / FILE


def daemon_ledgers() -> dict[str, Path]:
    """The paths of the daemons' ledgers by source name, including those whose file is missing."""
    folders = sorted((paths().data / DAEMONS).glob("*/"))
    return {folder.name: folder / FILE for folder in folders if _has_entries(folder / FILE)}


def choose_ledger(source: str | None) -> LocalLedger:
    """The ledger of the daemon with this name. Without a name, the gate's, or a daemon's if it is the only ledger."""
    daemons = daemon_ledgers()
    names = ", ".join(daemons)
    if source is not None:
        if source not in daemons:
            detail = f"the ledgers here are: {names}" if daemons else "no daemon has a ledger here yet"
            raise LedgerError(f"no ledger for a daemon named {source}", detail, "Omit --source for the gate's history.")
        return LocalLedger(daemons[source])
    if _has_entries(gate_ledger()):
        note = f"showing the gate's ledger; use --source for a daemon's: {names}" if daemons else ""
        return LocalLedger(gate_ledger(), note)
    if len(daemons) == 1:
        return LocalLedger(daemons[names], f"the gate has no ledger here; showing the ledger of {names}")
    note = f"the gate has no ledger here; use --source for a daemon's: {names}" if daemons else ""
    return LocalLedger(gate_ledger(), note)


def _has_entries(path: Path) -> bool:
    """Whether anything was ever recorded. The lock file remains if the ledger is deleted."""
    return path.exists() or path.is_symlink() or noted_head(lock_path(path)) is not None
