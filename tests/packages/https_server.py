"""A local https server with a test authority, which publishes releases and can misbehave; and a proxy that lies."""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Write = Callable[[bytes], object]


@dataclass(frozen=True)
class Authority:
    """A certificate authority that clients do not know until SSL_CERT_FILE names it, and a server's certificate."""

    ca_file: Path
    server_file: Path

    def context(self) -> ssl.SSLContext:
        """What a server with this certificate uses."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server_file)
        return context


def make_authority(folder: Path, *hosts: str) -> Authority:
    """Makes an authority and a certificate for localhost, 127.0.0.1 and other hosts in a folder."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "aileron-tui test authority")])
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    names += [x509.DNSName(host) for host in ("localhost", *hosts)]
    ca = _certificate(ca_name, ca_name, ca_key.public_key(), ca_key, ca=True)
    server = _certificate(name, ca_name, key.public_key(), ca_key, ca=False, names=names)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    folder.mkdir(parents=True, exist_ok=True)
    made = Authority(folder / "ca.pem", folder / "server.pem")
    made.ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    made.server_file.write_bytes(private + server.public_bytes(serialization.Encoding.PEM))
    return made


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    *,
    ca: bool,
    names: list[x509.GeneralName] | None = None,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    issuer_key = x509.SubjectKeyIdentifier.from_public_key(signer.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if ca:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(signer, hashes.SHA256())


@dataclass
class Reply:
    """What the server answers. `write` replaces the body by anything; it gets the stream and when to stop."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/octet-stream"})
    write: Callable[[Write, threading.Event], None] | None = None


@dataclass
class HttpsServer:
    """A running server: what it serves by path, and the paths that were asked for."""

    port: int
    files: dict[str, bytes | Reply] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """The address of a path."""
        return f"https://{host}:{self.port}{path}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *args: Any) -> None:
        """Prints nothing: tests read `asked`."""

    def do_GET(self) -> None:
        self.server.https.asked.append(self.path)
        found = self.server.https.files.get(self.path, Reply(b"not found", 404))
        reply = Reply(found) if isinstance(found, bytes) else found
        if reply.write:
            self.close_connection = True
            reply.write(self.wfile.write, self.server.stopping)
            return
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)
        if reply.headers.get("Content-Length"):
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    https: HttpsServer
    stopping: threading.Event

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnect early, which some tests do on purpose."""


@contextmanager
def https_server(authority: Authority) -> Iterator[HttpsServer]:
    """Serves until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.stopping = threading.Event()
    server.https = HttpsServer(server.server_address[1])
    server.socket = authority.context().wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.https
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def lying_proxy(answer: bytes, tls: ssl.SSLContext | None = None, *, hold: bool = False) -> Iterator[int]:
    """A proxy that answers every connection with these bytes, then as a TLS server of its own; yields its port.

    With `hold`, it then keeps the connection open and says nothing more.
    """
    stopping = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(5)
                with suppress(OSError), connection:
                    connection.recv(65536)
                    connection.sendall(answer)
                    if hold:
                        stopping.wait(30)
                    if tls:
                        tls.wrap_socket(connection, server_side=True).close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        stopping.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
