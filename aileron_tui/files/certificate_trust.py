"""Which certificate authorities are trusted for https.

SSL_CERT_FILE and SSL_CERT_DIR replace everything else. Without them, the system's authorities count, which is where a
company installs its own, and those of certifi, because some systems have none.
"""

import os
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass

FILE_VARIABLE: Final = "SSL_CERT_FILE"
FOLDER_VARIABLE: Final = "SSL_CERT_DIR"
_HASHED: Final = re.compile(r"[0-9a-f]{8}\.[0-9]+")


class BadAuthorities(AileronError):
    """Certificate authorities that were named but cannot be used."""


@dataclass(frozen=True, slots=True)
class CertificateTrust:
    """Where the authorities come from: the file and the folders that were named, or by default the system."""

    file: str = ""
    folders: str = ""

    @property
    def words(self) -> str:
        """Where the authorities come from, in words."""
        named = ((self.file, FILE_VARIABLE), (self.folders, FOLDER_VARIABLE))
        found = [f"{place} ({variable})" for place, variable in named if place]
        return f"only {' and '.join(found)}" if found else "the system's authorities and those of certifi"

    def context(self) -> ssl.SSLContext:
        """A context that verifies certificates and host names; raises BadAuthorities."""
        for folder in self.folders.split(os.pathsep) if self.folders else ():
            _check_folder(folder)
        try:
            if self.file or self.folders:
                return ssl.create_default_context(cafile=self.file or None, capath=self.folders or None)
            import certifi  # noqa: PLC0415  # not needed if authorities are named

            context = ssl.create_default_context()
            context.load_verify_locations(certifi.where())
        except ssl.SSLError:
            hint = f"{FILE_VARIABLE} must name a file with certificates in PEM form. Correct it, or unset it."
            raise BadAuthorities(f"cannot use {FILE_VARIABLE}", f"{self.file} has no certificate", hint) from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            if not self.file:
                raise BadAuthorities("cannot load the certificate authorities", reason) from None
            detail = f"{self.file}: {reason}"
            raise BadAuthorities(f"cannot use {FILE_VARIABLE}", detail, "Correct the path, or unset it.") from None
        return context


def certificate_trust(environment: Mapping[str, str] | None = None) -> CertificateTrust:
    """Reads from environment variables which authorities are trusted."""
    env = os.environ if environment is None else environment
    return CertificateTrust(env.get(FILE_VARIABLE, ""), env.get(FOLDER_VARIABLE, ""))


def _check_folder(folder: str) -> None:
    """OpenSSL ignores a folder that it cannot read, and files that are not named by their hash."""
    title = f"cannot use {FOLDER_VARIABLE}"
    try:
        names = [path.name for path in Path(folder).iterdir()]
    except OSError as error:
        reason = f"{folder}: {(error.strerror or str(error)).lower()}"
        raise BadAuthorities(title, reason, "Correct the path, or unset it.") from None
    if not any(map(_HASHED.fullmatch, names)):
        hint = f"Run `openssl rehash {folder}`, or name one file with {FILE_VARIABLE}."
        raise BadAuthorities(title, f"{folder} has no certificate that is named by its hash", hint)
