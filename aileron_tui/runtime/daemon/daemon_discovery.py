"""Finds the daemon to talk to: the one that was named, else the one in the environment, else the one running here.

A daemon has a new port and a new token each time it starts, so every connection searches again. No daemon is ever
started. A token is sent only to the address it was given for, and never unencrypted over a network.
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
START: Final = "Start it with `aileron daemon start`. `aileron-tui doctor` shows what was tried."

_TOKEN: Final = re.compile(r"[!-~]+", re.ASCII)
_LARGEST: Final = 64 * 1024
_LARGEST_TOKEN: Final = 4096
_LARGEST_PID: Final = 2**31 - 1
_HERE_SECONDS: Final = 0.2
_ELSEWHERE_SECONDS: Final = 3.0
_WRITE_URL: Final = "Write it as http://127.0.0.1:54321, with or without /v1."


class NoDaemonReason(StrEnum):
    """Why there is no daemon to talk to."""

    ABSENT = "absent"  # none was named and none is running here
    LEFT_OVER = "left over"  # it has stopped but its file still exists
    UNANSWERED = "unanswered"  # nothing answers at the given address
    UNUSABLE = "unusable"  # the given address, token or file cannot be used


class NoDaemon(NoGate):
    """No daemon was found; the detail says what was tried."""

    def __init__(self, why: NoDaemonReason, title: str, detail: str = "", hint: str = START) -> None:
        super().__init__(title, detail, hint)
        self.why = why


@dataclass(frozen=True, slots=True)
class NamedDaemon:
    """The daemon named by an option or in the configuration, with at most one place for its token."""

    url: str = ""
    token_file: Path | None = None
    token_env: str = ""


ANY: Final = NamedDaemon()


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that answers. `started_at`, `pid`, `version` and `file` are known only if it runs here.

    `file` is the file with its address, which a daemon replaces when it starts again.
    """

    url: str
    token: str = field(default="", repr=False)
    how: str = ""
    started_at: str = ""
    pid: int = 0
    version: str = ""
    file: Path | None = None

    @property
    def instance(self) -> str:
        """Identifies this run of the daemon, as far as it can be distinguished from others."""
        return f"{self.url} {self.started_at}".rstrip()

    @property
    def private(self) -> bool:
        """Whether nobody else can read what is sent to the daemon. If not, no secret may be sent."""
        return read_address(self.url).is_confidential


class StepOutcome(StrEnum):
    """The outcome of one step of the search."""

    TAKEN = "taken"  # used
    PASSED = "passed"  # nothing there, or not needed
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One place that was searched. `words` may contain foreign text, but never a token."""

    about: str
    outcome: StepOutcome
    words: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DaemonSearch:
    """Every step of a search, and its result: exactly one of `daemon` and `fault` is set."""

    steps: tuple[SearchStep, ...]
    daemon: Daemon | None = None
    fault: NoDaemon | None = None


def find(wanted: NamedDaemon = ANY, env: Mapping[str, str] = os.environ, home: Path | None = None) -> Daemon:
    """Returns the daemon to talk to, after checking that it answers; raises NoDaemon."""
    found = search(wanted, env, home)
    if found.daemon is None:
        raise found.fault or NoDaemon(NoDaemonReason.ABSENT, "no daemon was found")
    return found.daemon


def search_steps(
    wanted: NamedDaemon = ANY, env: Mapping[str, str] = os.environ, home: Path | None = None
) -> tuple[SearchStep, ...]:
    """Searches for the daemon and returns every step."""
    return search(wanted, env, home).steps


def search(wanted: NamedDaemon = ANY, env: Mapping[str, str] = os.environ, home: Path | None = None) -> DaemonSearch:
    """Searches for the daemon; returns it, or why none was found, with every step."""
    attempt = _Search(wanted, env, daemon_file(env, home))
    try:
        daemon = attempt.find()
    except NoDaemon as fault:
        return DaemonSearch(tuple(attempt.steps), fault=fault)
    return DaemonSearch(tuple(attempt.steps), daemon)


def was_replaced(daemon: Daemon) -> bool:
    """Whether another daemon has started since; False if that cannot be seen from here."""
    if daemon.file is None or not os.path.lexists(daemon.file):
        return False
    try:
        now = _read(daemon.file)
    except (PrivateFileError, JsonError, BadAddress):
        return False
    return (now.address.url, now.started_at, now.pid) != (daemon.url, daemon.started_at, daemon.pid)


def daemon_file(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """The file to which a daemon writes its address, in the user's home."""
    return (home or Path(env.get("HOME") or Path.home())) / FOLDER / FILE


@dataclass(frozen=True, slots=True)
class _DaemonFile:
    """The contents of the file that a daemon writes when it starts."""

    address: Address
    token: str = field(default="", repr=False)
    started_at: str = ""
    pid: int = 0
    version: str = ""


class _Search:
    """One search, step by step."""

    def __init__(self, wanted: NamedDaemon, env: Mapping[str, str], file: Path) -> None:
        self.steps: list[SearchStep] = []
        self._wanted = wanted
        self._env = env
        self._file = file

    def find(self) -> Daemon:
        """Searches every place; fails at the first address, file or token that cannot be used."""
        named = self._address("named address", self._wanted.url)
        from_env = self._address(URL_VARIABLE, self._env.get(URL_VARIABLE, ""), needed=named is None)
        address, how = named or from_env, "named" if named else URL_VARIABLE
        own = self._read_own_file(address)
        if own is not None and (address is None or address.matches(own.address)):
            how = how if address else str(self._file)
            address, known = own.address, own
        elif address is not None:
            known = _DaemonFile(address)
        else:
            self._fail_absent(NoDaemonReason.ABSENT, "no daemon is running here")
        token = self._token(address, known, from_env, named=named is not None)
        self._check_private(address, token)
        self._check_process(known, how)
        self._check_answers(address, how)
        file = self._file if known is own else None
        return Daemon(address.url, token, how, known.started_at, known.pid, known.version, file)

    def _address(self, about: str, text: str, *, needed: bool = True) -> Address | None:
        if not text.strip():
            self._step(about, StepOutcome.PASSED, "none" if about != URL_VARIABLE else "not set")
            return None
        if not needed:
            self._step(about, StepOutcome.PASSED, "set, but another daemon was named")
            try:
                return read_address(text)
            except BadAddress:
                return None
        try:
            address = read_address(text)
        except BadAddress as error:
            self._fail(about, "not a valid daemon address", str(error), _WRITE_URL)
        self._step(about, StepOutcome.TAKEN, address.url)
        return address

    def _read_own_file(self, address: Address | None) -> _DaemonFile | None:
        """Reads the file of the daemon in this home. If another daemon was named, an unusable file is ignored."""
        about = str(self._file)
        if not os.path.lexists(self._file):
            self._step(about, StepOutcome.PASSED, "not found")
            return None
        try:
            own = _read(self._file)
        except (PrivateFileError, JsonError, BadAddress) as error:
            if address is not None:
                self._step(about, StepOutcome.PASSED, f"cannot be used: {error}")
                return None
            hint = (error.hint if isinstance(error, PrivateFileError) else "") or "Start the daemon again."
            self._fail(about, "cannot use the daemon's address file", str(error), hint)
        summary = ", ".join(
            filter(
                None,
                (
                    own.address.url,
                    f"process {own.pid}" if own.pid else "",
                    f"version {own.version}" if own.version else "",
                    f"since {own.started_at}" if own.started_at else "",
                    "with a token" if own.token else "without a token",
                ),
            )
        )
        if address is None or address.matches(own.address):
            self._step(about, StepOutcome.TAKEN, summary)
        else:
            self._step(about, StepOutcome.PASSED, f"for another daemon: {summary}")
        return own

    def _token(self, address: Address, known: _DaemonFile, from_env: Address | None, *, named: bool) -> str:
        """The token for this address."""
        wanted, variable = self._wanted, self._env.get(TOKEN_VARIABLE, "").strip()
        if wanted.token_file is not None and wanted.token_env:
            self._fail("token", "the token is given twice", "both a file and a variable are named", "Name only one.")
        if wanted.token_file is not None:
            about = f"token in {wanted.token_file}"
            try:
                text = read_private(_with_home(wanted.token_file), _LARGEST_TOKEN).decode("latin-1").strip()
            except PrivateFileError as error:
                self._fail(about, "the daemon's token cannot be read", str(error), error.hint)
            return self._checked(about, text)
        if wanted.token_env:
            return self._checked(f"token in {wanted.token_env}", self._env.get(wanted.token_env, "").strip())
        # The token in the environment is for the daemon in the environment, or for the one running here.
        ours = not named or (from_env is not None and from_env.matches(address))
        if variable and ours:
            return self._checked(TOKEN_VARIABLE, variable)
        self._step(TOKEN_VARIABLE, StepOutcome.PASSED, "set, but for another daemon" if variable else "not set")
        if known.token:
            return self._checked(f"token in {self._file}", known.token)
        self._step("token", StepOutcome.PASSED, "none; works only if the daemon requires no token")
        return ""

    def _checked(self, about: str, token: str) -> str:
        if not token:
            self._fail(about, "the token is missing", "it is empty or not set", "Put the token there.")
        if len(token) > _LARGEST_TOKEN or not _TOKEN.fullmatch(token):
            words = "it is too long, or contains spaces or other characters that are not allowed in tokens"
            self._fail(about, "not a valid token", words, "Put the token there and nothing else.")
        self._step(about, StepOutcome.TAKEN, "used")
        return token

    def _check_private(self, address: Address, token: str) -> None:
        if token and not address.is_confidential:
            self._fail(
                address.url,
                "the token would be sent unencrypted over the network",
                f"{address.url} is on another machine and does not use https",
                "Use an ssh tunnel (ssh -L 54321:127.0.0.1:PORT host, then http://127.0.0.1:54321), or https.",
            )

    def _check_process(self, known: _DaemonFile, how: str) -> None:
        if not known.pid:
            return
        about = f"process {known.pid}"
        if not _alive(known.pid):
            self._fail_unanswered(
                about, "the daemon is not running", f"it has stopped and left {self._file} behind", how
            )
        self._step(about, StepOutcome.TAKEN, "running")

    def _check_answers(self, address: Address, how: str) -> None:
        seconds = _HERE_SECONDS if address.is_local else _ELSEWHERE_SECONDS
        try:
            socket.create_connection((address.host, address.port), timeout=seconds).close()
        except (OSError, UnicodeError) as error:
            reason = "timed out" if isinstance(error, TimeoutError) else _reason(error)
            self._fail_unanswered(address.url, f"cannot connect to {address.url}", reason, how)
        self._step(address.url, StepOutcome.TAKEN, "answers")

    def _fail_unanswered(self, about: str, title: str, words: str, how: str) -> NoReturn:
        """Fails because the daemon does not answer. An address that was given on purpose is never skipped."""
        match how:
            case "named":
                self._fail(
                    about,
                    title,
                    words,
                    "Check that the daemon is running, and check the tunnel to it.",
                    NoDaemonReason.UNANSWERED,
                )
            case "AILERON_API_URL":
                words = f"{words}; its address comes from {URL_VARIABLE}"
                self._fail(
                    about, title, words, f"Start the daemon there, or unset {URL_VARIABLE}.", NoDaemonReason.UNANSWERED
                )
            case _:
                self._fail(about, title, words, START, NoDaemonReason.LEFT_OVER)

    def _step(self, about: str, outcome: StepOutcome, words: str, hint: str = "") -> None:
        self.steps.append(SearchStep(about, outcome, words, hint))

    def _fail(
        self, about: str, title: str, words: str, hint: str, why: NoDaemonReason = NoDaemonReason.UNUSABLE
    ) -> NoReturn:
        self._step(about, StepOutcome.FAILED, f"{title}: {words}", hint)
        raise NoDaemon(why, title, f"{about}: {words}" if about not in title else words, hint)

    def _fail_absent(self, why: NoDaemonReason, title: str) -> NoReturn:
        tried = "; ".join(f"{step.about}: {step.words}" for step in self.steps)
        raise NoDaemon(why, title, tried)


def _with_home(path: Path) -> Path:
    """The path with a leading `~` replaced by the user's home; `~other` is an ordinary name."""
    return path.expanduser() if path.parts[:1] == ("~",) else path


def _read(file: Path) -> _DaemonFile:
    _check_folder(file.parent)
    fields = read_object(read_private(file, _LARGEST))
    url, token = fields.get("url"), fields.get("token")
    if not isinstance(url, str):
        raise BadAddress("it has no address")
    if token is not None and not isinstance(token, str):
        raise BadAddress("its token is not a string")
    pid = fields.get("pid")
    usable = isinstance(pid, int) and not isinstance(pid, bool) and 0 < pid <= _LARGEST_PID
    return _DaemonFile(
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
    """Refuses a folder in which another user could replace the daemon's file."""
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
        return False  # another user's process: the daemon of this home runs as this user
    return True


def _reason(error: OSError | UnicodeError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
