"""Which gate answers at an address: remembered when it is first met, and from then on it must be the same.

To be let in one signs a challenge that names the gate by its ledger. A hostile gate could pass on the challenge of
another, where the same key may approve, and use the signature there. So a gate that was met at one address is not
believed at another, and no other gate is believed at its address. The addresses themselves are not signed: at the end
of a tunnel or behind a proxy a gate does not know by which one it is reached.
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
from aileron_tui.runtime.errors import NoGate, Untrustworthy
from aileron_tui.runtime.gate_discovery import discover

FILE: Final = "known-gates.json"

_LARGEST: Final = 1024 * 1024
_LEDGER: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MOVE: Final = "Move it away; each gate is then met anew."


def meet(url: str, ledger: str, instance: str, data: Path | None = None) -> None:
    """Raises Untrustworthy if the gate at an address is not the one it must be; remembers one that is new."""
    folder = data or paths().data
    if check(url, ledger, instance, folder):
        return
    with _alone(private_folder(folder)):
        if not check(url, ledger, instance, folder):
            known = _read(folder / FILE) | {url: ledger}
            write_private(folder / FILE, json.dumps({"gates": known}, indent=2).encode() + b"\n", replace=True)


def check(url: str, ledger: str, instance: str, data: Path | None = None) -> bool:
    """Whether this gate was met at this address before; Untrustworthy if it is not the one it must be."""
    if not _LEDGER.fullmatch(ledger):  # one gate must not fill the list of all
        raise Untrustworthy(f"the gate at {url} does not name its ledger")
    folder = data or paths().data
    path = folder / FILE
    known = _read(path)
    if known.get(url, ledger) != ledger:
        raise Untrustworthy(
            f"another gate answers at {url} than before",
            f"its ledger begins with {ledger} instead of {known[url]}",
            f"If it was set up anew on purpose, take its address out of {path}.",
        )
    elsewhere = [where for where, which in known.items() if which == ledger and where != url]
    with suppress(NoGate):
        here = discover(data=folder)
        elsewhere += [here.url] if here.instance == instance and here.url != url else []
    if elsewhere:
        raise Untrustworthy(
            f"the gate at {url} says that it is the one at {elsewhere[0]}",
            "it may be passing on what that one says, to be let in there with your signature",
            f"Use {elsewhere[0]}. If the gate moved on purpose, take that address out of {path}.",
        )
    return url in known


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else remembers a gate meanwhile: several may be met at once, and none is to be lost."""
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
        raise Untrustworthy("the list of known gates cannot be read", f"{path}: {error}", _MOVE) from None
    if not isinstance(gates, dict):
        raise Untrustworthy("the list of known gates cannot be read", f"{path} has no gates", _MOVE)
    return {url: str(ledger) for url, ledger in gates.items()}
