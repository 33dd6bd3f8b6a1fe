"""What a source offers: folders, archives, suites and addresses, and what is refused."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from aileron_tui.packages.download import DownloadRules
from aileron_tui.packages.offer import OfferRules, PackageOffer, read_offer
from aileron_tui.packages.release_address import _HOMES, release_address, release_of
from aileron_tui.sandbox.connector_package import PackageError
from tests.packages.https_server import Authority, HttpsServer, Reply, https_server, make_authority
from tests.packages.made_packages import (
    ACTIONS,
    AUTHORITY,
    FIRST,
    NEW_ACTION,
    NEW_HOST,
    OWNER,
    REPO,
    SECOND,
    MadeRelease,
    archive,
    made_release,
)


@pytest.fixture(scope="module")
def release() -> MadeRelease:
    return made_release()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def server(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpsServer]:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))
    monkeypatch.setenv("NO_PROXY", "*")
    with https_server(authority) as running:
        yield running


def refusal(source: str | Path) -> PackageError:
    with pytest.raises(PackageError) as refused:
        read_offer(str(source))
    return refused.value


def check_whole(offer: PackageOffer, release: MadeRelease) -> None:
    assert [(each.connector.name, each.connector.version, each.hash) for each in offer.connectors] == [
        (AUTHORITY, release.version, release.hash)
    ]
    assert {each.action.name: each.data for each in offer.actions} == release.actions
    assert not offer.missing
    assert not offer.findings


def test_a_bundle_is_offered_whole(release: MadeRelease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release.write_bundle(tmp_path / "bundle")
    monkeypatch.chdir(tmp_path)
    offer = read_offer("bundle")
    check_whole(offer, release)
    assert offer.source == str(tmp_path / "bundle")
    assert offer.origin == f"the folder {tmp_path / 'bundle'}"
    assert offer.suite
    assert offer.suite.name == "mail"
    assert offer.connectors[0].package == release.package


def test_a_repository_is_offered_with_its_signatures(release: MadeRelease, tmp_path: Path) -> None:
    offer = read_offer(str(release.write_repository(tmp_path / "repo")))
    check_whole(offer, release)
    assert {each.action.name: each.signature for each in offer.actions} == release.signatures
    assert offer.connectors[0].package.signature is None


def test_a_repository_that_was_not_built_says_so(release: MadeRelease, tmp_path: Path) -> None:
    offer = read_offer(str(release.write_repository(tmp_path / "repo", built=False)))
    assert not offer.connectors
    assert [finding.rule for finding in offer.findings] == ["module-missing"]
    assert [(each.name, each.hash) for each in offer.missing] == [(AUTHORITY, release.hash)]


def test_a_folder_whose_module_is_none_is_refused(release: MadeRelease, tmp_path: Path) -> None:
    folder = release.write_repository(tmp_path / "repository")
    (folder / "connector.wasm").write_bytes(b"<html>not found</html>")
    refused = refusal(folder)
    assert str(folder / "connector.wasm") in refused.title
    assert "it is not a WebAssembly module" in refused.detail


def test_the_source_of_an_action_before_its_release_is_refused(release: MadeRelease, tmp_path: Path) -> None:
    folder = release.write_repository(tmp_path / "repo", built=False)
    for file in folder.glob("actions/*/action.md"):
        file.write_bytes(file.read_bytes().replace(release.hash.encode(), b"sha256:bound-at-release"))
    refused = refusal(folder)
    assert "the pin sha256:bound-at-release is not a hash, because this is not a released action" in refused.detail


def test_a_folder_of_archives_and_single_archives(release: MadeRelease, tmp_path: Path) -> None:
    folder = release.write_archives(tmp_path / "downloads")
    check_whole(read_offer(str(folder)), release)
    connector = read_offer(str(folder / "aileron.tar.gz"))
    assert connector.connectors[0].package == release.package
    assert connector.origin == f"the archive {folder / 'aileron.tar.gz'}"
    action = read_offer(str(folder / "aileron-send-draft.tar.gz"))
    assert [each.action.name for each in action.actions] == ["send-draft"]
    assert action.actions[0].signature == release.signatures["send-draft"]
    assert [each.hash for each in action.missing] == [release.hash]
    assert not action.findings  # its preview op is declared by an action that may be installed already


def test_a_suite_offers_only_its_own_actions(release: MadeRelease, tmp_path: Path) -> None:
    folder = release.write_bundle(tmp_path / "bundle")
    suite = folder / "suite.toml"
    suite.write_text('name = "n"\ndescription = "d"\nactions = ["actions/get-draft", "actions/send-draft"]\n')
    offer = read_offer(str(suite))
    assert [each.action.name for each in offer.actions] == ["get-draft", "send-draft"]
    assert [each.hash for each in offer.connectors] == [release.hash]


def test_an_action_that_pins_another_connector_is_not_offered(release: MadeRelease, tmp_path: Path) -> None:
    folder = release.write_bundle(tmp_path / "bundle")
    bad = folder / "actions" / "list-drafts.md"
    bad.write_bytes(bad.read_bytes().replace(release.hash.encode(), b"sha256:" + b"0" * 64))
    offer = read_offer(str(folder))
    assert "list-drafts" not in {each.action.name for each in offer.actions}
    assert [finding.rule for finding in offer.findings] == ["pin"]


def test_a_release_is_read_from_its_address(release: MadeRelease, server: HttpsServer) -> None:
    server.files.update(release.files())
    told: list[int] = []
    base = f"/{OWNER}/{REPO}/releases/download"
    address = server.url(f"{base}/v{FIRST}/aileron.tar.gz")
    offer = read_offer(address, OfferRules(progress=lambda size, _: told.append(size)))
    assert offer.connectors[0].package == release.package
    assert (offer.source, offer.origin) == (address, address)
    assert told
    action = read_offer(server.url(f"{base}/actions%2Fsend-draft%2Fv{FIRST}/aileron.tar.gz"))
    assert action.actions[0].data == release.actions["send-draft"]


def test_a_suite_at_an_address_brings_its_actions_and_connectors(release: MadeRelease, server: HttpsServer) -> None:
    server.files.update(release.files() | made_release(SECOND).files())
    base = server.url(f"/{OWNER}/{REPO}/releases/download")
    offer = read_offer(f"{base}/v{FIRST}/suite.toml")
    check_whole(offer, release)
    newer = read_offer(f"{base}/v{SECOND}/suite.toml", OfferRules(present={release.hash}))
    assert {each.action.name for each in newer.actions} == {*ACTIONS, NEW_ACTION}
    assert NEW_HOST in (newer.connectors[0].connector.hosts or ())
    gated = {each.action.name for each in offer.actions if each.action.gated}
    assert gated - {each.action.name for each in newer.actions if each.action.gated} == {"draft-mail"}
    server.asked.clear()
    assert not read_offer(f"{base}/v{FIRST}/suite.toml", OfferRules(present={release.hash})).connectors
    assert f"/{OWNER}/{REPO}/releases/download/v{FIRST}/aileron.tar.gz" not in server.asked


def test_a_release_with_another_name_or_version_is_refused(release: MadeRelease, server: HttpsServer) -> None:
    base = f"/{OWNER}/{REPO}/releases/download"
    server.files[f"{base}/v{SECOND}/aileron.tar.gz"] = release.connector_archive
    server.files[f"/other/{REPO}/releases/download/v{FIRST}/aileron.tar.gz"] = release.connector_archive
    tag = f"actions%2Fget-draft%2Fv{FIRST}"
    server.files[f"{base}/{tag}/aileron.tar.gz"] = release.action_archive("send-draft")
    expected = {
        f"{base}/v{SECOND}/aileron.tar.gz": f"{AUTHORITY}@{FIRST}, but the address is that of {OWNER}/{REPO}@{SECOND}",
        f"/other/{REPO}/releases/download/v{FIRST}/aileron.tar.gz": f"is that of other/{REPO}@{FIRST}",
        f"{base}/{tag}/aileron.tar.gz": f"but the address is that of {OWNER}/{REPO}/actions/get-draft@{FIRST}",
    }
    for path, reason in expected.items():
        refused = refusal(server.url(path))
        assert refused.detail.startswith("it contains github://")
        assert reason in refused.detail


@pytest.mark.parametrize("scheme", ["github", "gitlab", "hub"])
def test_a_reference_brings_exactly_what_it_names(
    scheme: str, release: MadeRelease, server: HttpsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_HOMES, scheme, server.url(""))
    reference = f"{scheme}://{OWNER}/{REPO}@{FIRST}"
    server.files[release_address(reference).removeprefix(server.url(""))] = release.connector_archive
    if scheme == "github":
        assert read_offer(reference).connectors[0].package == release.package
    else:  # another publisher may own that name there
        assert f"it contains {AUTHORITY}@{FIRST}" in refusal(reference).detail
    later = f"{scheme}://{OWNER}/{REPO}@{SECOND}"
    server.files[release_address(later).removeprefix(server.url(""))] = release.connector_archive
    assert f"it contains {AUTHORITY}@{FIRST}" in refusal(later).detail


def test_every_host_that_sent_something_is_told_in_the_origin(release: MadeRelease, server: HttpsServer) -> None:
    base = f"/localhost:{server.port}"  # the name of the other host in the path is no excuse
    server.files[f"{base}/suite.toml"] = b'name = "n"\ndescription = "d"\nactions = ["here", "there"]\n'
    server.files[f"{base}/here/aileron.tar.gz"] = release.action_archive("get-draft")
    server.files[f"{base}/there/aileron.tar.gz"] = Reply(
        status=302, headers={"Location": server.url("/y", "localhost")}
    )
    server.files["/y"] = release.action_archive("list-drafts")
    rules = OfferRules(DownloadRules(follow_redirects=True), present={release.hash})
    suite = server.url(f"{base}/suite.toml")
    origin = read_offer(suite, rules).origin
    assert origin == f"{suite}, with archives from localhost:{server.port}"


def test_a_redirect_is_told_in_the_origin(release: MadeRelease, server: HttpsServer) -> None:
    server.files["/x"] = Reply(status=302, headers={"Location": server.url("/y", "localhost")})
    server.files["/y"] = release.connector_archive
    assert "--follow-redirects" in refusal(server.url("/x")).hint
    offer = read_offer(server.url("/x"), OfferRules(DownloadRules(follow_redirects=True)))
    assert offer.origin == f"{server.url('/x')} (redirected to localhost:{server.port})"


def test_a_web_page_that_claims_to_be_an_archive_is_refused(server: HttpsServer) -> None:
    server.files["/x"] = b"<!doctype html><title>Sign in</title>"
    assert refusal(server.url("/x")).detail == "it is not compressed with gzip"


def test_a_source_of_too_many_or_too_large_archives_is_refused(
    release: MadeRelease, server: HttpsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/suite.toml"] = (
        b'name = "n"\ndescription = "d"\nactions = [' + b",".join(b'"a%d"' % number for number in range(30)) + b"]"
    )
    for number in range(30):
        server.files[f"/a{number}/aileron.tar.gz"] = release.action_archive("get-draft")
    monkeypatch.setattr("aileron_tui.packages.offer._MOST_ARCHIVES", 5)
    assert refusal(server.url("/suite.toml")).title == "there are more than 5 archives"
    assert len(server.asked) == 7
    folder, bundle = release.write_archives(tmp_path / "downloads"), release.write_bundle(tmp_path / "bundle")
    size = len(release.package.wasm)
    assert sum(file.stat().st_size for file in folder.iterdir()) < size, "what counts is the size after decompression"
    monkeypatch.setattr("aileron_tui.packages.offer._LARGEST_SOURCE", size)
    for source in (folder, bundle):
        assert refusal(source).title == "this is too much to install at once"


def test_a_source_that_takes_too_long_is_refused(server: HttpsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.packages.offer._LONGEST_MINUTES", 0)
    assert refusal(server.url("/suite.toml")).title == "downloading takes too long"
    assert not server.asked


@pytest.mark.parametrize("source", ["x" * 5000, "a\0b", "~nobody-here/x", "", "/dev/null", "\udc80"])
def test_names_that_no_file_can_have_are_refused(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(source).title


def test_a_source_that_cannot_be_recorded_is_refused_before_it_is_read(tmp_path: Path) -> None:
    assert (
        refusal(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).detail
        == "its path is not valid UTF-8, so it cannot be recorded"
    )


def test_sources_without_anything_to_install(tmp_path: Path) -> None:
    assert refusal(tmp_path / "missing").detail == "there is no such file or folder"
    assert refusal(tmp_path).detail == "it contains no connector and no action"
    note = tmp_path / "note.txt"
    note.write_text("hello")
    assert refusal(note).detail == "it is not compressed with gzip"
    bad = tmp_path / "bad.tar.gz"
    bad.write_bytes(archive({"action.md": b"+++\nname = 1\n+++\n"}))
    refused = refusal(bad)
    assert refused.title == f"{bad} has nothing to install"
    assert refused.detail.startswith(f"{bad}: ")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("github://example/repo", "the @version at the end is missing"),
        ("github://example@1.0.0", "the path after the owner is missing"),
        ("local://example/repo@1.0.0", "local:// names are not published anywhere"),
        ("github://example/../other@1.0.0", "its path cannot be part of an address"),
        ("hub://example/../../other@1.0.0", "its path cannot be part of an address"),
        ("github://example/repo?x@1.0.0", "its path cannot be part of an address"),
        ("gitlab://example/%2e%2e/other@1.0.0", "its path cannot be part of an address"),
        ("http://example.com/x.tar.gz", "only https addresses are allowed"),
        ("file:///etc/passwd", "file: is neither http: nor https:"),
    ],
)
def test_references_and_addresses_that_cannot_be_read(reference: str, reason: str) -> None:
    assert refusal(reference).detail == reason


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("github://o/r@1.2.3", "https://github.com/o/r/releases/download/v1.2.3/aileron.tar.gz"),
        (
            "github://o/r/actions/send-draft@1.2.3",
            "https://github.com/o/r/releases/download/actions%2Fsend-draft%2Fv1.2.3/aileron.tar.gz",
        ),
        ("gitlab://o/r@1.2.3", "https://gitlab.com/o/r/-/releases/v1.2.3/downloads/aileron.tar.gz"),
        ("hub://o/r/x@1.2.3", "https://hub.aileron.dev/api/v1/o/r/x/1.2.3/aileron.tar.gz"),
    ],
)
def test_addresses_of_releases(reference: str, address: str) -> None:
    assert release_address(reference) == address
    release = release_of(address)
    if reference.startswith("github"):
        assert release
        assert f"github://{release.reference}" == reference
