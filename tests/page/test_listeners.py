"""The page is served at both loopback addresses or not at all, and nothing of it is loaded before it is used."""

import asyncio
import errno
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from aileron_tui.gate.server import ListenAddress, bind_with_page
from aileron_tui.page.offer import make_page
from tests.gate.conftest import GateEnv, run_async
from tests.gate.served_gate import error_code, served_gate
from tests.page.served_page import Tab, served_page


def test_both_addresses_serve_the_same_page(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            for address in ("127.0.0.1", "::1"):
                tab = page.tab.copy(address=address)
                assert (await tab.get("/page", sec_fetch_site="none")).status == 200
                assert (await tab.get("/page/waiting")).status == 200

    run_async(scenario())


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_another_program_at_the_other_address_turns_the_page_off(host: str) -> None:
    other = "::1" if host == "127.0.0.1" else "127.0.0.1"
    family = socket.AF_INET6 if ":" in other else socket.AF_INET
    with closing(socket.socket(family)) as impostor:
        impostor.bind((other, 0))
        impostor.listen()
        port = impostor.getsockname()[1]
        listeners, offer = bind_with_page(ListenAddress(host, port), make_page)
        try:
            assert len(listeners) == 1
            assert offer.make is None
            assert f"cannot listen on {'[::1]' if ':' in other else other}:{port}" in offer.why_not
            assert "another program is using this port" in offer.why_not
        finally:
            for listener in listeners:
                listener.close()


def test_without_ipv6_one_address_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutIpv6(socket.socket):
        def __init__(self, family: int = socket.AF_INET, *rest: int) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
            super().__init__(family, *rest)

    monkeypatch.setattr(socket, "socket", WithoutIpv6)
    (listener,), offer = bind_with_page(ListenAddress("127.0.0.1", 0), make_page)
    listener.close()
    assert offer.make is make_page


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (ListenAddress("127.0.0.1", 0, remote=True), "--allow-remote"),
        (ListenAddress("0.0.0.0", 0, remote=True), "--allow-remote"),
        (ListenAddress("127.0.0.5", 0), "127.0.0.5"),
    ],
)
def test_a_gate_that_others_may_reach_has_no_page(address: ListenAddress, words: str) -> None:
    (listener,), offer = bind_with_page(address, make_page)
    listener.close()
    assert offer.make is None
    assert words in offer.why_not


def test_nobody_else_can_listen_where_the_page_is(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_page(env) as page:
            for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                with closing(socket.socket(family)) as impostor:
                    impostor.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    with pytest.raises(OSError, match="in use"):
                        impostor.bind((address, page.served.port))

    run_async(scenario())


def test_without_a_page_the_command_is_told_why(env: GateEnv) -> None:
    async def scenario() -> None:
        async with served_gate(env) as served:
            reply = await served.approver.post("/v1/page/codes", json={"purpose": "open"})
            assert (reply.status_code, error_code(reply)) == (404, "no_page")
            assert (await Tab(served.port).get("/page")).code == "no_page"

    run_async(scenario())


def test_the_page_is_not_on_the_socket_for_approvers(env: GateEnv) -> None:
    async def scenario() -> None:
        from aileron_tui.gate.server import serving  # noqa: PLC0415

        async with env.gate() as gate, serving(gate, socket_folder=env.data, page=make_page):
            reader, writer = await asyncio.open_unix_connection(str(env.data / "gate.sock"))
            writer.write(b"GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b" 401 " in (await reader.read()).partition(b"\r\n")[0]
            writer.close()

    run_async(scenario())


def test_nothing_of_the_page_is_loaded_before_it_is_used() -> None:
    script = (
        "import sys, aileron_tui.cli.commands.gate, aileron_tui.surface.embedded_gate;"
        "print(*(name for name in sys.modules if name.split('.')[0] in ('jinja2', 'markupsafe', 'fido2')"
        " or name.startswith('aileron_tui.page.') and name != 'aileron_tui.page.offer'))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
