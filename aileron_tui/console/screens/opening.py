"""Opens the history, raw view, rules, log and help. Each screen is loaded only when it is opened."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

if TYPE_CHECKING:
    from aileron_tui.console.port import ConsolePort
    from aileron_tui.console.widgets.quote import Quote
    from aileron_tui.core.request import Request


def open_history(app: App[Any], port: "ConsolePort") -> None:
    """Opens the history of all sources."""
    from aileron_tui.console.screens.history import HistoryScreen  # noqa: PLC0415
    from aileron_tui.surface.history_reader import HistoryReader  # noqa: PLC0415

    reader = HistoryReader(lambda: {name: port.source(name) for name in port.statuses})
    kinds = [port.source_label(name) for name in port.statuses]
    heading = "History of the daemon" if kinds == ["daemon"] else "History"
    screen = HistoryScreen(
        reader,
        keymap=port.keymap_in_use,
        heading=heading,
        events=port.source_events,
        signer=lambda: key.public.fingerprint if (key := port.keys.key) else "",
    )
    app.push_screen(screen)


def open_raw(app: App[Any], port: "ConsolePort", request: "Request") -> None:
    """Opens the raw view of a request."""
    from aileron_tui.console.screens.raw import RawScreen  # noqa: PLC0415

    source = port.source(request.source)
    preview = request.prompt.preview
    asks = preview is not None and preview.hidden and request.refreshable and request.state.decidable
    load = partial(source.fetched, request.id) if source is not None and asks else None
    app.push_screen(RawScreen(request, keymap=port.keymap_in_use, load=load))


def open_rule(app: App[Any], port: "ConsolePort", request: "Request", made: "Callable[[Request], None]") -> None:
    """Opens the sheet that makes a rule from a request; `made` is called once the rule is made."""
    from aileron_tui.console.rule_making import RuleMaking  # noqa: PLC0415
    from aileron_tui.console.screens.rule import RuleScreen  # noqa: PLC0415

    app.push_screen(RuleScreen(RuleMaking(port, request, made)))


def open_rules(app: App[Any], port: "ConsolePort") -> None:
    """Opens the rules of all sources."""
    from aileron_tui.console.screens.rules import RulesScreen  # noqa: PLC0415

    app.push_screen(RulesScreen(port))


def open_body(app: App[Any], port: "ConsolePort", request: "Request | None", quote: "Quote") -> None:
    """Opens a long text of a request on the full screen."""
    from aileron_tui.console.screens.body import BodyScreen  # noqa: PLC0415

    action = request.prompt.action if request else ""
    app.push_screen(BodyScreen(action, quote.block, quote.origin, keymap=port.keymap_in_use))


def open_log(app: App[Any], port: "ConsolePort") -> None:
    """Opens the log of the demo's agent, or of the gate in this window."""
    from aileron_tui.console.screens.agent_log import AgentLogScreen  # noqa: PLC0415

    if port.log_lines:
        app.push_screen(AgentLogScreen(port.log_lines))


def open_help(app: App[Any], port: "ConsolePort") -> None:
    """Opens the help."""
    from aileron_tui.console.screens.help import HelpScreen  # noqa: PLC0415

    app.push_screen(HelpScreen(keymap=port.keymap_in_use))
