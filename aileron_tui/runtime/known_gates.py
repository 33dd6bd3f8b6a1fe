"""The gates known by address, like ssh's known hosts: a gate is remembered at first use and must not change later.

To open a session we sign a challenge that names the gate by its ledger. A hostile gate could forward the challenge of
another gate where the same key may approve, and use the signature there. So a gate that is known at one address is not
trusted at another, and no other gate is trusted at its address. The addresses themselves are not signed: behind a
tunnel or a proxy, a gate does not know the address it is reached by.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import JsonError, read_object
from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import private_folder, read_private, write_private
from aileron_tui.runtime.errors import NoGate, UntrustedGate
from aileron_tui.runtime.gate_discovery import discover

FILE: Final = "known-gates.json"

_LARGEST: Final = 1024 * 1024
_LEDGER: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MOVE: Final = "Move this file away. Each gate will be remembered again the next time you use it."


def remember(url: str, ledger: str, instance: str, data: Path | None = None) -> None:
    """Checks the gate at an address and remembers it if it is new; raises UntrustedGate if it has changed."""
    folder = data or paths().data
    if check(url, ledger, instance, folder):
        return
    with _locked(private_folder(folder)):
        if not check(url, ledger, instance, folder):
            known = _read(folder / FILE) | {url: ledger}
            write_private(folder / FILE, json.dumps({"gates": known}, indent=2).encode() + b"\n", replace=True)


def check(url: str, ledger: str, instance: str, data: Path | None = None) -> bool:
    """Whether this gate is known at this address; raises UntrustedGate if another one is."""
    if not _LEDGER.fullmatch(ledger):  # a gate must not fill the file with long text
        raise UntrustedGate(f"the gate at {url} did not send a valid ledger id")
    folder = data or paths().data
    path = folder / FILE
    known = _read(path)
    if known.get(url, ledger) != ledger:
        raise UntrustedGate(
            f"the gate at {url} has changed",
            f"its ledger begins with {ledger}, not {known[url]}",
            f"If you replaced this gate, remove its address from {path}.",
        )
    elsewhere = [where for where, which in known.items() if which == ledger and where != url]
    with suppress(NoGate):
        here = discover(data=folder)
        elsewhere += [here.url] if here.instance == instance and here.url != url else []
    if elsewhere:
        raise UntrustedGate(
            f"the gate at {url} claims to be the gate at {elsewhere[0]}",
            "it may be forwarding that gate's challenge to open a session there with your signature",
            f"Use {elsewhere[0]}. If you moved the gate, remove that address from {path}.",
        )
    return url in known


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks the folder, so that two processes can remember gates at the same time without losing one."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        gates = read_object(read_private(path, _LARGEST)).get("gates")
    except JsonError as error:
        raise UntrustedGate("the list of known gates cannot be read", f"{path}: {error}", _MOVE) from None
    if not isinstance(gates, dict):
        raise UntrustedGate("the list of known gates cannot be read", f'{path} has no "gates" object', _MOVE)
    return {url: str(ledger) for url, ledger in gates.items()}
