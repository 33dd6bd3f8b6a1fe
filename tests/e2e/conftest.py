"""Real processes: the sample service is here; gate, daemon, agent and console are processes of their own."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject, read_object
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService
from aileron_tui.files.private_files import private_folder
from aileron_tui.signing import key_store
from aileron_tui.surface.key_enrolment import changing_keys
from tests.compiled import shared_cache
from tests.daemon.process import FakeDaemon
from tests.e2e.terminal import Terminal, environment

CONFIG = """
[connectors."local://aileron/mail".credential]
env = "TEST_MAIL_TOKEN"

[connectors."local://aileron/files".credential]
env = "TEST_FILES_KEY"
"""


@dataclass
class House:
    """One home, its sample service, and the processes on it."""

    home: Path
    service: SampleService
    gate: subprocess.Popen[str] | None = None
    environment_more: dict[str, str] = field(default_factory=dict)
    _processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        credentials = {"TEST_MAIL_TOKEN": MAIL_CREDENTIAL, "TEST_FILES_KEY": FILES_CREDENTIAL}
        return environment(self.home, **credentials, **self.environment_more)

    def make_key(self, passphrase: str = "") -> None:
        """A key that may approve; without a passphrase nothing has to be unlocked."""
        secret = bytearray(passphrase.encode()) if passphrase else None
        made = key_store.create(self.home / "keys", "default", secret)
        with changing_keys(private_folder(self.home / "data")) as (ledger, approvers):
            ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment("default", made.public, insecure=made.insecure))

    def start_gate(self) -> JsonObject:
        """The gate alone; gives what it says when it is ready."""
        words = ["gate", "--port", "0", "--manifests", str(self.home / "manifests")]
        self.gate = self._start(words)
        assert self.gate.stdout is not None
        return read_object(self.gate.stdout.readline())

    def kill_gate(self) -> None:
        """As a power cut would."""
        assert self.gate is not None
        self.gate.send_signal(signal.SIGKILL)
        self.gate.wait(10)

    def call(self, action: str, wait: int = 60, **args: str) -> subprocess.Popen[str]:
        """An agent's call, waiting for its end."""
        return self._start(["run", action, "--args", json.dumps(args), "--wait", str(wait), "--agent", "tester"])

    def console(self, *words: str, size: tuple[int, int] = (100, 30), shell: bool = False) -> Terminal:
        """The console in a terminal."""
        return Terminal(list(words), self.environment, size, shell=shell)

    def subjects(self) -> list[str]:
        """The subjects of the mails that were sent."""
        return [mail.header("Subject") for mail in self.service.sent]

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def _start(self, words: list[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "aileron_tui", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.environment,
            text=True,
        )
        self._processes.append(process)
        return process


@dataclass
class Connected:
    """A daemon, and the home of consoles that find it by its file."""

    home: Path
    daemon: FakeDaemon

    @property
    def environment(self) -> dict[str, str]:
        return environment(self.home, HOME=str(self.daemon.home))

    def make_key(self) -> None:
        """A key that has not to be unlocked."""
        key_store.create(self.home / "keys", "default", None)

    def configure(self, text: str) -> None:
        """The whole configuration."""
        (self.home / "config.toml").write_text(text)

    def console(self, *words: str, size: tuple[int, int] = (100, 40)) -> Terminal:
        """The console in a terminal in which a sample request can be seen as a whole; or a command."""
        return Terminal(list(words), self.environment, size)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command without a terminal, to its end; what it complains about is shown when a test fails."""
        line = [sys.executable, "-m", "aileron_tui", *words]
        done = subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, env=self.environment, text=True, check=False
        )
        sys.stderr.write(f"{words} ended with {done.returncode}: {done.stderr}\n")
        return done


def answer(call: subprocess.Popen[str]) -> tuple[int, JsonObject]:
    """How a call ended, and what the agent was told."""
    out, _ = call.communicate(timeout=15)
    return call.returncode, read_object(out)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample connectors, compiled."""
    return shared_cache(tmp_path_factory)


@pytest.fixture
def house(tmp_path: Path, compiled: Path) -> Iterator[House]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(compiled, home / "cache")
    (home / "config.toml").write_text(CONFIG)
    with SampleService() as service:
        materialise(home / "manifests", service.port)
        made = House(home, service)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Connected]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with FakeDaemon(tmp_path / "user") as daemon:
        yield Connected(home, daemon)
