"""Where credentials come from: an environment variable, a command's output, or the keyring of the system.

A secret lives in an object that shows itself to no log, error or traceback; it is revealed in one place, where it is
put into a request.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import Final, NoReturn, TypeAlias

from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.failure import TIMEOUT, Boundary, CallRefused, Failure, FailureKind

_LARGEST: Final = 64 * 1024
_COMMAND_SECONDS: Final = 15.0
_KEPT_SECONDS: Final = 30.0


class Secret:
    """A text that is never shown; only `reveal` gives it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the wire."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not copied out of the process")


@dataclass(frozen=True, slots=True)
class FromEnvironment:
    """`env = "NAME"`."""

    name: str


@dataclass(frozen=True, slots=True)
class FromCommand:
    """`command = ["program", "argument", …]`, run without a shell; its standard output is the secret."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FromKeyring:
    """`keyring = "service/user"`."""

    service: str
    user: str


Source: TypeAlias = FromEnvironment | FromCommand | FromKeyring


@dataclass(frozen=True, slots=True)
class Binding:
    """`[connectors."fqn".credential]`: one source, and what AWS signatures need besides the secret."""

    source: Source
    region: str = ""
    access_key_id: str = ""


class Credentials:
    """The bindings of the configuration, resolved when a request first needs one. Safe to use from many threads."""

    def __init__(self, bindings: Mapping[str, Binding] | None = None) -> None:
        self._bindings = dict(bindings or {})
        self._locks = {name: threading.Lock() for name in self._bindings}
        self._kept: dict[str, tuple[float, Secret]] = {}

    def find(self, connector: str, kind: str, seconds: float) -> tuple[Binding, Secret]:
        """The binding of a connector and its secret; raises Refused where there is none or its source fails."""
        binding = self._bindings.get(connector)
        if binding is None:
            raise CallRefused(missing(connector, kind))
        return binding, self._secret(connector, kind, binding.source, seconds)

    def _secret(self, connector: str, kind: str, source: Source, seconds: float) -> Secret:
        match source:
            case FromEnvironment(name):
                text = os.environ.get(name, "")
                if not text.strip():
                    raise CallRefused(missing(connector, kind, f"the environment variable {name} is not set"))
                return _checked(connector, kind, text)
            case FromKeyring(service, user):
                return _checked(connector, kind, _from_keyring(connector, kind, service, user))
            case FromCommand(argv):
                return self._from_command(connector, kind, argv, seconds)

    def _from_command(self, connector: str, kind: str, argv: tuple[str, ...], seconds: float) -> Secret:
        """Commands may take a second and prompts come in bursts: one run serves the calls of the next moments."""
        end = time.monotonic() + seconds
        lock = self._locks[connector]
        if not lock.acquire(timeout=max(seconds, 0)):
            raise CallRefused(_failed(connector, "its command took too long", TIMEOUT))
        try:
            since, secret = self._kept.get(connector, (0.0, None))
            if secret is None or time.monotonic() - since > _KEPT_SECONDS:
                secret = _checked(connector, kind, _output(connector, argv, end - time.monotonic()))
                self._kept[connector] = time.monotonic(), secret
            return secret
        finally:
            lock.release()


def missing(connector: str, kind: str, why: str = "") -> Failure:
    """There is nothing to put into the request."""
    table = f'[connectors."{connector}".credential]'
    return Failure(
        FailureKind.BINDING_REQUIRED,
        f"no {kind} credential is set up for {connector}{f': {why}' if why else ''}; see {table} in the configuration",
        f"no credential is set up for {connector}" + (f" ({why})" if why else ""),
        Boundary.RUNTIME,
        details={"connector": connector, "kind": kind},
    )


def _failed(connector: str, why: str, reason: str = "") -> Failure:
    return Failure(
        FailureKind.BINDING_FAILED,
        f"the credential of {connector} cannot be had: {why}",
        reason or f"the credential of {connector} cannot be had: {why}",
        Boundary.RUNTIME,
        details={"connector": connector},
    )


def _checked(connector: str, kind: str, text: str) -> Secret:
    """A secret that fits into one header; the JSON of the AWS tools has lines and never goes on the wire itself."""
    text = text.strip()
    if not text:
        raise CallRefused(_failed(connector, "its source gave an empty text"))
    document = kind == "aws_sigv4" and text.startswith("{")
    if not document and not (text.isascii() and text.isprintable()):
        raise CallRefused(_failed(connector, "it holds a line break, a control character or a letter outside ASCII"))
    return Secret(text)


def _output(connector: str, argv: tuple[str, ...], seconds: float) -> str:
    """What a command prints. Neither its output nor what it says on stderr reaches an error or a log."""
    if not argv:
        raise CallRefused(_failed(connector, "its command is empty"))
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own configuration names the program; no shell is involved
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise CallRefused(_failed(connector, f"its command {argv[0]} cannot be run ({error.strerror})")) from None
    with process:
        try:
            output, _ = process.communicate(timeout=max(min(seconds, _COMMAND_SECONDS), 0))
        except subprocess.TimeoutExpired:
            _kill(process)
            raise CallRefused(_failed(connector, f"its command {argv[0]} took too long", TIMEOUT)) from None
    if process.returncode != 0:
        raise CallRefused(_failed(connector, f"its command {argv[0]} ended with exit code {process.returncode}"))
    if len(output) > _LARGEST:
        raise CallRefused(_failed(connector, f"its command {argv[0]} printed too much"))
    return output.decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _from_keyring(connector: str, kind: str, service: str, user: str) -> str:
    import keyring  # noqa: PLC0415 - looks for backends when imported
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        text = keyring.get_password(service, user)
    except KeyringError as error:
        raise CallRefused(
            _failed(connector, f"the keyring of this system is not usable ({type(error).__name__})")
        ) from None
    if text is None:
        raise CallRefused(missing(connector, kind, f"the keyring has no entry {service}/{user}"))
    return text
