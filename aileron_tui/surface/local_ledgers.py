"""The ledgers of this home: the gate's, and one for each daemon or opencode server that we have connected to."""

import os
from collections.abc import Mapping
from pathlib import Path

from aileron_tui.core.values import dataclass
from aileron_tui.files.config import GATE, Config
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


def checkpoint_folder() -> Path:
    """The folder with the checkpoints of verifications, apart from the ledgers."""
    return paths().cache / "verified"


def daemon_ledgers() -> dict[str, Path]:
    """The paths of the daemons' ledgers by source name, including those whose file is missing."""
    folders = sorted((paths().data / DAEMONS).glob("*/"))
    return {folder.name: folder / FILE for folder in folders if _has_entries(folder / FILE)}


def choose_ledger(source: str | None, config: Config, env: Mapping[str, str] = os.environ) -> LocalLedger:
    """The ledger of the daemon with this name. Without a name, that of the source in use.

    That is the daemon that is configured or running, or else the gate, or else a daemon if it has the only ledger.
    """
    daemons = daemon_ledgers()
    names = ", ".join(daemons)
    if source == GATE and source not in daemons:
        return LocalLedger(gate_ledger())
    if source is not None:
        if source not in daemons:
            detail = f"the ledgers here are: {names}" if daemons else "no daemon has a ledger here yet"
            hint = "Use --source gate for the gate's history."
            raise LedgerError(f"no ledger for a daemon named {source}", detail, hint)
        return LocalLedger(daemons[source])
    if (used := _daemon_in_use(config, env)) is not None:
        other = "; use --source gate for the gate's" if _has_entries(gate_ledger()) else ""
        return LocalLedger(used / FILE, f"showing the ledger of the daemon in use, {used.name}{other}")
    if _has_entries(gate_ledger()):
        note = f"showing the gate's ledger; use --source for a daemon's: {names}" if daemons else ""
        return LocalLedger(gate_ledger(), note)
    if len(daemons) == 1:
        return LocalLedger(daemons[names], f"the gate has no ledger here; showing the ledger of {names}")
    note = f"the gate has no ledger here; use --source for a daemon's: {names}" if daemons else ""
    return LocalLedger(gate_ledger(), note)


def _daemon_in_use(config: Config, env: Mapping[str, str]) -> Path | None:
    """The folder of the only daemon that is used here, or None if a gate or several sources are."""
    from aileron_tui.runtime.daemon.daemon_discovery import NamedDaemon, NoDaemon, find  # noqa: PLC0415
    from aileron_tui.surface.source_connection import daemon_ledger_folder  # noqa: PLC0415

    if config.sources:
        only = config.sources[0] if len(config.sources) == 1 else None
        return paths().data / DAEMONS / only.name if only is not None and only.kind != GATE else None
    try:
        daemon = find(NamedDaemon(), env)
    except NoDaemon:
        return None
    folder = daemon_ledger_folder("", daemon)
    # What answers at an address in the environment may also be a gate, of which nothing is kept here.
    return folder if daemon.file is not None or _has_entries(folder / FILE) else None


def _has_entries(path: Path) -> bool:
    """Whether anything was ever recorded. The lock file remains if the ledger is deleted."""
    return path.exists() or path.is_symlink() or noted_head(lock_path(path)) is not None
