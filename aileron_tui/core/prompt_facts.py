"""Facts about a request that every surface states in the same words: who asks, what would run, how old a preview is."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.daemon_kinds import ACTION, split_by_origin
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.resolved_step import ConnectorRef, account_words, short_name
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.step_rows import step_rows
from aileron_tui.core.time_words import LONGEST_AGO, ago
from aileron_tui.core.times import moment
from aileron_tui.core.visible_text import LONGEST_CONVERTED, quoted, short

RISK_WORDS: Final[Mapping[RiskLevel, str]] = {
    RiskLevel.LOW: "○ low risk",
    RiskLevel.NORMAL: "● normal risk",
    RiskLevel.HIGH: "▲ high risk",
}

_SINGLE_WORD: Final = re.compile(r'[^\s"·]+')
_SHORT_HASH: Final = 8
_KNOWN_SIGNATURES: Final = ("signed", "unsigned")
_UNCERTAIN_CONNECTOR: Final = "it is unclear who made this connector"


def rows_by_origin(request: Request, prompt: Prompt) -> tuple[Sequence[Row], Sequence[Row]]:
    """The rows of this prompt of a request that the agent sent, and those that a daemon filled in."""
    return split_by_origin(prompt.kind, prompt.args, prompt.inputs) if request.daemon else (prompt.inputs, ())


def asker_words(prompt: Prompt) -> str:
    """Who asks: the name of the agent's token, then what the agent says about itself. A daemon knows only the latter.

    What the agent calls itself is in quotes that it cannot close, and so is a folder that could be taken for more.
    """
    says = prompt.says if len(prompt.says) <= LONGEST_CONVERTED else short(prompt.says, LONGEST_CONVERTED)
    folder = prompt.asker.folder
    if len(folder) <= LONGEST_CONVERTED and not _SINGLE_WORD.fullmatch(folder):
        folder = quoted(folder)
    claims = (quoted(says) if says else "", f"in {folder}" if prompt.asker.folder else "")
    claim = " ".join(part for part in claims if part)
    return " · ".join(part for part in (prompt.agent, f"says it is {claim}" if claim else "") if part)


def run_words(prompt: Prompt) -> str:
    """What would run: op, connector, account, signature, and the start of the connector's hash."""
    connector, steps = prompt.connector, prompt.steps
    name = f"{short_name(connector.name)} {connector.version}".strip()
    about = (name, account_words(connector), connector.trust, connector.hash.rpartition(":")[2][:_SHORT_HASH])
    op = steps[0].op if len(steps) == 1 else f"{len(steps)} steps" if steps else ""
    return " · ".join(part for part in (op, *(about if len(connectors(prompt)) == 1 else ())) if part)


def runs_connector(prompt: Prompt) -> bool:
    """Whether a connector would run, so that there is something to say about it."""
    return prompt.kind not in NOT_RUN_HERE and (prompt.kind == ACTION or bool(prompt.connector.name))


def connectors(prompt: Prompt) -> list[ConnectorRef]:
    """The connectors that would run, that of the first step first."""
    return list(dict.fromkeys([prompt.connector, *(step.connector for step in prompt.steps)]))


def trust_warnings(connector: ConnectorRef) -> tuple[str, ...]:
    """What to know about who made a connector."""
    certain = not connector.trust or connector.trust.startswith(_KNOWN_SIGNATURES)
    return () if certain else (_UNCERTAIN_CONNECTOR,)


def sends_only_inputs(prompt: Prompt) -> bool:
    """Whether one step would run, and sends exactly what the agent sent, each value under its own name.

    A value under another name does not count: the agent could send it to hide a fixed value of the manifest.
    """
    return len(prompt.steps) <= 1 and not step_rows(prompt.steps, prompt.args)


def is_compiling(request: Request) -> bool:
    """Whether the preview waits for a connector that is being compiled."""
    return request.fetching and bool(request.fields.get("compiling_since"))


def _time_compiling(request: Request, now: datetime) -> str:
    try:
        return f"{max(0, round((now - moment(str(request.fields['compiling_since']))).total_seconds()))} s"
    except ValueError:
        return ""


def preview_age(request: Request, now: datetime) -> tuple[str, int]:
    """How long ago the preview was fetched, and the room to reserve for it, so that nothing moves when it grows.

    While its connector is being compiled, how long that has taken.

    A daemon fetches the preview once, before it asks. If a gate does not say when it fetched the preview, it was after
    the agent asked. Nobody knows how old a preview is that the agent told.
    """
    preview = request.prompt.preview
    if is_compiling(request):
        return _time_compiling(request, now), len("120 s")
    if request.fetching or preview is None or preview.unavailable or preview.told_by:
        return "", 0
    fetched = request.fields.get("previewed_at")
    known = isinstance(fetched, str) and bool(fetched) and not request.daemon
    prefix = "before asking, " if request.daemon else "" if known else "at most "
    try:
        age = ago((now - moment(str(fetched) if known else request.requested_at)).total_seconds())
    except ValueError:
        return "at an unknown time", 0
    return f"{prefix}{age}".replace("at most just", "just"), len(prefix) + LONGEST_AGO
