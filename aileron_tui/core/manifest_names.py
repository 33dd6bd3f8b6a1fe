"""Checks for names in manifests: names of actions, versions, fully qualified names, and references with a version."""

import re
from functools import lru_cache
from typing import Final

SCHEMES: Final = ("github", "gitlab", "hub", "local")

PLAIN_NAME_RULE: Final = "Use lower-case letters, digits, '.', '_' and '-', starting with a letter or digit."

_PLAIN_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
_SEMVER: Final = re.compile(
    r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
)
_URI: Final = re.compile(r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?P<owner>[A-Za-z0-9._~-]*)(?P<path>/[!-~]*)?")


def is_plain_name(text: str) -> bool:
    """Returns whether an action may have this name; it is also safe as the name of a file."""
    return _PLAIN_NAME.fullmatch(text) is not None


def is_semver(text: str) -> bool:
    """Returns whether this is a strict SemVer version such as 1.2.3 or 1.2.3-rc.1, without a leading v."""
    return _SEMVER.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def fqn_fault(text: str) -> str:
    """Returns what is wrong with a fully qualified name such as github://owner/repo, or ""."""
    uri = _URI.fullmatch(text)
    if uri is None:
        return "it is not a valid URI"
    scheme = uri["scheme"] or ""
    if scheme.lower() not in SCHEMES:
        return f'scheme "{scheme}" is not one of {", ".join(SCHEMES)}'
    if not uri["owner"]:
        return "the owner is missing"
    if (uri["path"] or "/") == "/":
        return "the path after the owner is missing"
    return "it must not have a version" if "@" in text else ""


@lru_cache(maxsize=1024)
def reference_fault(text: str) -> str:
    """Returns what is wrong with a reference such as github://owner/repo@1.2.3, or ""."""
    name, at, version = text.rpartition("@")
    if not at:
        return "the @version at the end is missing"
    if not is_semver(version):
        return f'version "{version}" is not a strict SemVer version'
    return fqn_fault(name)
