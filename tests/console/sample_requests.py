"""Requests as a gate would send them, for tests and pictures of the console."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePath

from textual.app import App, ComposeResult

from aileron_tui.console.themes import THEMES
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult, Prompt, ResolvedStep
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.times import timestamp
from aileron_tui.files.paths import bundled
from aileron_tui.runtime.request_reader import read_gate_request

MAIL = "local://samples/mail"
HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
START = datetime(2026, 5, 12, 10, 15, 30, tzinfo=UTC)
NOW = START + timedelta(seconds=41)
SENDS = Risk(RiskLevel.HIGH, "may send or publish")
MOVES = Risk(RiskLevel.NORMAL, "by [[risk]] entry 1")

RECAP = "\n".join(
    [
        "Hi all,",
        "",
        "Here's the recap from this week's standup. It is longer than usual: two of us were away, and asked for more.",
        "",
        "* The importer now reads the new format; the old one stays until March.",
        "* Ana found why the nightly job was late: it waited for a lock nobody held.",
        "* The review of the storage proposal moved to Thursday, 14:00, room 3.",
        "",
        "Open questions:",
        "",
        "1. Who takes the release next week?",
        "2. Do we still need the second staging machine?",
        "3. Can the docs move to the main repository?",
        "",
        "Please answer in the thread, not by mail.",
        "",
        "Best,",
        "Sam",
    ]
)
EVENT = '{"event":{"title":"Review","rooms":["3","4"],"guests":[{"name":"Ana"},{"name":"Bo","ok":false}]},"v":1.50}'
PATCH = """diff --git a/importer.py b/importer.py
--- a/importer.py
+++ b/importer.py
@@ -10,6 +10,7 @@ def read(path):
     with open(path) as file:
-        return parse(file.read())
+        text = file.read()
+        return parse(text, strict=True)
"""


def prompt(
    inputs: tuple[Row, ...] = (Row("Draft id", "r-12345"),),
    rows: tuple[Row, ...] | None = None,
    *,
    action: str = "send-draft",
    unavailable: str = "",
    preview: bool = True,
    risk: Risk = SENDS,
    asker: Asker | None = None,
    trust: str = "signed by samples",
) -> Prompt:
    """The worked example, with parts replaced."""
    if rows is None:
        rows = (Row("To", "team@example.com"), Row("Subject", "Weekly recap"), Row("Body", RECAP, multiline=True))
    result = PreviewResult((), unavailable) if unavailable else PreviewResult(rows)
    args: JsonObject = {row.label: row.value for row in inputs}
    return Prompt(
        kind="action",
        action=action,
        connector=ConnectorRef(MAIL, "1.0.0", HASH, trust),
        args=args,
        inputs=inputs,
        preview=result if preview else None,
        asker=asker if asker is not None else Asker("claude-code", "s-81f2", "~/mail/recap"),
        risk=risk,
    )


def item(shown: Prompt, *, id_: str = "act-1", revision: int = 1, fetching: bool = False, waits: int = 300) -> Request:
    """A request as the client reads it."""
    fields: JsonObject = {
        "id": id_,
        "prompt": shown.fields(),
        "digest": shown.digest,
        "state": "pending",
        "action_name": shown.action,
        "requested_at": timestamp(START),
        "expires_at": timestamp(START + timedelta(seconds=waits)),
        "extendable_until": timestamp(START + timedelta(minutes=30)),
        "previewed_at": timestamp(START + timedelta(seconds=2)),
        "revision": revision,
        "preview_state": "fetching" if fetching else "ready",
        "instance": "gate-1",
        "head": "sha256:" + "0" * 64,
    }
    return read_gate_request(fields, "gate-1")


def worked() -> Request:
    """`send-draft` with a good draft id."""
    return item(prompt())


def two_steps() -> Request:
    """The same with a second step on another connector, which the agent's inputs do not mention."""
    first, files = prompt().connector, ConnectorRef("local://samples/files", "2.0.0", "sha256:" + "cd" * 32, "?")
    inputs: JsonObject = {"Draft id": "r-12345", "file_id": "f-1001", "note": "one\ntwo"}
    steps = (
        ResolvedStep("send", "send_draft", first, {"Draft id": "r-12345"}),
        ResolvedStep("clean", "remove", files, inputs),
    )
    return item(replace(prompt(), steps=steps))


def not_found() -> Request:
    """The same with an id that the service does not know."""
    return item(prompt((Row("Draft id", "19df4136f28569d2"),), unavailable="Gmail API returned 404"), id_="act-2")


def gaps() -> Request:
    """Rows that the answer did not have, and one that is empty."""
    rows = (
        Row("To", missing=True),
        Row("Subject", ""),
        Row("Size", "12 KB"),
        Row("Body", missing=True, multiline=True),
    )
    return item(prompt(rows=rows, risk=Risk(RiskLevel.NORMAL, "may create something")), id_="act-3")


def fetching() -> Request:
    """The preview is still being fetched."""
    return item(prompt(preview=False), id_="act-4", fetching=True)


def unpreviewed() -> Request:
    """An action without a preview."""
    return item(prompt(preview=False, risk=Risk(RiskLevel.LOW, "only reads")), id_="act-5")


def hostile(text: str, *, body: str | None = None) -> Request:
    """The text wherever foreign text can be."""
    rows = (Row(text, text), Row("Subject", text), Row("Body", text if body is None else body, multiline=True))
    shown = prompt(
        (Row(text, text), Row("Note", text, multiline=True)),
        rows,
        action=text,
        risk=Risk(RiskLevel.HIGH, text),
        asker=Asker(text, text, text, text),
        trust=text,
    )
    connector = ConnectorRef(text, text, text, text)
    steps = (ResolvedStep(text, text, connector, {text: text, "list": [text, text]}),) * 2
    shown = replace(shown, connector=connector, args={}, steps=steps)
    return item(shown, id_="act-6")


def unavailable_with(text: str) -> Request:
    """The text as the reason why there is no preview."""
    return item(prompt(unavailable=text or "-"), id_="act-7")


def structured() -> Request:
    """JSON sent by the agent, a patch fetched for it."""
    rows = (Row("Branch", "main"), Row("Patch", PATCH, multiline=True))
    return item(prompt((Row("Payload", EVENT, multiline=True),), rows, action="push-branch"), id_="act-8")


def long_body(text: str) -> Request:
    """The worked example with another body."""
    rows = (Row("To", "team@example.com"), Row("Subject", "Weekly recap"), Row("Body", text, multiline=True))
    return item(prompt(rows=rows), id_="act-9")


def before_edit() -> Request:
    """`send-mail` as the agent asked for it."""
    return item(prompt(_mail("team@example.com", RECAP), preview=False, action="send-mail"), id_="act-10")


def after_edit() -> Request:
    """The same as the operator edited it."""
    body = RECAP.replace("room 3", "room 5").replace("\n2. Do we still need the second staging machine?", "")
    edited = item(prompt(_mail("team-leads@example.com", body), preview=False, action="send-mail"), id_="act-10")
    return replace(edited, edited_from=before_edit().prompt)


def _mail(to: str, body: str) -> tuple[Row, ...]:
    return (Row("To", to), Row("Subject", "Weekly recap"), Row("Body", body, multiline=True))


def styles() -> list[str | PurePath]:
    """The stylesheets that a prompt needs."""
    return [bundled("styles") / "base.tcss", bundled("styles") / "prompt.tcss"]


class PromptApp(App[None]):
    """Shows one prompt. `reads` counts how often it was read to the end; no foreign text may set `ran`."""

    CSS_PATH = styles()

    def __init__(self, first: Request | None = None, *, theme: str = "aileron-dark") -> None:
        super().__init__()
        self._first = first
        self._named = theme
        self.reads = 0
        self.ran = False

    def compose(self) -> ComposeResult:
        yield PromptView()

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._named
        self.view.show(self._first)
        self.view.tick(NOW)
        self.view.focus()

    @property
    def view(self) -> PromptView:
        """The prompt."""
        return self.query_one(PromptView)

    def on_prompt_view_read_to_end(self) -> None:
        self.reads += 1

    def action_quit_now(self) -> None:
        self.ran = True


def waiting(item: Request, number: int, seconds: int) -> Request:
    """The request with its own id and this many of its 300 seconds left."""
    return replace(
        item,
        id=f"act-{number}",
        requested_at=timestamp(NOW - timedelta(seconds=300 - seconds)),
        expires_at=timestamp(NOW + timedelta(seconds=seconds)),
        fields=item.fields | {"previewed_at": timestamp(NOW - timedelta(seconds=2))},
    )


def lines(app: App[None]) -> list[str]:
    """What is on screen, row by row, as it would be written to the terminal."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


def controls(rows: list[str]) -> set[str]:
    """Characters that a terminal would obey or hide."""
    return {character for row in rows for character in row if not character.isprintable()}


def clickable(app: App[None]) -> list[object]:
    """Everything on screen that carries an action or a link."""
    strips = app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return [style for style in styles if style.link or "@click" in style.meta]
