"""Finding a gate, and saying what was tried when there is none."""

import json
from pathlib import Path

import pytest

from aileron_tui.files.private_files import write_private
from aileron_tui.runtime.errors import NoGate
from aileron_tui.runtime.gate_discovery import FoundGate, agent_token, discover

PLACE = {"url": "http://127.0.0.1:8722", "instance": "gate-1", "pid": 1, "version": "0", "started_at": "now"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    token = folder / "agent.token"
    write_private(token, b"secret\n")
    write_private(folder / "gate.json", json.dumps(PLACE | {"agent_token_file": str(token)}).encode())
    return folder


def test_the_gate_of_this_home(data: Path) -> None:
    found = discover(data=data)
    assert found == FoundGate("http://127.0.0.1:8722", "gate-1", data / "agent.token")
    assert agent_token(found) == "secret"


def test_a_named_gate_is_known_better_if_it_is_the_one_here(data: Path) -> None:
    assert discover("http://127.0.0.1:8722/", data).instance == "gate-1"
    assert discover("http://127.0.0.1:9999", data) == FoundGate("http://127.0.0.1:9999")
    assert discover("http://127.0.0.1:9999", data / "nothing") == FoundGate("http://127.0.0.1:9999")


def test_no_gate(tmp_path: Path) -> None:
    with pytest.raises(NoGate) as error:
        discover(data=tmp_path)
    assert str(tmp_path / "gate.json") in error.value.detail
    assert "aileron-tui gate" in error.value.hint


@pytest.mark.parametrize("odd", [b"", b"[]", b"{}", b'{"url": 1}', json.dumps(PLACE).encode()])
def test_a_file_that_makes_no_sense(tmp_path: Path, odd: bytes) -> None:
    write_private(tmp_path / "d" / "gate.json", odd)
    with pytest.raises(NoGate):
        discover(data=tmp_path / "d")


def test_a_file_that_others_could_have_written_is_not_believed(data: Path) -> None:
    (data / "gate.json").chmod(0o666)
    with pytest.raises(NoGate) as error:
        discover(data=data)
    assert "open to others" in error.value.detail


@pytest.mark.parametrize("content", [b"", b"\n", "é".encode()])
def test_a_token_that_cannot_be_one(data: Path, content: bytes) -> None:
    write_private(data / "agent.token", content, replace=True)
    with pytest.raises(NoGate):
        agent_token(discover(data=data))


def test_no_token_is_known_for_a_gate_elsewhere() -> None:
    with pytest.raises(NoGate) as error:
        agent_token(FoundGate("http://127.0.0.1:9999"))
    assert "--token-file" in error.value.hint


@pytest.mark.parametrize("url", ["127.0.0.1:8722", "ftp://x", "file:///etc/passwd"])
def test_an_address_must_be_one(url: str, tmp_path: Path) -> None:
    with pytest.raises(NoGate):
        discover(url, tmp_path)


@pytest.mark.parametrize("url", ["http://gate.example.com", "http://192.0.2.7:8722", "http://0.0.0.0:8722"])
def test_nothing_that_lets_one_in_goes_to_another_machine_in_the_clear(url: str, data: Path) -> None:
    with pytest.raises(NoGate) as error:
        discover(url, data)
    assert "unencrypted" in error.value.title
    assert "ssh tunnel" in error.value.hint
    assert "https" in error.value.hint
    assert discover(url.replace("http:", "https:"), data).url.startswith("https://")


def test_localhost_is_the_gate_of_this_home_too(data: Path) -> None:
    assert discover("http://localhost:8722", data).instance == "gate-1"


def test_a_gate_that_was_let_out_is_reached_from_its_own_machine(data: Path) -> None:
    def written(url: str) -> None:
        place = PLACE | {"agent_token_file": str(data / "agent.token"), "url": url}
        write_private(data / "gate.json", json.dumps(place).encode(), replace=True)

    written("http://0.0.0.0:8722")
    assert discover(data=data).instance == "gate-1"
    written("http://192.0.2.7:8722")  # an address for examples, which no machine has
    with pytest.raises(NoGate) as error:
        discover(data=data)
    assert "unencrypted" in error.value.title
