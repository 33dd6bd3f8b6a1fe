"""Our words around a request: what is asked, how careful an answer must be, where each part comes from."""

from datetime import datetime
from typing import Final

from textual.content import Content

from aileron_tui.console.render import ACCENT, DANGER, LOUD, MUTED, STRONG, WARNING, foreign_short, own
from aileron_tui.console.widgets.fields import Field
from aileron_tui.console.widgets.time_left import ago
from aileron_tui.core.prompt import Prompt
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.times import moment
from aileron_tui.core.visible_text import clip, inline
from aileron_tui.runtime.daemon.cautions import cautions
from aileron_tui.runtime.daemon.request_kinds import ACTION, COMMS_DRAFT, COMMS_SEND, HTTP_REQUEST, SHELL
from aileron_tui.runtime.request_reader import Item

_RISKS: Final = {
    RiskLevel.LOW: ("○ low risk", MUTED),
    RiskLevel.NORMAL: ("● normal risk", STRONG),
    RiskLevel.HIGH: ("▲ high risk", DANGER),
}
_QUESTIONS: Final = {
    COMMS_SEND: "Send this message?",
    COMMS_DRAFT: "Send this reply?",
    HTTP_REQUEST: "Make this HTTP request?",
    SHELL: "Run this command?",
}
# What a well-behaved gate never reaches; beyond it the raw view has the rest.
_NAME: Final = 80
_SENTENCE: Final = 400
_HASH: Final = 26
_QUIET: Final = ("signed", "unsigned")
_RETRY: Final = ", or press r to try again"
_WHOLE: Final = "; press v for all that the daemon says"
_DOUBTFUL: Final = "it is not certain who made this connector"


def title(prompt: Prompt, *, asks: bool = True) -> Content:
    """The question, and what it was about when there is nothing to answer any more."""
    if not asks:
        return foreign_short(prompt.action, _NAME, ACCENT)
    if question := _QUESTIONS.get(prompt.kind):
        return own(question, ACCENT)
    return Content.assemble(own("Approve ", STRONG), foreign_short(prompt.action, _NAME, ACCENT), own("?", STRONG))


def risk(prompt: Prompt) -> Content:
    """How careful an answer must be, and why."""
    words, style = _RISKS[prompt.risk.level]
    return Content.assemble(own(words, style), "  ", foreign_short(prompt.risk.reason, _SENTENCE, MUTED))


def cautioned(item: Item, now: datetime) -> Content:
    """What should be known before an answer, one sentence a line."""
    said = [Content.assemble(own("⚠ ", LOUD), foreign_short(line, _SENTENCE, LOUD)) for line in cautions(item, now)]
    return Content("\n").join(said)


def sent(item: Item) -> Content:
    """The head of what the agent sent, and whether it was edited."""
    nothing = "" if item.prompt.inputs else " nothing"
    edited = "  edited: − as asked, + as edited" if item.edited_from else ""
    return Content.assemble(own("agent sent", STRONG), own(nothing, MUTED), own(edited, WARNING))


def fetched(item: Item) -> Content:
    """The head of what was fetched, or why there is nothing."""
    prompt = item.prompt
    connector = foreign_short(short_name(prompt.connector.name), _NAME)
    if item.fetching:
        return Content.assemble(own("fetching from connector ", STRONG), connector, own(" …", STRONG))
    if prompt.preview is None:
        which = "This action has no preview" if prompt.kind == ACTION else "Nothing is fetched for such a request"
        return own(f"{which}: only what the agent sent is known.", MUTED)
    if prompt.preview.unavailable:
        return Content("")
    return Content.assemble(own("fetched by connector ", STRONG), connector)


def unavailable(item: Item) -> Content:
    """The warning that what would happen is not known."""
    preview = item.prompt.preview
    if item.fetching or preview is None or not preview.unavailable:
        return Content("")
    return Content.assemble(
        own("⚠ Preview unavailable: ", LOUD),
        foreign_short(preview.unavailable, _SENTENCE, STRONG),
        own(f"\nOnly what the agent sent is known. You can still decide{_RETRY if item.refreshable else _WHOLE}."),
    )


def asker_field(item: Item) -> Field:
    """Who asks. To a daemon an agent names its session itself, so that is only what it says."""
    agent = item.prompt.asker.agent
    label = "Says it is" if item.daemon and agent else "Asked by"
    return Field(label, _brief(agent), "" if agent else "an agent that gives no name")


def told_fields(prompt: Prompt) -> tuple[Field, ...]:
    """What else the agent tells about itself."""
    told = (("Session", prompt.asker.session), ("Folder", prompt.asker.folder))
    return tuple(Field(label, _brief(value)) for label, value in told if value)


def connector_fields(prompt: Prompt) -> tuple[Field, ...]:
    """What would run; nothing where no connector has a part in it."""
    if prompt.kind != ACTION and not prompt.connector.name:
        return ()
    connector = prompt.connector
    name = f"{connector.name} {connector.version}".rstrip()
    digest = clip(inline(connector.hash), _HASH) if connector.hash else None
    warned = () if not connector.trust or connector.trust.startswith(_QUIET) else (_DOUBTFUL,)
    return (
        Field("Connector", _brief(name), "" if name else "not told"),
        Field("Hash", digest, "" if digest else "not told"),
        Field("Signature", _brief(connector.trust), "" if connector.trust else "not told", warnings=warned),
    )


def _brief(text: str) -> str | None:
    if len(text) <= _SENTENCE:
        return text or None
    return clip(inline(text), _SENTENCE)


def short_name(connector: str) -> str:
    """The last part of a connector's full name."""
    return connector.rstrip("/").rpartition("/")[2] or connector


def age(item: Item, now: datetime) -> str:
    """How long ago it was fetched; one that does not tell when leaves us only the time of asking.

    A daemon fetches before it asks, and never again.
    """
    preview = item.prompt.preview
    if item.fetching or preview is None or preview.unavailable:
        return ""
    told = item.fields.get("previewed_at")
    try:
        if item.daemon:
            return f"before asking, {ago((now - moment(item.requested_at)).total_seconds())}"
        if isinstance(told, str) and told:
            return ago((now - moment(told)).total_seconds())
        return f"at most {ago((now - moment(item.requested_at)).total_seconds())}".replace("at most just", "just")
    except ValueError:
        return "time not known"
