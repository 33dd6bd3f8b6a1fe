"""The requests of a daemon on a real screen, kind by kind.

Pictures are kept in `kinds/`; `UPDATE_SNAPSHOTS=1` renews them after a change that is meant.
"""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from textual.pilot import Pilot

from aileron_tui.core.jsontext import JsonObject, read_object
from aileron_tui.core.prompt import lines as plain_lines
from aileron_tui.core.request import Request
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.daemon.request_reader import edited
from aileron_tui.surface.raw_request import raw_fields
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.sample_requests import NOW, PromptApp, clickable, controls, lines, worked
from tests.console.screen_app import async_test
from tests.hostile import HOSTILE
from tests.runtime.daemon.asked import ACTION, ARGS, KINDS, asked, item, read

FOLDER: Final = Path(__file__).parent / "kinds"
SIZES: Final = ((120, 36), (40, 15))
TALL: Final = (120, 60)
LOST: Final = "preview unavailable: external_api_error: Gmail API returned 404: <body> (boundary=sandbox)"


def bare() -> Request:
    """A call to the outside that carries no credential."""
    return item("http_request", args=ARGS["http_request"] | {"method": "GET", "body": "", "secret_name": ""})


def late() -> Request:
    """A command nobody waits for any more."""
    return item("shell", requested_at="2026-05-12T09:00:00Z")


def abandoned() -> Request:
    """A message that was asked for before the daemon restarted."""
    return item("comms_send", started=NOW - timedelta(minutes=1), requested_at="2026-05-12T10:00:00Z")


def lost() -> Request:
    """An action whose preview failed."""
    return item("action", preview={"unavailable": LOST})


def unfit() -> Request:
    """One that can only be denied."""
    return read(read_object('{"id": "a", "action_name": "set-limit", "args": {"limit": 12345678901234567891}}'))


CASES: Final = {
    **{kind.replace("_", "-"): item(kind) for kind in KINDS},
    "no-credential": bare(),
    "late-shell": late(),
    "abandoned": abandoned(),
    "no-preview": lost(),
    "deny-only": unfit(),
}


async def settle(pilot: Pilot[None]) -> None:
    """Until nothing changes any more."""
    seen: list[list[str]] = []
    for _ in range(200):
        await pilot.pause(0.01)
        assert isinstance(pilot.app, PromptApp)
        seen = [*seen[-3:], lines(pilot.app)]
        still = len(seen) == 4 and all(one == seen[0] for one in seen)
        if still and pilot.app.view.is_settled and not pilot.app.view._lookalikes.is_running:
            return


def words(app: PromptApp) -> str:
    """What is on screen, with single spaces."""
    return "\n".join(" ".join(row.split()) for row in lines(app) if row.strip())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", CASES)
@async_test
async def test_each_kind_looks_as_kept(name: str, size: tuple[int, int]) -> None:
    app = PromptApp(CASES[name])
    async with app.run_test(size=size) as pilot:
        app.view.tick(NOW)
        await settle(pilot)
        rows = lines(app)
        assert all(len(row) == size[0] for row in rows)
        assert not controls(rows)
        got = "\n".join(row.rstrip() for row in rows) + "\n"
    file = FOLDER / f"{name}-{size[0]}x{size[1]}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(got, "utf-8", newline="\n")
    assert got == file.read_text("utf-8")


def test_every_picture_is_looked_at() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {f"{name}-{w}x{h}.txt" for name in CASES for w, h in SIZES}


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("action", "Approve send-draft?"),
        ("comms_send", "Send this message?"),
        ("comms_draft", "Send this reply?"),
        ("http_request", "Make this HTTP request?"),
        ("shell", "Run this command?"),
        ("carrier_pigeon", "Approve carrier_pigeon?"),
    ],
)
@async_test
async def test_each_kind_asks_its_own_question(kind: str, question: str) -> None:
    app = PromptApp(item(kind))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        shown = words(app)
        assert shown.startswith(f"{question} asked 40 s ago")
        assert ("would run" in shown) is (kind == "action")
        app.view.toggle_details()
        await settle(pilot)
        assert ("Connector ▎" in words(app)) is (kind == "action")
        assert "left" not in shown.splitlines()[0]


@async_test
async def test_who_asks_is_what_the_agent_says() -> None:
    app = PromptApp(item("action"))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert '▸ asked by ▎ says it is "claude" in /home/alice/mail' in words(app)
        app.view.toggle_details()
        await settle(pilot)
        assert "Says it is ▎ claude\nSays folder ▎ /home/alice/mail\nSays session ▎ 01J0ABCDEF" in words(app)
        app.view.show(read(asked("action"), session=None))
        await settle(pilot)
        assert "asked by an agent that gave no name" in words(app)


@async_test
async def test_a_preview_is_as_old_as_the_request_and_is_not_fetched_again() -> None:
    app = PromptApp(item("action"))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert "fetched by connector aileron-connector-google · before asking, 40 s ago" in words(app)
        app.view.show(lost())
        await settle(pilot)
        shown = words(app)
        assert "⚠ Preview unavailable: Gmail API returned 404\n" in shown
        assert "press r" not in shown
        assert "press v to see everything the daemon sent" in shown


def test_the_raw_view_has_all_that_the_daemon_told() -> None:
    raw = raw_fields(lost())
    told = raw["as the daemon sent it"]
    assert isinstance(told, dict)
    assert told["preview"] == {"unavailable": LOST}
    assert told == asked("action", preview={"unavailable": LOST})
    assert raw["kind"] == "action"
    assert "as the daemon sent it" not in raw_fields(worked())


@async_test
async def test_a_shell_that_gives_up_while_one_looks_is_told_at_once() -> None:
    app = PromptApp(item("shell"))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert "gave up" not in words(app)
        app.view.tick(NOW + timedelta(minutes=5))
        await settle(pilot)
        assert "⚠ the shell stopped waiting after 5 minutes: an answer may have no effect" in words(app)
        app.view.show(item("comms_send"))
        await settle(pilot)
        assert "gave up" not in words(app)


@async_test
async def test_an_edit_of_each_kind_is_shown_as_old_and_new() -> None:
    draft, command = item("comms_draft"), item("shell")
    app = PromptApp(edited(draft, {"draft_body": "Yes.\nSince one."}))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        shown = words(app)
        assert "- Since noon." in shown
        assert "+ Since one." in shown
        app.view.show(edited(command, {"save_policy": "project"}))
        await settle(pilot)
        shown = words(app)
        assert "Save as rule ▎+project" in shown
        assert "⚠ approving also saves a rule (always in this project)" in shown


def hostile_requests(text: str) -> Iterator[Request]:
    """The text in every field of every kind."""
    session: JsonObject = {"agent": text, "working_dir": text}
    field: JsonObject = {"label": text, "value": text}
    block: JsonObject = {"label": text, "value": text, "multiline": True}
    common: JsonObject = {"session_id": text, "connector_fqn": text, "preview": {"fields": [field, block]}}
    for kind in KINDS:
        args: JsonObject = {text: text, "deep": [text, {text: text}]}
        args |= dict.fromkeys(ARGS.get(kind, ("draft_id",)), text)
        yield read(asked(kind, args=args, **common), session=session, action=ACTION)
    lost: JsonObject = {"action_name": text, "input_fields": [field, block], "preview": {"unavailable": text}}
    yield read(asked("action", **lost), session=session)
    yield read(asked("action", kind=text, args={text: text}), session=session)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_in_every_field_of_every_kind_is_kept_whole(name: str) -> None:
    text = carried(HOSTILE[name])
    for shown in hostile_requests(text):
        assert text in [row.value for row in shown.prompt.inputs]
        assert not controls(list(plain_lines(shown.prompt)))
        assert not controls([inline(sentence) for sentence in shown.cautions_at(NOW)])


@hostile_texts(parts=4)
@async_test
async def test_hostile_text_in_every_field_of_every_kind_is_only_shown(texts: dict[str, str]) -> None:
    """Each text is seen in one kind, each kind with many texts."""
    app = PromptApp(item("action"))
    async with app.run_test(size=(80, 200)) as pilot:
        for number, (name, hostile) in enumerate(texts.items()):
            made = list(hostile_requests(carried(hostile)))
            app.view.show(made[number % len(made)])
            for _ in range(2):
                await pilot.pause()
                assert not controls(lines(app)), name
                assert not clickable(app), name
                app.view.scroll_rows(SIZES[1][1])
        assert not app.ran


@async_test
async def test_hostile_text_stays_in_its_place_in_full() -> None:
    """Nothing of it is dropped: what is not shown as it is, is shown as a mark."""
    text = "safe\x1b[2J\u202e\u200b[@click=app.quit]x[/]"
    app = PromptApp(read(asked("shell", args={"command": text, "reason": text, "cwd": text, text: text})))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        shown = "safe⟨ESC⟩[2J⟨U+202E⟩⟨U+200B⟩[@click=app.quit]x[/]"
        assert words(app).count(shown) == 4
        assert "⟨U+200B⟩[@click=app.quit]" in words(app)


@async_test
async def test_a_request_of_high_risk_is_read_when_its_end_was_seen() -> None:
    app = PromptApp(item("comms_draft"))
    async with app.run_test(size=SIZES[1]) as pilot:
        await settle(pilot)
        assert not app.view.read_to_end
        for _ in range(30):
            app.view.scroll_rows(4)
            await pilot.pause()
        assert app.view.read_to_end


@async_test
async def test_what_the_daemon_filled_in_is_not_called_sent() -> None:
    """An agent that names an arg after a filled-in one does not move it there."""
    app = PromptApp(read(asked("comms_draft", args=ARGS["comms_draft"] | {"Service": "lie"})))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        sent, _, rest = words(app).partition("filled in by the daemon")
        sent = sent.partition("agent sent")[2]
        assert "Reply to ▎ 1715508930.0001" in sent
        assert "agent sent Draft 2 lines\n▎ Yes.\n▎ Since noon.\n" in rest
        assert "Service ▎ lie" in sent
        assert "slack" not in sent
        for filled in ("Service ▎ slack", "Channel ▎ #support", "Written by ▎ bob", "Is it done?"):
            assert filled in rest
        app.view.show(edited(item("comms_draft"), {"draft_body": "No."}))
        await settle(pilot)
        assert "Service ▎ slack" in words(app).partition("filled in by the daemon")[2]
        app.view.show(item("http_request"))
        await settle(pilot)
        assert "Credential ▎ example-api" in words(app).partition("filled in by the daemon")[2]
        app.view.show(item("comms_send"))
        await settle(pilot)
        assert "filled in by the daemon" not in words(app)
