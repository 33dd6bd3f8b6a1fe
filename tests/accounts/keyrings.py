"""Keyrings for tests: one that works, and ones that fail in every way that matters."""

import os
import threading
from pathlib import Path


class MemoryKeyring:
    """A keyring in memory."""

    name = "memory keyring"

    def __init__(self) -> None:
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.passwords[service, username]


class HangingKeyring(MemoryKeyring):
    """One that does not answer until it is released, as if it waited for a dialog."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()
        self.calls = 0

    def set_password(self, service: str, username: str, password: str) -> None:
        self.calls += 1
        self.released.wait(60)
        super().set_password(service, username, password)


class ForgetfulKeyring(MemoryKeyring):
    """One that says that it stored something, and did not."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class BrokenKeyring(MemoryKeyring):
    """One whose error has the secret in it."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(f"cannot store {password}")


class FolderKeyring(MemoryKeyring):
    """One whose passwords survive the process, each written at once or not at all."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}

    def get_password(self, service: str, username: str) -> str | None:
        file = self.folder / username
        return file.read_text() if file.exists() else None

    def set_password(self, service: str, username: str, password: str) -> None:
        temporary = self.folder / f".{os.urandom(8).hex()}"
        temporary.write_text(password)
        temporary.rename(self.folder / username)

    def delete_password(self, service: str, username: str) -> None:
        (self.folder / username).unlink()
