"""Open the console: on the daemon or gate at --url, else on the configured sources, else on what runs here."""

import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.full_screen import check_terminal, report_delay
from aileron_tui.console.run import quick_start, run_app
from aileron_tui.console.settings import THEMES, ConsoleSettings, default_theme
from aileron_tui.core.alert_routing import AlertOrder
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config, ConfigError
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.errors import NoKey
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.source_choice import GateChoice, SourceChoice, SourceOptions, choose_sources
from aileron_tui.surface.source_connection import source_specs

if TYPE_CHECKING:
    import argparse

    from aileron_tui.console.screens.first_run import FirstRunResult
    from aileron_tui.core.alerts import AlertChannel
    from aileron_tui.surface.embedded_gate import StartedGate
    from aileron_tui.surface.source import OperatorKey


@dataclass(frozen=True)
class ConsoleOptions:
    """The options of the command."""

    url: str = ""
    token_file: Path | None = None
    standalone: bool = False
    manifests: list[Path] = field(default_factory=list)
    key: str = ""
    read_only: bool = False
    theme: str | None = None


DEFAULTS: Final = ConsoleOptions()


def arguments(parser: "argparse.ArgumentParser") -> None:
    """Declares the command's arguments."""
    parser.add_argument("--url", default="", help="the daemon or gate to connect to")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="a file with the daemon's token")
    parser.add_argument("--standalone", action="store_true", help="run an embedded gate, whatever else is running")
    parser.add_argument(
        "--manifests",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="run an embedded gate with these manifests; can be given several times",
    )
    parser.add_argument("--key", metavar="NAME", default="", help="the key to sign with; required if there are several")
    parser.add_argument("--read-only", action="store_true", help="show requests without answering them")
    parser.add_argument("--theme", choices=THEMES, help="the colour theme")


def run(options: ConsoleOptions) -> int:
    """Returns 0 after quitting, 1 if the console cannot be opened."""
    check_terminal()
    with quick_start():
        return _open(options)


def _open(options: ConsoleOptions) -> int:
    config = load_config(paths().config)
    choices = choose_sources(config, _source_options(options))
    has_key = bool(key_store.stored(paths().keys))
    if not has_key or any(choice.kind == "embedded" for choice in choices):
        protect_process()  # a new key or a gate has secrets at once; otherwise the console calls it in time
    from aileron_tui.console.app import Console  # noqa: PLC0415  # not needed if there is nothing to open

    settings = _settings(options.theme, config)
    first_run = None if has_key else _ask_first_run(choices, settings.theme)
    if first_run and first_run.choice is first_run.choice.LEAVE:
        return OK
    if first_run and first_run.choice is first_run.choice.DEMO:
        from aileron_tui.cli.commands import demo  # noqa: PLC0415  # only if chosen

        return demo.open_demo(settings.theme)
    temporary = first_run is not None and first_run.choice is first_run.choice.RUN_KEY
    with ExitStack() as stack:
        key = stack.enter_context(_operator_key(options.key, first_run, choices))
        opened, gate = _start_gate(stack, choices, config, options.manifests)
        for choice in opened:
            if choice.note:
                sys.stderr.write(f"{inline(choice.note)}\n")
        sources = source_specs(opened, config, surface="console", at_exit=stack if temporary else None)
        log_lines = gate.log_lines if gate else None
        channels = partial(_channels, config)
        console = Console(
            sources,
            key,
            settings,
            log_lines=log_lines,
            read_only=options.read_only,
            channels=channels,
            before_secrets=protect_process,
        )
        return FAILED if run_app(console)[0] else OK


def _source_options(options: ConsoleOptions) -> SourceOptions:
    """Where to connect. Manifests are for an embedded gate, so --manifests implies one."""
    embedded = options.standalone or bool(options.manifests)
    return SourceOptions(options.url, options.token_file, embedded)


def _settings(theme: str | None, config: Config) -> ConsoleSettings:
    """The settings of the configuration, with the theme of the command line."""
    from aileron_tui.console.keymap import checked_keymap  # noqa: PLC0415  # the screen loads it anyway

    wanted = theme or config.console.theme or default_theme()
    if wanted not in THEMES:
        from aileron_tui.core.toml_schema import nearest  # noqa: PLC0415  # only for the error

        close = nearest(wanted, list(THEMES))
        hint = f'Did you mean "{close}"?' if close else f"Use one of {', '.join(THEMES)}."
        raise ConfigError(f'unknown theme "{wanted}"', str(paths().config), hint)
    console = config.console
    return ConsoleSettings(
        theme=wanted,
        undo_seconds=console.undo_seconds,
        lock_minutes=console.lock_minutes,
        follow=console.follow,
        bell=console.bell,
        notify=console.notify,
        high_risk=config.policy.high_risk,
        keymap=checked_keymap(console.keys),
        alert_order=AlertOrder.of(config.surfaces.order, config.surfaces.share),
    )


def _channels(config: Config, deny: Callable[[str], Coroutine[Any, Any, None]]) -> "Sequence[AlertChannel]":
    """The channels for the requests of daemons, whose only surface is this console: there is no page to open."""
    from aileron_tui.alerts.channels import channels  # noqa: PLC0415  # only if a daemon asks

    return channels(config, deny, lambda: None)


def _ask_first_run(choices: Sequence[SourceChoice], theme: str) -> "FirstRunResult":
    """Asks on the screen how to continue without a key."""
    for choice in choices:
        if choice.kind == "gate" and not (found := choice.find()).instance:
            detail = f"the gate at {found.url} accepts only enrolled keys"
            hint = "Create one with `aileron-tui key init`, and enroll it on the gate with `aileron-tui key enroll`."
            raise NoKey("there is no key to sign with", detail, hint)
    missing = ["There is no key yet to sign answers with."]
    if any(choice.kind == "embedded" for choice in choices):
        missing.insert(0, "No daemon and no gate is running here.")
    from aileron_tui.console.screens.first_run import FirstRun, FirstRunChoice, FirstRunResult  # noqa: PLC0415  # only the first time

    return run_app(FirstRun(missing, theme))[1] or FirstRunResult(FirstRunChoice.LEAVE)


def _operator_key(
    name: str, first_run: "FirstRunResult | None", choices: Sequence[SourceChoice]
) -> AbstractContextManager["OperatorKey"]:
    """The stored key, or the one that was chosen at the first run."""
    from aileron_tui.surface.operator_key import first_key, stored_key, temporary_key  # noqa: PLC0415  # after the screen is loaded

    if first_run is None:
        return stored_key(name)
    if first_run.choice is first_run.choice.RUN_KEY:
        return temporary_key(enroll=any(choice.kind not in ("daemon", "opencode") for choice in choices))
    return first_key(first_run.passphrase)


def _start_gate(
    stack: ExitStack, choices: Sequence[SourceChoice], config: Config, manifests: Sequence[Path]
) -> tuple[list[SourceChoice], "StartedGate | None"]:
    """Starts the embedded gate if one was chosen, and puts the running gate in its place."""
    if not any(choice.kind == "embedded" for choice in choices):
        return list(choices), None
    from aileron_tui.doors.claude_route import claude_routes  # noqa: PLC0415  # loads the gate
    from aileron_tui.page.offer import make_page  # noqa: PLC0415  # only with a gate
    from aileron_tui.surface.embedded_gate import start_embedded_gate  # noqa: PLC0415  # loads the gate

    with report_delay("Preparing the connectors. They are compiled the first time, which can take a minute."):
        gate = stack.enter_context(start_embedded_gate(config, manifests, claude_routes, make_page))
    running: list[SourceChoice] = [
        GateChoice(choice.name, gate.find, note=choice.note) if choice.kind == "embedded" else choice
        for choice in choices
    ]
    return running, gate
