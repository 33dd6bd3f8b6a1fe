"""The vault of a daemon, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.daemon_client import DaemonClient, WrongPassphrase
from aileron_tui.runtime.daemon.daemon_discovery import Daemon
from aileron_tui.runtime.vault import VaultState
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import Console


@pytest.fixture
def client(daemon: FakeDaemon) -> Iterator[DaemonClient]:
    opened = DaemonClient(Daemon(daemon.url, daemon.token))
    yield opened
    opened.close()


def test_a_vault_that_is_unlocked_already_counts_as_unlocked(daemon: FakeDaemon, client: DaemonClient) -> None:
    client.unlock(bytearray(b"anything"))
    assert client.vault() is VaultState.UNLOCKED
    assert daemon.counters()["unlocks"] > 0


@pytest.mark.parametrize(
    ("vault", "passphrase", "words"),
    [
        ("missing", b"open sesame", "has no vault yet"),
        ("dev", b"open sesame", "has no vault of its own"),
        ("locked", b"", "the passphrase is empty"),
        ("locked", b"guess", "wrong passphrase"),
    ],
)
def test_why_a_vault_cannot_be_unlocked(
    daemon: FakeDaemon, client: DaemonClient, vault: str, passphrase: bytes, words: str
) -> None:
    daemon.switch(vault=vault)
    assert client.vault() is (VaultState.UNLOCKED if vault == "dev" else VaultState(vault))
    with pytest.raises(WrongPassphrase, match=words):
        client.unlock(bytearray(passphrase))


@pytest.mark.parametrize("kind", ["action", "comms_send", "http_request"])
def test_a_locked_vault_holds_only_actions(daemon: FakeDaemon, folder: Path, kind: str) -> None:
    daemon.switch(vault="locked")
    id_ = daemon.register(kind)
    with Console(daemon, folder) as console:
        console.decide(id_)
        if kind == "action":
            console.until(lambda: "vault is locked" in console.note(id_))
        else:
            console.until_state(id_, RequestState.EXECUTED)
