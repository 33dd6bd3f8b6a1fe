"""Open the console: on the daemon or gate at --url, else on what is configured, else on what runs here."""

import io
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aileron_tui.cli import FAILED, OK
from aileron_tui.cli.full_screen import check_terminal, patience
from aileron_tui.console.run import quick_start, run_app
from aileron_tui.console.settings import THEMES, ConsoleSettings, default_theme
from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config, ConfigError
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import bundled, paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.runtime.gate_discovery import FoundGate
from aileron_tui.signing import key_store
from aileron_tui.signing.errors import NoKey
from aileron_tui.signing.secret_memory import protect_process, wipe
from aileron_tui.surface.source_choice import Chosen, GateChoice, chosen
from aileron_tui.surface.source_connection import connecting

if TYPE_CHECKING:
    import argparse

    from aileron_tui.console.screens.first_run import FirstRunResult
    from aileron_tui.surface.key_holder import StoredKeyholder
    from aileron_tui.surface.source import Keyholder

_KEY: Final = "default"
_LOG_LINES: Final = 2000


@dataclass(frozen=True, slots=True)
class _InsideGate:
    """Where the gate is, each time it is asked, and what it tells if it is inside this process."""

    find: Callable[[], FoundGate]
    log: Callable[[], Sequence[str]] | None = None


@dataclass(frozen=True)
class ConsoleOptions:
    """What can be said on the command line."""

    url: str = ""
    token_file: Path | None = None
    standalone: bool = False
    manifests: Path | None = None
    key: str = ""
    read_only: bool = False
    theme: str | None = None


DEFAULTS: Final = ConsoleOptions()


def arguments(parser: "argparse.ArgumentParser") -> None:
    """Declares the command's arguments."""
    parser.add_argument("--url", default="", help="the daemon or gate to talk to")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="the file with the daemon's token")
    parser.add_argument("--standalone", action="store_true", help="run a gate inside, even if none is set up")
    parser.add_argument("--manifests", metavar="DIR", type=Path, help="what can be called on the gate inside")
    parser.add_argument("--key", metavar="NAME", default="", help="the key to sign with, if there are several")
    parser.add_argument("--read-only", action="store_true", help="look, but answer nothing")
    parser.add_argument("--theme", choices=THEMES, help="how it looks")


def run(options: ConsoleOptions) -> int:
    """0 after it was left, 1 if it cannot be opened."""
    check_terminal()
    with quick_start():
        return _open(options)


def _open(options: ConsoleOptions) -> int:
    protect_process()
    config = load_config(paths().config)
    choices = chosen(options, config)
    from aileron_tui.console.app import Console  # noqa: PLC0415  # not needed to say that there is nothing to open
    from aileron_tui.surface.source import Upstream  # noqa: PLC0415

    settings = _settings(options.theme, config)
    start = None if key_store.stored(paths().keys) else _first_run(choices, settings.theme)
    if start and start.way is start.way.LEAVE:
        return OK
    if start and start.way is start.way.DEMO:
        from aileron_tui.cli.commands import demo  # noqa: PLC0415  # only if it is wanted

        return demo.open_demo(settings.theme)
    with ExitStack() as stack:
        holder = stack.enter_context(_key(options.key, start, choices))
        upstreams, log = [], None
        for choice in choices:
            opened = choice
            if choice.kind == "inside":
                inside = stack.enter_context(_inside(options, config))
                opened, log = GateChoice(choice.name, inside.find), inside.log
            if choice.note:
                sys.stderr.write(f"{inline(choice.note)}\n")
            leaving = stack if start and start.way is start.way.RUN_KEY else None
            connect = connecting(opened, config, surface="console", leaving=leaving)
            upstreams.append(Upstream(opened.name, connect, opened.kind))
        console = Console(upstreams, holder, settings, log_lines=log, read_only=options.read_only)
        return FAILED if run_app(console)[0] else OK


def _settings(theme: str | None, config: Config) -> ConsoleSettings:
    """What the configuration says, and the command line over it."""
    from aileron_tui.console.keymap import checked_keymap  # noqa: PLC0415  # the screen loads it anyway

    wanted = theme or config.console.theme or default_theme()
    if wanted not in THEMES:
        from aileron_tui.core.toml_schema import nearest  # noqa: PLC0415  # only to complain

        close = nearest(wanted, list(THEMES))
        hint = f'Did you mean "{close}"?' if close else f"Write one of {', '.join(THEMES)}."
        raise ConfigError(f'there is no theme "{wanted}"', str(paths().config), hint)
    console = config.console
    return ConsoleSettings(
        theme=wanted,
        undo_seconds=console.undo_seconds,
        lock_minutes=console.lock_minutes,
        bell=console.bell,
        notify=console.notify,
        high_risk=config.policy.high_risk,
        keymap=checked_keymap(console.keys),
    )


def _first_run(choices: Sequence[Chosen], theme: str) -> "FirstRunResult":
    """How to go on without a key, asked on the screen."""
    for choice in choices:
        if choice.kind == "gate" and not (found := choice.find()).instance:
            detail = f"the gate at {found.url} lets in only keys that it knows"
            hint = (
                "`aileron-tui key init` makes one; `aileron-tui key enroll` on the gate's side lets it approve there."
            )
            raise NoKey("there is no key to sign with", detail, hint)
    missing = ["There is no key yet to sign answers with."]
    if any(choice.kind == "inside" for choice in choices):
        missing.insert(0, "No daemon and no gate is running here.")
    from aileron_tui.console.screens.first_run import FirstRun, FirstRunChoice, FirstRunResult  # noqa: PLC0415  # only the first time

    return run_app(FirstRun(missing, theme))[1] or FirstRunResult(FirstRunChoice.LEAVE)


@contextmanager
def _key(name: str, start: "FirstRunResult | None", choices: Sequence[Chosen]) -> Iterator["Keyholder"]:
    """The operator's key: the one that is stored, the one to make, or one for this run."""
    from aileron_tui.surface.key_holder import RunKeyholder, StoredKeyholder  # noqa: PLC0415  # after the screen is loaded

    here = paths()
    if start and start.way is start.way.RUN_KEY:
        from aileron_tui.surface.embedded_gate import enrolled  # noqa: PLC0415  # not needed with a stored key

        with ExitStack() as stack:
            key = stack.enter_context(key_store.for_this_run(f"run-{os.urandom(4).hex()}"))
            if any(choice.kind != "daemon" for choice in choices):
                stack.enter_context(enrolled(private_folder(here.data), key))
            yield RunKeyholder(key)
        return
    holder = (
        _made(start.passphrase) if start else StoredKeyholder(here.keys, key_store.choose(here.keys, name or None).name)
    )
    try:
        yield holder
    finally:
        holder.lock()


def _made(passphrase: bytearray) -> "StoredKeyholder":
    """A new key, unlocked, that may approve on the gate of this home."""
    from aileron_tui.core.entry_chain import EntryKind  # noqa: PLC0415
    from aileron_tui.surface.embedded_gate import changing_keys  # noqa: PLC0415  # only the first time
    from aileron_tui.surface.key_holder import StoredKeyholder  # noqa: PLC0415

    here = paths()
    try:
        with changing_keys(private_folder(here.data)) as (ledger, approvers):
            # A key whose file is lost keeps its name in the ledger.
            taken = any(approver.name == _KEY for approver in approvers.active)
            made = key_store.create(here.keys, f"{_KEY}-{os.urandom(4).hex()}" if taken else _KEY, passphrase)
            ledger.append(EntryKind.KEY_ENROLLED, approvers.enrolment(made.name, made.public))
        holder = StoredKeyholder(here.keys, made.name)
        holder.unlock(passphrase)
    finally:
        wipe(passphrase)
    return holder


@contextmanager
def _inside(options: ConsoleOptions, config: "Config | None") -> Iterator[_InsideGate]:
    """A gate in this process, on the user's own data."""
    from aileron_tui.files.config import Config  # noqa: PLC0415
    from aileron_tui.gate.gate_log import GateLog  # noqa: PLC0415
    from aileron_tui.gate.gate_state import GateSetup  # noqa: PLC0415
    from aileron_tui.gate.server import GateStartError, ListenAddress  # noqa: PLC0415
    from aileron_tui.sandbox.connector_package import load_keyring  # noqa: PLC0415
    from aileron_tui.surface.embedded_gate import EmbeddedGate  # noqa: PLC0415  # not needed to talk to one elsewhere

    here = paths()
    manifests: Path = options.manifests or bundled("manifests")
    if not manifests.is_dir():
        raise AileronError(f"there is no folder {manifests}", hint="Name one with --manifests.")
    setup = GateSetup(
        private_folder(here.data),
        manifests,
        config or Config(),
        private_folder(here.cache),
        keyring=load_keyring(here.keyring),
    )
    lines = _LastLines()
    with ExitStack() as stack:
        with patience("Preparing the connectors; the first time takes a few seconds…"):
            try:
                gate = stack.enter_context(EmbeddedGate(setup, ListenAddress(), GateLog(lines)))
            except GateStartError:
                # Somebody else has the usual port. Whoever looks for this gate finds it by its file.
                gate = stack.enter_context(EmbeddedGate(setup, ListenAddress(port=0), GateLog(lines)))
        yield _InsideGate(lambda: gate.found, lines.kept)


class _LastLines(io.StringIO):
    """A stream that keeps the last lines."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)

    def write(self, text: str) -> int:
        """Takes whole lines, as a journal writes them."""
        self._lines.append(text.rstrip("\n"))
        return len(text)

    def kept(self) -> Sequence[str]:
        """The last lines."""
        return tuple(self._lines)
