"""Gates that were met before: the same at the same address, and nowhere else."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aileron_tui.files.private_files import PrivateFileError, write_private
from aileron_tui.runtime import known_gates
from aileron_tui.runtime.errors import UntrustedGate

HERE, THERE = "http://127.0.0.1:9000", "https://gate.example.com"
ONE, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def refused(data: Path, url: str, ledger: str, instance: str = "gate-1") -> UntrustedGate:
    with pytest.raises(UntrustedGate) as error:
        known_gates.remember(url, ledger, instance, data)
    return error.value


def test_a_gate_may_start_again_but_not_become_another(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert not known_gates.check(HERE, ONE, "gate-1", data)
    assert not data.exists()  # looking remembers nothing
    known_gates.remember(HERE, ONE, "gate-1", data)
    known_gates.remember(HERE, ONE, "gate-2", data)
    assert known_gates.check(HERE, ONE, "gate-3", data)
    assert (data / known_gates.FILE).stat().st_mode & 0o077 == 0
    error = refused(data, HERE, OTHER)
    assert "has changed" in error.title
    assert str(data / known_gates.FILE) in error.hint


def test_a_gate_is_not_believed_at_a_second_address(tmp_path: Path) -> None:
    known_gates.remember(HERE, ONE, "gate-1", tmp_path / "data")
    assert f"claims to be the gate at {HERE}" in refused(tmp_path / "data", THERE, ONE).title
    known_gates.remember(THERE, OTHER, "gate-2", tmp_path / "data")


def test_the_gate_of_this_home_is_nowhere_else(tmp_path: Path) -> None:
    data = tmp_path / "data"
    place = {"url": HERE, "instance": "gate-1", "agent_token_file": str(data / "agent.token")}
    write_private(data / "gate.json", json.dumps(place).encode())
    assert f"claims to be the gate at {HERE}" in refused(data, THERE, ONE).title
    known_gates.remember(THERE, OTHER, "gate-2", data)


@pytest.mark.parametrize("odd", [b"", b"[]", b"{}", b'{"gates": []}', b"\xff"])
def test_a_list_that_cannot_be_read_lets_nobody_in(tmp_path: Path, odd: bytes) -> None:
    write_private(tmp_path / "data" / known_gates.FILE, odd)
    assert "Move this file away" in refused(tmp_path / "data", HERE, ONE).hint


def test_a_list_that_others_can_write_lets_nobody_in(tmp_path: Path) -> None:
    known_gates.remember(HERE, ONE, "gate-1", tmp_path / "data")
    (tmp_path / "data" / known_gates.FILE).chmod(0o666)
    with pytest.raises(PrivateFileError):
        known_gates.remember(HERE, ONE, "gate-1", tmp_path / "data")


@pytest.mark.parametrize("odd", ["", "sha256:1", ONE + "\n", ONE.upper(), "x" * 2_000_000], ids=range(5))
def test_what_is_no_ledger_is_not_remembered(tmp_path: Path, odd: str) -> None:
    assert "did not send a valid ledger id" in refused(tmp_path / "data", HERE, odd).title
    known_gates.remember(THERE, ONE, "gate-1", tmp_path / "data")


def test_gates_that_are_met_at_once_are_all_remembered(tmp_path: Path) -> None:
    def met(number: int) -> None:
        known_gates.remember(
            f"https://gate-{number}.example.com", f"sha256:{number:064x}", f"gate-{number}", tmp_path / "data"
        )

    with ThreadPoolExecutor(8) as consoles:
        list(consoles.map(met, range(40)))
    assert len(json.loads((tmp_path / "data" / known_gates.FILE).read_bytes())["gates"]) == 40
