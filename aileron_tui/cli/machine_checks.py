"""What `doctor` looks at on this machine: program, terminal, configuration, folders, keys, ledgers, manifests."""

import os
import platform
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from aileron_tui import __version__
from aileron_tui.core.entry_chain import ChainWalker
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Severity
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import Config
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import Paths, bundled
from aileron_tui.files.private_files import private_folder
from aileron_tui.ledger.errors import LedgerOlder
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.daemon.daemon_discovery import daemon_file
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers

DAEMONS: Final = "daemons"

_NARROWEST: Final = 40
_LOWEST: Final = 15
_MULTIPLEXERS: Final = {"TMUX": "tmux", "STY": "screen", "ZELLIJ": "zellij"}
_MAKE_KEY: Final = "`aileron-tui key init` makes one."


class Status(StrEnum):
    """How a check went. Only FAIL means that something cannot work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. The texts may hold foreign text; `detail` may have several lines."""

    id: str
    status: Status
    words: str
    detail: str = ""
    mend: str = ""


def failed(id_: str, error: AileronError, mend: str) -> Check:
    """The check that ended in this error; `mend` is what to do if the error does not know better."""
    return Check(id_, Status.FAIL, error.title, error.detail, error.hint or mend)


def program() -> Check:
    """What runs this."""
    words = f"aileron-tui {__version__}, Python {platform.python_version()} on {platform.system()}"
    return Check("program", Status.OK, words)


def terminal(env: Mapping[str, str]) -> Check:
    """Whether the console can draw here."""
    size = _size()
    if size is None:
        words, mend = "there is none here, and the console needs one", "Open the console in a terminal."
        return Check("terminal", Status.WARN, words, mend=mend)
    words = f"{size.columns}×{size.lines}, {_colours(env)}"
    if env.get("TERM", "dumb") == "dumb":
        mend = "Set TERM to what it is, such as xterm-256color."
        return Check("terminal", Status.WARN, f"{words}; its kind is not known", mend=mend)
    if "utf" not in (sys.stdout.encoding or "").lower():
        mend = "Set LC_ALL or LANG to a UTF-8 locale, such as C.UTF-8."
        return Check("terminal", Status.WARN, f"{words}; it is not set up for UTF-8", mend=mend)
    if size.columns < _NARROWEST or size.lines < _LOWEST:
        mend = f"Make it at least {_NARROWEST}×{_LOWEST}."
        return Check("terminal", Status.WARN, f"{words}: too small for the console", mend=mend)
    return Check("terminal", Status.OK, words)


def multiplexer(env: Mapping[str, str], config: Config | None) -> Iterator[Check]:
    """Whether somebody else could type into this terminal."""
    name = next((name for variable, name in _MULTIPLEXERS.items() if env.get(variable)), "")
    if not name:
        return
    if config and config.policy.high_risk == "passphrase":
        words = f"inside {name}; high-risk approvals ask for the passphrase"
        yield Check("multiplexer", Status.OK, words)
        return
    yield Check(
        "multiplexer",
        Status.WARN,
        f"this terminal is inside {name}: whatever runs as you can type into it, an agent too",
        mend='Keep agents out of your account, or set high_risk = "passphrase" under [policy].',
    )


def configuration(path: Path) -> tuple[Check, Config | None]:
    """Whether the configuration can be used, and what it says if so."""
    try:
        config = load_config(path)
        _check_console(config)
    except AileronError as error:
        return failed("config", error, f"Mend {path}, or move it away."), None
    if not path.exists():
        return Check("config", Status.OK, f"there is no {path}: the defaults hold"), config
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o022:
        words = f"{path} can be changed by others: its mode is {mode:03o}"
        return Check("config", Status.WARN, words, mend=f"chmod 600 {path}"), config
    return Check("config", Status.OK, str(path)), config


def folders(here: Paths) -> Iterator[Check]:
    """Whether what must be private is."""
    for name, path in (("data", here.data), ("keys", here.keys), ("cache", here.cache)):
        if not os.path.lexists(path):
            yield Check(f"folder.{name}", Status.OK, f"{path} is not made yet")
            continue
        try:
            private_folder(path)
        except AileronError as error:
            yield failed(f"folder.{name}", error, f"Look at {path}.")
            continue
        yield Check(f"folder.{name}", Status.OK, str(path) + (_compiled(path) if name == "cache" else ""))
    yield from _shared_folder()


def signing_keys(here: Paths) -> Check:
    """Whether there is a key to sign answers with."""
    try:
        stored = key_store.stored(here.keys)
    except AileronError as error:
        return failed("keys", error, f"Look at {here.keys}.")
    if not stored:
        return Check("keys", Status.WARN, "there is no key to sign answers with", mend=_MAKE_KEY)
    words = ", ".join(f"{key.name} ({key.protection})" for key in stored)
    insecure = next((key for key in stored if key.insecure), None)
    if insecure:
        mend = f"`aileron-tui key passphrase {insecure.name}` protects it."
        return Check("keys", Status.WARN, words, "whoever can read its file can approve", mend)
    return Check("keys", Status.OK, words)


def enrolment(here: Paths, id_: str) -> Check:
    """Whether a key of this machine may approve on the gate of this home."""
    try:
        stored = key_store.stored(here.keys)
        approvers = _approvers(here.data / FILE)
    except AileronError as error:
        return failed(id_, error, "`aileron-tui history verify` says more.")
    allowed = {approver.public.fingerprint for approver in approvers.active}
    mine = [key.name for key in stored if key.public.fingerprint in allowed]
    if mine:
        return Check(id_, Status.OK, f"{', '.join(mine)} may approve here")
    if not stored:
        return Check(id_, Status.WARN, "no key of this machine may approve here", mend=_MAKE_KEY)
    file = stored[0].path.with_suffix(".pub")
    mend = f"`aileron-tui key enroll {file} --name {stored[0].name}` lets it."
    return Check(id_, Status.WARN, "no key of this machine may approve here", mend=mend)


def ledgers(here: Paths) -> Iterator[Check]:
    """A quick look at the end of each ledger; only `history verify` reads all of it."""
    yield _ledger("ledger", here.data / FILE, "aileron-tui history verify")
    for path in sorted((here.data / DAEMONS).glob(f"*/{FILE}")):
        yield _ledger(f"ledger.{path.parent.name}", path, f"aileron-tui history verify --source {path.parent.name}")


def manifests() -> Check:
    """Whether the bundled manifests are whole."""
    from aileron_tui.files.manifest_files import read_folder  # noqa: PLC0415  # only here

    folder = bundled("manifests")
    found = read_folder(folder)
    count = found.count
    errors = sum(finding.severity is Severity.ERROR for finding in found.bundle().findings) + (not count)
    if errors:
        words, mend = f"{errors} errors in {folder}", "`aileron-tui lint` names them. Install the program again."
        return Check("manifests", Status.FAIL, words, mend=mend)
    return Check("manifests", Status.OK, f"{count} bundled, nothing wrong")


def publishers(here: Paths) -> Check:
    """Whether the list of trusted publishers can be read."""
    from aileron_tui.sandbox.connector_package import load_keyring  # noqa: PLC0415  # only here

    if not here.keyring.exists():
        return Check("publishers", Status.OK, "none are trusted by name; pins decide alone")
    try:
        load_keyring(here.keyring)
    except AileronError as error:
        return failed("publishers", error, f"Mend {here.keyring}, or move it away.")
    return Check("publishers", Status.OK, str(here.keyring))


def _shared_folder() -> Iterator[Check]:
    """The folder that we share with a daemon. It is the daemon's to make, so it may be missing or another's."""
    folder = daemon_file().parent
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return
    if mode & 0o077:
        words = f"{folder} is open to others: its mode is {mode:03o}"
        yield Check("folder.aileron", Status.WARN, words, mend=f"chmod 700 {folder}")
    else:
        yield Check("folder.aileron", Status.OK, str(folder))


def _ledger(id_: str, path: Path, verify: str) -> Check:
    if not path.exists():
        return Check(id_, Status.OK, "nothing recorded yet")
    try:
        with open_reader(path) as reader, reader.snapshot():
            head, noted = reader.head(), reader.noted()
            last = list(reader.rows(head.seq - 2))
    except LedgerOlder as error:
        return Check(id_, Status.WARN, error.title, error.detail, error.hint)
    except AileronError as error:
        return failed(id_, error, f"`{verify}` says more.")
    if noted and noted.seq > head.seq:
        words = f"{noted.seq - head.seq:,} entries at its end are missing"
        return Check(id_, Status.FAIL, words, str(path), f"`{verify}` says more. Look for a copy of the file.")
    walker = ChainWalker()
    if len(last) > 1:
        walker = ChainWalker(f"sha256:{last[0][2].hex()}", last[0][0])
    for seq, data, hash_ in last[-1:]:
        fault = walker.check(seq, data, f"sha256:{hash_.hex()}")
        if fault:
            return Check(id_, Status.FAIL, f"entry {seq}: {fault.damage}", str(path), f"`{verify}` says more.")
    return Check(id_, Status.OK, f"{head.seq:,} entries, the last is whole; `{verify}` checks all")


def _approvers(ledger: Path) -> Approvers:
    if not ledger.exists():
        return Approvers()
    with open_reader(ledger) as reader:
        return Approvers.of(reader.key_changes())


def _check_console(config: Config) -> None:
    """What only the console understands of its settings, asked only if there are any: it takes long to load."""
    console = config.console
    if console.keys:
        from aileron_tui.console.keymap import checked_keymap  # noqa: PLC0415

        checked_keymap(console.keys)
    if console.theme:
        from aileron_tui.console.settings import THEMES  # noqa: PLC0415

        if console.theme not in THEMES:
            raise AileronError(f'there is no theme "{console.theme}"', hint=f"Write one of {', '.join(THEMES)}.")


def _size() -> os.terminal_size | None:
    asked: list[Callable[[], int]] = [stream.fileno for stream in (sys.stdout, sys.stderr, sys.stdin) if stream]
    for descriptor in asked:
        try:
            return os.get_terminal_size(descriptor())
        except (OSError, ValueError):
            continue
    return None


def _colours(env: Mapping[str, str]) -> str:
    if env.get("NO_COLOR"):
        return "no colours, as NO_COLOR asks"
    if env.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "all colours"
    return "256 colours" if "256" in env.get("TERM", "") else "16 colours"


def _compiled(folder: Path) -> str:
    kept = list(folder.rglob("*.cwasm"))
    return f", {len(kept)} compiled connectors" if kept else ", empty"
