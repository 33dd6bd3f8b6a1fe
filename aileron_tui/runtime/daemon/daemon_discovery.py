"""Which daemon to talk to: the one that was named, else the one of the environment, else the one that runs here.

A daemon has a new port and a new token each time it starts, so this is asked anew for every connection. None is ever
started. A token goes only where it belongs: to the address it was given for, and never in the clear over a network.
"""

import os
import re
import socket
import stat
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Final, NoReturn

from aileron_tui.core.address import Address, BadAddress, read_address
from aileron_tui.core.jsontext import JsonError, JsonObject, read_object
from aileron_tui.core.values import dataclass
from aileron_tui.files.private_files import PrivateFileError, read_private
from aileron_tui.runtime.errors import NoGate

URL_VARIABLE: Final = "AILERON_API_URL"
TOKEN_VARIABLE: Final = "AILERON_TOKEN"  # noqa: S105  # the name of a variable
FOLDER: Final = ".aileron"
FILE: Final = "daemon.json"
START: Final = "Start it with `aileron daemon start`. `aileron-tui doctor` says what was tried."

_TOKEN: Final = re.compile(r"[!-~]+", re.ASCII)
_LARGEST: Final = 64 * 1024
_LARGEST_TOKEN: Final = 4096
_LARGEST_PID: Final = 2**31 - 1
_HERE_SECONDS: Final = 0.2
_ELSEWHERE_SECONDS: Final = 3.0
_WRITE_URL: Final = "Write it as http://127.0.0.1:54321, with or without /v1."


class NoDaemonReason(StrEnum):
    """Why there is no daemon to talk to."""

    ABSENT = "absent"  # none was named and none runs here
    LEFT_OVER = "left over"  # the one that ran here is gone, and its file was left
    UNANSWERED = "unanswered"  # nobody answers where one was said to be
    UNUSABLE = "unusable"  # what was said of it cannot be used


class NoDaemon(NoGate):
    """None was found; the detail says what was tried."""

    def __init__(self, why: NoDaemonReason, title: str, detail: str = "", hint: str = START) -> None:
        super().__init__(title, detail, hint)
        self.why = why


@dataclass(frozen=True, slots=True)
class NamedDaemon:
    """The daemon that was named by an option or in the configuration; at most one way to its token."""

    url: str = ""
    token_file: Path | None = None
    token_env: str = ""


ANY: Final = NamedDaemon()


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that answers. What it wrote of itself is known only of one that runs here."""

    url: str
    token: str = field(default="", repr=False)
    how: str = ""
    started_at: str = ""
    pid: int = 0
    version: str = ""

    @property
    def private(self) -> bool:
        """Whether nobody on the way can read what is sent there: no secret may go where this is false."""
        return read_address(self.url).is_confidential


class StepOutcome(StrEnum):
    """What came of a step."""

    TAKEN = "taken"
    PASSED = "passed"  # nothing there, or not needed
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One thing that was looked at. The words may hold foreign text; never a token."""

    about: str
    outcome: StepOutcome
    words: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class DaemonSearch:
    """Every step of looking for a daemon, and what it came to: exactly one of `daemon` and `fault`."""

    steps: tuple[SearchStep, ...]
    daemon: Daemon | None = None
    fault: NoDaemon | None = None


def find(wanted: NamedDaemon = ANY, env: Mapping[str, str] = os.environ, home: Path | None = None) -> Daemon:
    """The daemon to talk to, alive a moment ago."""
    found = search(wanted, env, home)
    if found.daemon is None:
        raise found.fault or NoDaemon(NoDaemonReason.ABSENT, "no daemon was found")
    return found.daemon


def trail(
    wanted: NamedDaemon = ANY, env: Mapping[str, str] = os.environ, home: Path | None = None
) -> tuple[SearchStep, ...]:
    """Every step of looking for one, in words."""
    return search(wanted, env, home).steps


def search(wanted: NamedDaemon = ANY, env: Mapping[str, str] = os.environ, home: Path | None = None) -> DaemonSearch:
    """The daemon, or why there is none, and the way there."""
    walk = _Walk(wanted, env, daemon_file(env, home))
    try:
        daemon = walk.find()
    except NoDaemon as fault:
        return DaemonSearch(tuple(walk.steps), fault=fault)
    return DaemonSearch(tuple(walk.steps), daemon)


def daemon_file(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Where a daemon writes how it is reached; nothing but the user's home changes that."""
    return (home or Path(env.get("HOME") or Path.home())) / FOLDER / FILE


@dataclass(frozen=True, slots=True)
class _Written:
    """What a daemon wrote of itself."""

    address: Address
    token: str = field(default="", repr=False)
    started_at: str = ""
    pid: int = 0
    version: str = ""


class _Walk:
    """One search, step by step."""

    def __init__(self, wanted: NamedDaemon, env: Mapping[str, str], file: Path) -> None:
        self.steps: list[SearchStep] = []
        self._wanted = wanted
        self._env = env
        self._file = file

    def find(self) -> Daemon:
        """Walks to the end, or to the first thing that cannot be used."""
        named = self._address("named address", self._wanted.url)
        inherited = self._address(URL_VARIABLE, self._env.get(URL_VARIABLE, ""), needed=named is None)
        address, how = named or inherited, "named" if named else URL_VARIABLE
        written = self._written(address)
        if written is not None and (address is None or address.matches(written.address)):
            how = how if address else str(self._file)
            address, known = written.address, written
        elif address is not None:
            known = _Written(address)
        else:
            self._give_up(NoDaemonReason.ABSENT, "no daemon is running here")
        token = self._token(address, known, inherited, named=named is not None)
        self._check_private(address, token)
        self._check_process(known, how)
        self._check_answers(address, how)
        return Daemon(address.url, token, how, known.started_at, known.pid, known.version)

    def _address(self, about: str, text: str, *, needed: bool = True) -> Address | None:
        if not text.strip():
            self._step(about, StepOutcome.PASSED, "none" if about != URL_VARIABLE else "not set")
            return None
        if not needed:
            self._step(about, StepOutcome.PASSED, "set, but another was named")
            try:
                return read_address(text)
            except BadAddress:
                return None
        try:
            address = read_address(text)
        except BadAddress as error:
            self._fail(about, "this is not the address of a daemon", str(error), _WRITE_URL)
        self._step(about, StepOutcome.TAKEN, address.url)
        return address

    def _written(self, address: Address | None) -> _Written | None:
        """What the daemon of this home wrote. Where another was named, a file that cannot be used does not matter."""
        about = str(self._file)
        if not os.path.lexists(self._file):
            self._step(about, StepOutcome.PASSED, "there is none")
            return None
        try:
            written = _read(self._file)
        except (PrivateFileError, JsonError, BadAddress) as error:
            if address is not None:
                self._step(about, StepOutcome.PASSED, f"cannot be used: {error}")
                return None
            mend = (error.hint if isinstance(error, PrivateFileError) else "") or "Start the daemon again."
            self._fail(about, "the file that says where the daemon is cannot be used", str(error), mend)
        told = ", ".join(
            filter(
                None,
                (
                    written.address.url,
                    f"process {written.pid}" if written.pid else "",
                    f"version {written.version}" if written.version else "",
                    f"since {written.started_at}" if written.started_at else "",
                    "with a token" if written.token else "without a token",
                ),
            )
        )
        if address is None or address.matches(written.address):
            self._step(about, StepOutcome.TAKEN, told)
        else:
            self._step(about, StepOutcome.PASSED, f"it is about another: {told}")
        return written

    def _token(self, address: Address, known: _Written, inherited: Address | None, *, named: bool) -> str:
        """The token that belongs to this address."""
        wanted, variable = self._wanted, self._env.get(TOKEN_VARIABLE, "").strip()
        if wanted.token_file is not None and wanted.token_env:
            self._fail("token", "a token from two places", "a file and a variable were named", "Name only one.")
        if wanted.token_file is not None:
            about = f"token in {wanted.token_file}"
            try:
                text = read_private(_expanded(wanted.token_file), _LARGEST_TOKEN).decode("latin-1").strip()
            except PrivateFileError as error:
                self._fail(about, "the daemon's token cannot be read", str(error), error.hint)
            return self._checked(about, text)
        if wanted.token_env:
            return self._checked(f"token in {wanted.token_env}", self._env.get(wanted.token_env, "").strip())
        # A token in the environment is for the daemon of the environment, or for the one that runs here.
        ours = not named or (inherited is not None and inherited.matches(address))
        if variable and ours:
            return self._checked(TOKEN_VARIABLE, variable)
        self._step(TOKEN_VARIABLE, StepOutcome.PASSED, "set, but for another daemon" if variable else "not set")
        if known.token:
            return self._checked(f"token in {self._file}", known.token)
        self._step("token", StepOutcome.PASSED, "none: the daemon must need none")
        return ""

    def _checked(self, about: str, token: str) -> str:
        if not token:
            self._fail(about, "there is no token where it should be", "it is empty or not set", "Put the token there.")
        if len(token) > _LARGEST_TOKEN or not _TOKEN.fullmatch(token):
            words = "it is too long, or holds more than letters, digits and signs"
            self._fail(about, "what should be the daemon's token is none", words, "Put the token there, and only it.")
        self._step(about, StepOutcome.TAKEN, "used")
        return token

    def _check_private(self, address: Address, token: str) -> None:
        if token and not address.is_confidential:
            self._fail(
                address.url,
                "the token would cross the network in the clear",
                f"{address.url} is on another machine and not encrypted",
                "Go through an ssh tunnel (ssh -L 54321:127.0.0.1:PORT host, then http://127.0.0.1:54321), or https.",
            )

    def _check_process(self, known: _Written, how: str) -> None:
        if not known.pid:
            return
        about = f"process {known.pid}"
        if not _alive(known.pid):
            self._silent(about, "the daemon is not running", f"it is gone, and left {self._file} behind", how)
        self._step(about, StepOutcome.TAKEN, "runs")

    def _check_answers(self, address: Address, how: str) -> None:
        seconds = _HERE_SECONDS if address.is_local else _ELSEWHERE_SECONDS
        try:
            socket.create_connection((address.host, address.port), timeout=seconds).close()
        except (OSError, UnicodeError) as error:
            reason = "no answer in time" if isinstance(error, TimeoutError) else _reason(error)
            self._silent(address.url, f"nobody answers at {address.url}", reason, how)
        self._step(address.url, StepOutcome.TAKEN, "answers")

    def _silent(self, about: str, title: str, words: str, how: str) -> NoReturn:
        """A daemon that is not there. What was said of it on purpose is not passed over."""
        match how:
            case "named":
                self._fail(
                    about,
                    title,
                    words,
                    "Look whether it runs there, and at the tunnel to it.",
                    NoDaemonReason.UNANSWERED,
                )
            case "AILERON_API_URL":
                words = f"{words}; {URL_VARIABLE} names it"
                self._fail(
                    about, title, words, f"Start the daemon there, or unset {URL_VARIABLE}.", NoDaemonReason.UNANSWERED
                )
            case _:
                self._fail(about, title, words, START, NoDaemonReason.LEFT_OVER)

    def _step(self, about: str, outcome: StepOutcome, words: str, mend: str = "") -> None:
        self.steps.append(SearchStep(about, outcome, words, mend))

    def _fail(
        self, about: str, title: str, words: str, mend: str, why: NoDaemonReason = NoDaemonReason.UNUSABLE
    ) -> NoReturn:
        self._step(about, StepOutcome.FAILED, f"{title}: {words}", mend)
        raise NoDaemon(why, title, f"{about}: {words}" if about not in title else words, mend)

    def _give_up(self, why: NoDaemonReason, title: str) -> NoReturn:
        tried = "; ".join(f"{step.about}: {step.words}" for step in self.steps)
        raise NoDaemon(why, title, tried)


def _expanded(path: Path) -> Path:
    """The path with a leading `~` as the user's own home; `~other` is a name like any other."""
    return path.expanduser() if path.parts[:1] == ("~",) else path


def _read(file: Path) -> _Written:
    _check_folder(file.parent)
    fields = read_object(read_private(file, _LARGEST))
    url, token = fields.get("url"), fields.get("token")
    if not isinstance(url, str):
        raise BadAddress("it does not say where the daemon is")
    if token is not None and not isinstance(token, str):
        raise BadAddress("the token in it is not one")
    pid = fields.get("pid")
    usable = isinstance(pid, int) and not isinstance(pid, bool) and 0 < pid <= _LARGEST_PID
    return _Written(
        read_address(url),
        (token or "").strip(),
        _text(fields, "started_at"),
        pid if usable and isinstance(pid, int) else 0,
        _text(fields, "version"),
    )


def _text(fields: JsonObject, name: str) -> str:
    value = fields.get(name)
    return value[:100] if isinstance(value, str) else ""


def _check_folder(folder: Path) -> None:
    """Refuses a folder in which another user could put a file in place of the daemon's. Reading it does no harm."""
    try:
        status = folder.stat()
    except OSError as error:
        raise PrivateFileError(f"cannot use the folder {folder}", _reason(error)) from None
    if status.st_uid != os.geteuid():
        raise PrivateFileError(f"{folder} belongs to another user", f"user {status.st_uid}")
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o022:
        raise PrivateFileError(f"{folder} is open to others", f"its mode is {mode:03o}", f"chmod 700 {folder}")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # another user's: the daemon of this home runs as we do
    return True


def _reason(error: OSError | UnicodeError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
