"""Where releases are published: the address of a connector's or an action's archive, from its name and version."""

import re
from typing import Final
from urllib.parse import quote, unquote, urljoin

from aileron_tui.core.manifest_names import reference_fault
from aileron_tui.core.values import dataclass
from aileron_tui.sandbox.connector_package import PackageError

ARCHIVE_FILE: Final = "aileron.tar.gz"

_HOMES: Final = {"github": "https://github.com", "gitlab": "https://gitlab.com", "hub": "https://hub.aileron.dev"}
_GITHUB: Final = re.compile(
    r"(?P<home>https://[^/]+)/(?P<owner>[^/]+)/(?P<repo>[^/]+)/releases/download/(?P<tag>[^/]+)/[^/]+"
)
_PATH: Final = re.compile(r"[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)+")
_TAG: Final = re.compile(r"(?:(?P<path>.+)/)?v(?P<version>[^/]+)")


@dataclass(frozen=True, slots=True)
class Release:
    """One release of a repository on a host that lays out releases as GitHub does."""

    home: str
    owner: str
    repo: str
    version: str
    path: str = ""

    @property
    def reference(self) -> str:
        """What the release must contain, without the scheme."""
        name = f"{self.owner}/{self.repo}/{self.path}" if self.path else f"{self.owner}/{self.repo}"
        return f"{name}@{self.version}"

    def address(self, path: str, version: str = "") -> str:
        """The address of the archive of something else in the repository; a connector has no path."""
        tag = f"{path}/v{version or self.version}" if path else f"v{version or self.version}"
        return f"{self.home}/{self.owner}/{self.repo}/releases/download/{quote(tag, safe='')}/{ARCHIVE_FILE}"

    def holds(self, name: str) -> bool:
        """Whether a fully qualified name is of this repository."""
        return f"{name.partition('://')[2]}/".startswith(f"{self.owner}/{self.repo}/")


def is_reference(source: str) -> bool:
    """Whether this is a name with a scheme of releases, such as `github://owner/repo@1.2.3`."""
    return source.partition("://")[0] in (*_HOMES, "local") and "://" in source


def release_address(reference: str) -> str:
    """The address of a reference's archive, such as `github://owner/repo/actions/name@1.2.3`; raises PackageError."""
    name, _, version = reference.rpartition("@")
    scheme, _, rest = name.partition("://")
    hint = "Write a reference such as github://owner/repo@1.2.3, or the https address of the archive."
    if fault := reference_fault(reference):
        raise PackageError(f'"{reference}" is not a valid reference', fault, hint)
    if scheme not in _HOMES:
        raise PackageError(f'"{reference}" has no address', f"{scheme}:// names are not published anywhere", hint)
    if not _PATH.fullmatch(rest) or {".", ".."} & {*rest.split("/")}:
        raise PackageError(f'"{reference}" has no address', "its path cannot be part of an address", hint)
    owner, _, path = rest.partition("/")
    home = _HOMES[scheme]
    if scheme == "hub":
        return f"{home}/api/v1/{owner}/{path}/{version}/{ARCHIVE_FILE}"
    repo, _, subpath = path.partition("/")
    if scheme == "github":
        return Release(home, owner, repo, version).address(subpath)
    tag = quote(f"{subpath}/v{version}" if subpath else f"v{version}", safe="")
    return f"{home}/{owner}/{repo}/-/releases/{tag}/downloads/{ARCHIVE_FILE}"


def release_of(address: str) -> Release | None:
    """The release that an address belongs to, or None if it is not laid out as a release."""
    parts = _GITHUB.fullmatch(address)
    tag = _TAG.fullmatch(unquote(parts["tag"])) if parts else None
    if parts is None or tag is None:
        return None
    return Release(parts["home"], parts["owner"], parts["repo"], tag["version"], tag["path"] or "")


def beside(address: str, path: str) -> str:
    """The address of the archive of an action that a suite names by its path."""
    if release := release_of(address):
        return release.address(path)
    return urljoin(address, f"{quote(path)}/{ARCHIVE_FILE}")
