"""An HTTP proxy on this machine that opens tunnels, and records what it was asked for."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class TunnelProxy:
    """A running proxy. It connects every tunnel to `port` of this machine, whatever host was asked for."""

    port: int
    asked: list[bytes] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def tunnel_proxy(target: int) -> Iterator[TunnelProxy]:
    """Serves until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = TunnelProxy(listener.getsockname()[1])

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=tunnel, args=(connection,), daemon=True).start()

    def tunnel(connection: socket.socket) -> None:
        with suppress(OSError), connection, socket.create_connection(("127.0.0.1", target), 5) as upstream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            proxy.asked.append(head)
            connection.sendall(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
            back = threading.Thread(target=copy, args=(upstream, connection), daemon=True)
            back.start()
            copy(connection, upstream)
            back.join(5)

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
