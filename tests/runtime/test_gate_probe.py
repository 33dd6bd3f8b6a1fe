"""Asking a gate whether it is there, by a bare socket."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aileron_tui.runtime.errors import InvalidReply, NoGate
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.runtime.gate_probe import GateProbe

HEALTH = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"service":"aileron","instance":"gate-1"}'


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Somebody who gives one answer to whatever is asked; the address, and what was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as client:
                asked.append(client.recv(4096))
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        thread.join()


@pytest.mark.parametrize("instance", ["", "gate-1"])
def test_the_gate_that_was_found_answers(instance: str) -> None:
    with answering(HEALTH) as (url, asked):
        assert GateProbe(FoundGate(url, instance)).verified_instance() == "gate-1"
    assert asked[0].startswith(b"GET /v1/health HTTP/1.0\r\nHost: 127.0.0.1:")


def test_another_gate_in_its_place_is_not_it() -> None:
    with answering(HEALTH) as (url, _), pytest.raises(NoGate):
        GateProbe(FoundGate(url, "gate-2")).verified_instance()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 404 Not Found\r\n\r\n" + HEALTH.partition(b"\r\n\r\n")[2],
        b"HTTP/1.1 200 OK\r\n\r\n{",
        b'HTTP/1.1 200 OK\r\n\r\n{"service":"other","instance":"gate-1"}',
    ],
)
def test_whatever_else_listens_there_is_no_gate(answer: bytes) -> None:
    with answering(answer) as (url, _), pytest.raises(InvalidReply):
        GateProbe(FoundGate(url, "gate-1")).verified_instance()


def test_nobody_there_is_no_gate() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NoGate):
        GateProbe(FoundGate(f"http://127.0.0.1:{port}"))
