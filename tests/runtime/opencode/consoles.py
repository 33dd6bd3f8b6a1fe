"""A console without a screen on the fake server."""

from pathlib import Path
from typing import Any

from aileron_tui.runtime.opencode.opencode_server import NamedOpencode, find_opencode
from aileron_tui.runtime.opencode.opencode_source import OpencodeSource
from tests.runtime.daemon.consoles import Console
from tests.runtime.opencode.fake_server import FakeOpencode


class OpencodeConsole(Console):
    """Listens during its `with` block, and connects again whenever the connection is lost."""

    def __init__(self, server: FakeOpencode, folder: Path, **options: Any) -> None:
        self.env = {"PW": server.password} if server.password else {}
        super().__init__(server, folder, **options)  # type: ignore[arg-type]  # it only connects to it

    def connect(self, **options: Any) -> Any:
        """A connection to the server."""
        named = NamedOpencode(self.daemon.url, password_env="PW" if self.env else "")
        server = find_opencode(named, self.env)
        return OpencodeSource(server, self.key, self.folder, tracker=self.tracker, **{"list_every": 0.3} | options)
