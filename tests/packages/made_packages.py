"""Releases made like real ones: a connector, its actions and a suite, in two versions, signed by their publisher.

The connector is the sample mail connector under the name of a repository. Version 1.1.0 asks for more than 1.0.0: it
reaches another host, has another scope and another action, and `draft-mail` is no longer gated.
"""

import io
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from aileron_tui.demo.sample_bundle import pin
from aileron_tui.files.paths import bundled
from aileron_tui.sandbox.connector_package import ConnectorPackage, PublisherKeyring

OWNER, REPO = "example", "aileron-connector-mail"
AUTHORITY = f"github://{OWNER}/{REPO}"
PUBLISHER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
FIRST, SECOND = "1.0.0", "1.1.0"
NEW_HOST = "mail-extra.example.com:443"
NEW_SCOPE = "mail.delete"
ACTIONS = ("list-drafts", "get-draft", "draft-mail", "send-draft")
NEW_ACTION = "delete-draft"
_SAMPLE_SERVICE = "127.0.0.1:8725"
_SAMPLE_NAME = "local://aileron/mail"
_SAMPLE = bundled("manifests") / "connectors" / "mail"


def raw_public(key: Ed25519PrivateKey) -> bytes:
    """The public key as 32 bytes."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def public_pem(key: Ed25519PrivateKey) -> bytes:
    """The public key as publishers publish it."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def private_pem(key: Ed25519PrivateKey) -> bytes:
    """The private key as publishers keep it."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def keyring(key: Ed25519PrivateKey = PUBLISHER, authority: str = AUTHORITY) -> PublisherKeyring:
    """A keyring that trusts one key."""
    return PublisherKeyring({authority: (raw_public(key),)})


@dataclass(frozen=True)
class MadeRelease:
    """One version of a connector with its actions and its suite, as its publisher signed them."""

    version: str
    package: ConnectorPackage
    actions: Mapping[str, bytes]
    signatures: Mapping[str, bytes]
    suite: bytes

    @property
    def hash(self) -> str:
        """The hash that the actions pin."""
        return pin(self.package.wasm, self.package.manifest)

    @property
    def connector_archive(self) -> bytes:
        """The `aileron.tar.gz` of the connector."""
        signature = self.package.signature or b""
        return archive(
            {"connector.wasm": self.package.wasm, "manifest.toml": self.package.manifest, "signature.sig": signature}
        )

    def action_archive(self, name: str) -> bytes:
        """The `aileron.tar.gz` of an action."""
        return archive({"action.md": self.actions[name], "signature.sig": self.signatures[name]})

    def files(self) -> dict[str, bytes]:
        """The files of the release by their path on the server that publishes it."""
        base = f"/{OWNER}/{REPO}/releases/download"
        found = {
            f"{base}/v{self.version}/aileron.tar.gz": self.connector_archive,
            f"{base}/v{self.version}/suite.toml": self.suite,
        }
        for name in self.actions:
            tag = quote(f"actions/{name}/v{self.version}", safe="")
            found[f"{base}/{tag}/aileron.tar.gz"] = self.action_archive(name)
        return found

    def write_bundle(self, folder: Path) -> Path:
        """Writes the release in our own layout."""
        home = folder / "connectors" / "mail"
        home.mkdir(parents=True)
        self._write_connector(home)
        (folder / "actions").mkdir()
        for name, data in self.actions.items():
            (folder / "actions" / f"{name}.md").write_bytes(data)
        (folder / "suite.toml").write_bytes(self.suite)
        return folder

    def write_repository(self, folder: Path, *, built: bool = True) -> Path:
        """Writes the release as its repository has it, without a suite; the module is at the top once it is built."""
        (folder / "connector").mkdir(parents=True)
        (folder / "connector" / "manifest.toml").write_bytes(self.package.manifest)
        (folder / "connector" / "main.go").write_text("package main\n")
        (folder / "README.md").write_text("# A connector\n")
        if built:
            (folder / "connector.wasm").write_bytes(self.package.wasm)
        for name, data in self.actions.items():
            home = folder / "actions" / name
            home.mkdir(parents=True)
            (home / "action.md").write_bytes(data)
            (home / "signature.sig").write_bytes(self.signatures[name])
        return folder

    def write_home(self, folder: Path) -> Path:
        """Adds the release to an Aileron home."""
        home = folder / "store" / "connectors" / "sha256" / self.hash.removeprefix("sha256:")
        home.mkdir(parents=True)
        self._write_connector(home)
        (folder / "actions").mkdir(exist_ok=True)
        for name, data in self.actions.items():
            (folder / "actions" / f"{name}.md").write_bytes(data)
        return folder

    def write_archives(self, folder: Path) -> Path:
        """Writes the archives of the connector and of every action into one folder, as after downloading them."""
        folder.mkdir(parents=True)
        (folder / "aileron.tar.gz").write_bytes(self.connector_archive)
        for name in self.actions:
            (folder / f"aileron-{name}.tar.gz").write_bytes(self.action_archive(name))
        return folder

    def _write_connector(self, home: Path) -> None:
        (home / "connector.wasm").write_bytes(self.package.wasm)
        (home / "manifest.toml").write_bytes(self.package.manifest)
        (home / "signature.sig").write_bytes(self.package.signature or b"")


@dataclass(frozen=True)
class MadeFrom:
    """What releases can differ in: who signs them, the service they reach, and where an account signs in."""

    key: Ed25519PrivateKey = field(default=PUBLISHER)
    service: str = _SAMPLE_SERVICE
    sign_in: str = f"http://{_SAMPLE_SERVICE}"


@cache
def _module() -> bytes:
    return (_SAMPLE / "connector.wasm").read_bytes()


@cache
def _sample_pin() -> str:
    return pin(_module(), (_SAMPLE / "manifest.toml").read_bytes())


def made_release(version: str = FIRST, made_from: MadeFrom | None = None) -> MadeRelease:
    """Makes a release; every version but the first asks for more."""
    made_from = made_from or MadeFrom()
    more = version != FIRST
    manifest = _manifest(version, made_from, more=more)
    package = ConnectorPackage(_module(), manifest, made_from.key.sign(_module() + manifest))
    names = (*ACTIONS, NEW_ACTION) if more else ACTIONS
    actions = {name: _action(name, version, pin(_module(), manifest), made_from) for name in names}
    if more:
        actions["draft-mail"] = actions["draft-mail"].replace(b"required = true", b"required = false")
    suite = 'name = "mail"\ndescription = "Read, write and send mail."\nactions = [\n'
    suite += "".join(f'  "actions/{name}",\n' for name in names) + "]\n"
    signatures = {name: made_from.key.sign(data) for name, data in actions.items()}
    return MadeRelease(version, package, actions, signatures, suite.encode())


def _manifest(version: str, made_from: MadeFrom, *, more: bool) -> bytes:
    text = (_SAMPLE / "manifest.toml").read_text()
    text = text.replace(_SAMPLE_NAME, AUTHORITY).replace('version = "0.1.0"', f'version = "{version}"')
    text = text.replace(f"http://{_SAMPLE_SERVICE}/oauth2", f"{made_from.sign_in}/oauth2")
    hosts = [made_from.service, *([NEW_HOST] if more else [])]
    text = text.replace(f'hosts = ["{_SAMPLE_SERVICE}"]', f"hosts = {hosts}".replace("'", '"'))
    scopes = ["mail.compose", "mail.send", *([NEW_SCOPE] if more else [])]
    return text.replace('scopes = ["mail.compose", "mail.send"]', f"scopes = {scopes}".replace("'", '"')).encode()


def _action(name: str, version: str, pinned: str, made_from: MadeFrom) -> bytes:
    text = (bundled("manifests") / "actions" / f"{name}.md").read_text()
    text = text.replace(f"local://aileron/samples/actions/{name}@0.1.0", f"{AUTHORITY}/actions/{name}@{version}")
    text = text.replace(_SAMPLE_NAME, AUTHORITY).replace('version = "0.1.0"', f'version = "{version}"')
    return text.replace(_sample_pin(), pinned).replace(_SAMPLE_SERVICE, made_from.service).encode()


def archive(files: Mapping[str, bytes]) -> bytes:
    """A release archive with these files."""
    return packed(_file(name, data) for name, data in files.items())


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A compressed tar with any members, also bad ones."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.GNU_FORMAT, compresslevel=1) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _file(name: str, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, data
