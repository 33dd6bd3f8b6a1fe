"""Every way in which a release can be wrong is refused with a sentence, and what was installed stays as it is.

The rules for releases, and where each is tested beyond what is here:

- The hash covers the module followed by the manifest, in letters of any case:
  `tests/sandbox/test_connector_package.py`.
- A signature is 64 bytes, over the same bytes, by any key of the most specific authority: `test_publishers.py`.
- An archive of a connector has exactly its module, its manifest and its signature, flat; one of an action has its
  `action.md` and perhaps a signature: `test_archive.py`.
- A download is from the host that was named, over https, and bounded: `test_download.py`.
- A release contains the name and the version that its address says: `test_offer.py`.
- A keyring of another version, or with a key that is not one, is refused whole; a missing one trusts nobody:
  `tests/sandbox/test_connector_package.py`, `test_keyring_file.py`.
- The checks are made in this order: archive, name and version, manifest, signature, hash. Then it is renamed into
  place: `test_installed.py`, and killed at any moment by `crash.py`.
- The store is checked again at each load: `test_installed.py`, `test_found_sources.py`.
"""

import gzip
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.packages.offer import read_offer
from aileron_tui.packages.proposal import Proposal, propose
from aileron_tui.sandbox.connector_package import PublisherKeyring, load_keyring
from tests.packages.https_server import Authority, HttpsServer, https_server, make_authority
from tests.packages.made_packages import (
    FIRST,
    OWNER,
    PUBLISHER,
    REPO,
    SECOND,
    STRANGER,
    MadeFrom,
    MadeRelease,
    archive,
    made_release,
    packed,
)
from tests.packages.package_home import PackageHome

BASE = f"/{OWNER}/{REPO}/releases/download"
PLACE = f"{BASE}/v{SECOND}/aileron.tar.gz"
ACTION_PLACE = f"{BASE}/actions%2Fsend-draft%2Fv{SECOND}/aileron.tar.gz"


@dataclass
class Publishing:
    """A home in which version 1.0.0 is installed, and the server that publishes 1.1.0."""

    home: PackageHome
    server: HttpsServer
    release: MadeRelease

    def proposal(self, keyring: PublisherKeyring | None = None) -> Proposal:
        """What the suite on the server would change."""
        offer = read_offer(self.server.url(f"{BASE}/v{SECOND}/suite.toml"))
        (proposal,) = propose([("mail", offer)], self.home.installed(), keyring or self.home.keyring)
        return proposal

    def refusal(self) -> str:
        """Why an update from the suite on the server is refused; fails if anything has changed after it."""
        before = self._state()
        with pytest.raises(AileronError) as refused:
            self.proposal()
        assert self._state() == before
        return f"{refused.value.title}: {refused.value.detail}"

    def _state(self) -> object:
        with open_reader(self.home.ledger) as reader:
            head = reader.head()
        return self.home.stored(), head, sorted(self.home.content().bundle.actions)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> PackageHome:
    folder = tmp_path_factory.mktemp("home")
    home = PackageHome(folder / "data")
    home.add(made_release(FIRST).write_bundle(folder / "source"))
    return home


@pytest.fixture(scope="module")
def published() -> tuple[MadeRelease, dict[str, bytes]]:
    release = made_release(SECOND)
    return release, release.files()


@pytest.fixture
def publishing(
    installed: PackageHome,
    authority: Authority,
    published: tuple[MadeRelease, dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Publishing]:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))
    monkeypatch.setenv("NO_PROXY", "*")
    with https_server(authority) as server:
        release, files = published
        server.files.update(files)
        yield Publishing(installed, server, release)


def members(release: MadeRelease) -> dict[str, bytes]:
    package = release.package
    return {
        "connector.wasm": package.wasm,
        "manifest.toml": package.manifest,
        "signature.sig": package.signature or b"",
    }


def linked(release: MadeRelease) -> bytes:
    info = tarfile.TarInfo("manifest.toml")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return packed([(info, b"")])


def signed(release: MadeRelease, manifest: bytes) -> dict[str, bytes]:
    """The connector with another manifest, signed by its publisher."""
    wasm = release.package.wasm
    return {"connector.wasm": wasm, "manifest.toml": manifest, "signature.sig": PUBLISHER.sign(wasm + manifest)}


def test_the_release_itself_is_not_refused(publishing: Publishing) -> None:
    assert publishing.proposal().grant.version == SECOND


Change = Callable[[MadeRelease], bytes | Mapping[str, bytes]]

CONNECTOR_CASES: dict[str, tuple[Change, str]] = {
    "a file in a folder": (lambda made: {**members(made), "x/manifest.toml": b""}, "all files must be at the top"),
    "a path to the outside": (lambda made: {**members(made), "../x": b""}, "points outside the archive"),
    "an absolute path": (lambda made: {**members(made), "/x": b""}, "is an absolute path"),
    "another file": (lambda made: {**members(made), "install.sh": b""}, "install.sh does not belong in it"),
    "two binaries": (lambda made: {**members(made), "connector.bin": made.package.wasm}, "it contains both"),
    "an action too": (lambda made: {**members(made), "action.md": b""}, "are released apart"),
    "a link": (linked, "manifest.toml is a symbolic link"),
    "no module": (lambda made: {"manifest.toml": b"", "signature.sig": b""}, "connector.wasm is missing"),
    "no manifest": (
        lambda made: {"connector.wasm": made.package.wasm, "signature.sig": b""},
        "manifest.toml is missing",
    ),
    "no signature": (
        lambda made: {"connector.wasm": made.package.wasm, "manifest.toml": made.package.manifest},
        "signature.sig is missing",
    ),
    "not gzip": (lambda made: gzip.decompress(made.connector_archive), "it is not compressed with gzip"),
    "cut off": (lambda made: made.connector_archive[:-100], "it is cut off"),
    "a bomb": (lambda made: archive({**members(made), "connector.wasm": bytes(80_000_000)}), "it grows to more than"),
    "a manifest that is not TOML": (lambda made: signed(made, b"[connector"), "cannot be used: "),
    "a manifest with an unknown key": (
        lambda made: signed(made, made.package.manifest.replace(b"[provides]", b"[provided]")),
        "provided",
    ),
    "another name": (
        lambda made: signed(made, made.package.manifest.replace(REPO.encode(), b"other")),
        f"but the address is that of github://{OWNER}/{REPO}@{SECOND}",
    ),
    "another version": (
        lambda made: signed(made, made.package.manifest.replace(SECOND.encode(), b"9.9.9")),
        f"but the address is that of github://{OWNER}/{REPO}@{SECOND}",
    ),
    "a signature by somebody else": (
        lambda made: members(made_release(SECOND, MadeFrom(key=STRANGER))),
        f"the signature of github://{OWNER}/{REPO} is wrong",
    ),
    "a signature of another version": (
        lambda made: {**members(made), "signature.sig": made_release(FIRST).package.signature or b""},
        f"the signature of github://{OWNER}/{REPO} is wrong",
    ),
    "a short signature": (
        lambda made: {**members(made), "signature.sig": (made.package.signature or b"")[:63]},
        f"the signature of github://{OWNER}/{REPO} is wrong",
    ),
}


@pytest.mark.parametrize("case", CONNECTOR_CASES)
def test_a_bad_connector_is_refused(publishing: Publishing, case: str) -> None:
    change, reason = CONNECTOR_CASES[case]
    changed = change(publishing.release)
    publishing.server.files[PLACE] = changed if isinstance(changed, bytes) else archive(changed)
    assert reason in publishing.refusal()


ACTION_CASES: dict[str, tuple[Change, str]] = {
    "another file": (
        lambda made: {"action.md": made.actions["send-draft"], "run.sh": b""},
        "run.sh does not belong in it",
    ),
    "another action": (
        lambda made: {"action.md": made.actions["get-draft"], "signature.sig": made.signatures["get-draft"]},
        "but the address is that of",
    ),
    "the signature of another action": (
        lambda made: {"action.md": made.actions["send-draft"], "signature.sig": made.signatures["get-draft"]},
        "/actions/send-draft is wrong",
    ),
    "no longer gated, with the old signature": (
        lambda made: {
            "action.md": made.actions["send-draft"].replace(b"required = true", b"required = false"),
            "signature.sig": made.signatures["send-draft"],
        },
        "/actions/send-draft is wrong",
    ),
}


@pytest.mark.parametrize("case", ACTION_CASES)
def test_a_bad_action_is_refused(publishing: Publishing, case: str) -> None:
    change, reason = ACTION_CASES[case]
    changed = change(publishing.release)
    assert not isinstance(changed, bytes)
    publishing.server.files[ACTION_PLACE] = archive(changed)
    assert reason in publishing.refusal()


def test_other_bytes_than_the_actions_pin_bring_no_action(publishing: Publishing) -> None:
    publishing.server.files[PLACE] = archive(signed(publishing.release, publishing.release.package.manifest + b"\n"))
    proposal = publishing.proposal()
    assert not proposal.grant.actions
    assert {finding.rule for finding in proposal.skipped} == {"pin"}
    assert len(proposal.skipped) == len(publishing.release.actions)


def test_what_is_not_an_action_is_left_out_and_named(publishing: Publishing) -> None:
    publishing.server.files[ACTION_PLACE] = archive({"action.md": b"hello"})
    proposal = publishing.proposal()
    assert "send-draft" not in {action.name for action in proposal.grant.actions}
    assert [finding.rule for finding in proposal.skipped] == ["text-before-front-matter"]


def test_what_is_checked_first_is_said_first(publishing: Publishing) -> None:
    """Each fault hides the ones after it: archive, name and version, manifest, signature, hash."""
    wasm, manifest = publishing.release.package.wasm, publishing.release.package.manifest
    other = manifest.replace(REPO.encode(), b"other")
    broken = manifest.replace(b"[provides]", b"[provided]")
    for files, reason in (
        ({"connector.wasm": wasm, "manifest.toml": broken, "signature.sig": b"x", "y": b""}, "does not belong in it"),
        ({"connector.wasm": wasm, "manifest.toml": other, "signature.sig": b"x"}, "but the address is that of"),
        ({"connector.wasm": wasm, "manifest.toml": broken, "signature.sig": b"x"}, "provided"),
        ({"connector.wasm": wasm, "manifest.toml": manifest + b"\n", "signature.sig": b"x"}, "is wrong"),
    ):
        publishing.server.files[PLACE] = archive(files)
        assert reason in publishing.refusal()


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 2, "publishers": {}}',
        '{"publishers": {}}',
        '{"version": 1, "publishers": {"github://a": ["c2hvcnQ="]}}',
        '{"version": 1, "publishers": {"github://a": ["%%%"]}}',
        '{"version": 1, "publishers": {"github://a": "key"}}',
        "[]",
        "",
    ],
)
def test_a_bad_keyring_is_refused_whole(tmp_path: Path, text: str) -> None:
    (tmp_path / "keyring.json").write_text(text)
    with pytest.raises(AileronError, match="keyring"):
        load_keyring(tmp_path / "keyring.json")


def test_a_missing_keyring_trusts_nobody(publishing: Publishing, tmp_path: Path) -> None:
    keyring = load_keyring(tmp_path / "keyring.json")
    assert keyring == PublisherKeyring()
    (connector,) = publishing.proposal(keyring).grant.connectors
    assert connector.publisher == "unknown publisher"
