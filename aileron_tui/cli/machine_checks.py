"""The checks of `doctor` on this machine: terminal, configuration, folders, keys and ledgers."""

import os
import platform
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from aileron_tui import __version__
from aileron_tui.cli.output import counted
from aileron_tui.core.entry_chain import ChainWalker
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.config import SECURITY_KEY, Config
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import Paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.ledger.errors import LedgerOlder
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.daemon.daemon_discovery import daemon_file
from aileron_tui.signing import key_store
from aileron_tui.surface.key_enrolment import read_approvers

DAEMONS: Final = "daemons"

_FEWEST_COLUMNS: Final = 40
_FEWEST_LINES: Final = 15
_MULTIPLEXERS: Final = {"TMUX": "tmux", "STY": "screen", "ZELLIJ": "zellij"}
_NEEDED: Final = {"passphrase": "the passphrase", SECURITY_KEY: "a security key"}
"""What cannot be typed by another program, by the ways to confirm high risk."""

_CREATE_KEY: Final = "Create one with `aileron-tui key init`."


class Status(StrEnum):
    """The result of a check. Only FAIL means that something cannot work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One check and how to fix what it found. The texts may contain foreign text; `detail` may have several lines."""

    id: str
    status: Status
    words: str
    detail: str = ""
    fix: str = ""


def failed(id_: str, error: AileronError, fix: str) -> Check:
    """A check that failed with an error; `fix` is used if the error has no hint."""
    return Check(id_, Status.FAIL, error.title, error.detail, error.hint or fix)


def program() -> Check:
    """The versions of the program and of Python."""
    words = f"aileron-tui {__version__}, Python {platform.python_version()} on {platform.system()}"
    return Check("program", Status.OK, words)


def terminal(env: Mapping[str, str]) -> Check:
    """Whether the console can run in this terminal."""
    size = _size()
    if size is None:
        words, fix = "not a terminal; the console needs one", "Open the console in a terminal."
        return Check("terminal", Status.WARN, words, fix=fix)
    words = f"{size.columns}×{size.lines}, {_colours(env)}"
    if env.get("TERM", "dumb") == "dumb":
        fix = "Set TERM to the type of your terminal, such as xterm-256color."
        return Check("terminal", Status.WARN, f"{words}; its type is unknown", fix=fix)
    if "utf" not in (sys.stdout.encoding or "").lower():
        fix = "Set LC_ALL or LANG to a UTF-8 locale, such as C.UTF-8."
        return Check("terminal", Status.WARN, f"{words}; the encoding is not UTF-8", fix=fix)
    if size.columns < _FEWEST_COLUMNS or size.lines < _FEWEST_LINES:
        fix = f"Make it at least {_FEWEST_COLUMNS}×{_FEWEST_LINES}."
        return Check("terminal", Status.WARN, f"{words}: too small for the console", fix=fix)
    return Check("terminal", Status.OK, words)


def multiplexer(env: Mapping[str, str], config: Config | None) -> Iterator[Check]:
    """Whether other programs can type into this terminal."""
    name = next((name for variable, name in _MULTIPLEXERS.items() if env.get(variable)), "")
    if not name:
        return
    if config and (needed := _NEEDED.get(config.policy.high_risk)):
        words = f"running in {name}; high-risk approvals need {needed}"
        yield Check("multiplexer", Status.OK, words)
        return
    yield Check(
        "multiplexer",
        Status.WARN,
        f"this terminal runs in {name}: any program of yours can type into it, including agents",
        fix='Run agents as another user, or set high_risk = "passphrase" or "key" under [policy].',
    )


def configuration(path: Path) -> tuple[Check, Config | None]:
    """Whether the configuration is valid, and the configuration if it is."""
    try:
        config = load_config(path)
        _check_console(config)
    except AileronError as error:
        return failed("config", error, f"Fix {path}, or move it away."), None
    if not path.exists():
        return Check("config", Status.OK, f"no file {path}; using the defaults"), config
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o022:
        words = f"other users can change {path}: its mode is {mode:03o}"
        return Check("config", Status.WARN, words, fix=f"chmod 600 {path}"), config
    return Check("config", Status.OK, str(path)), config


def folders(here: Paths) -> Iterator[Check]:
    """Whether the private folders are private."""
    for name, path in (("data", here.data), ("keys", here.keys), ("cache", here.cache)):
        if not os.path.lexists(path):
            yield Check(f"folder.{name}", Status.OK, f"{path} does not exist yet")
            continue
        try:
            private_folder(path)
        except AileronError as error:
            yield failed(f"folder.{name}", error, f"Check {path}.")
            continue
        yield Check(f"folder.{name}", Status.OK, str(path) + (_compiled(path) if name == "cache" else ""))
    yield from _shared_folder()


def signing_keys(here: Paths) -> Check:
    """Whether there is a key to sign answers with."""
    try:
        stored = key_store.stored(here.keys)
    except AileronError as error:
        return failed("keys", error, f"Check {here.keys}.")
    if not stored:
        return Check("keys", Status.WARN, "no key to sign answers with", fix=_CREATE_KEY)
    words = ", ".join(f"{key.name} ({key.protection})" for key in stored)
    insecure = next((key for key in stored if key.insecure), None)
    if insecure:
        fix = f"Protect it with `aileron-tui key passphrase {insecure.name}`."
        return Check("keys", Status.WARN, words, "anyone who can read its file can approve", fix)
    return Check("keys", Status.OK, words)


def enrolment(here: Paths, id_: str) -> Check:
    """Whether a key on this machine may approve on the gate of this home."""
    try:
        stored = key_store.stored(here.keys)
        approvers = read_approvers(here.data)
    except AileronError as error:
        return failed(id_, error, "Run `aileron-tui history verify`.")
    allowed = {approver.public.fingerprint for approver in approvers.active}
    mine = [key.name for key in stored if key.public.fingerprint in allowed]
    if mine:
        return Check(id_, Status.OK, f"{', '.join(mine)} may approve here")
    if not stored:
        return Check(id_, Status.WARN, "no key on this machine may approve here", fix=_CREATE_KEY)
    file = stored[0].path.with_suffix(".pub")
    fix = f"Enroll it with `aileron-tui key enroll {file} --name {stored[0].name}`."
    return Check(id_, Status.WARN, "no key on this machine may approve here", fix=fix)


def ledgers(here: Paths) -> Iterator[Check]:
    """Whether the end of each ledger is intact. Only `history verify` checks all entries."""
    yield _ledger("ledger", here.data / FILE, "aileron-tui history verify")
    for path in sorted((here.data / DAEMONS).glob(f"*/{FILE}")):
        yield _ledger(f"ledger.{path.parent.name}", path, f"aileron-tui history verify --source {path.parent.name}")


def _shared_folder() -> Iterator[Check]:
    """The folder that we share with a daemon. The daemon creates it."""
    folder = daemon_file().parent
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return
    if mode & 0o077:
        words = f"other users can open {folder}: its mode is {mode:03o}"
        yield Check("folder.aileron", Status.WARN, words, fix=f"chmod 700 {folder}")
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
        return failed(id_, error, f"Run `{verify}`.")
    if noted and noted.seq > head.seq:
        words = f"the last {noted.seq - head.seq:,} entries are missing"
        return Check(id_, Status.FAIL, words, str(path), f"Run `{verify}`. Restore the file from a backup.")
    walker = ChainWalker()
    if len(last) > 1:
        walker = ChainWalker(f"sha256:{last[0][2].hex()}", last[0][0])
    for seq, data, hash_ in last[-1:]:
        fault = walker.check(seq, data, f"sha256:{hash_.hex()}")
        if fault:
            return Check(id_, Status.FAIL, f"entry {seq}: {fault.damage}", str(path), f"Run `{verify}`.")
    return Check(
        id_, Status.OK, f"{counted(head.seq, 'entry', 'entries')}, the last one is intact; `{verify}` checks all"
    )


def _check_console(config: Config) -> None:
    """Checks the settings that only the console can check. It is slow to load, so it is loaded only if they are set."""
    console = config.console
    if console.keys:
        from aileron_tui.console.keymap import checked_keymap  # noqa: PLC0415

        checked_keymap(console.keys)
    if console.theme:
        from aileron_tui.console.settings import THEMES  # noqa: PLC0415

        if console.theme not in THEMES:
            raise AileronError(f'unknown theme "{console.theme}"', hint=f"Use one of {', '.join(THEMES)}.")


def _size() -> os.terminal_size | None:
    descriptors: list[Callable[[], int]] = [stream.fileno for stream in (sys.stdout, sys.stderr, sys.stdin) if stream]
    for descriptor in descriptors:
        try:
            return os.get_terminal_size(descriptor())
        except (OSError, ValueError):
            continue
    return None


def _colours(env: Mapping[str, str]) -> str:
    if env.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if env.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "true colour"
    return "256 colours" if "256" in env.get("TERM", "") else "16 colours"


def _compiled(folder: Path) -> str:
    compiled = list(folder.rglob("*.cwasm"))
    return f", {counted(len(compiled), 'compiled connector')}" if compiled else ", empty"
