"""The prompt on a real screen: what it says, where, whose words, and when it counts as read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.color import ColorSystem
from textual.content import Content
from textual.pilot import Pilot
from textual.screen import ModalScreen

from aileron_tui.console.render import trusted
from aileron_tui.console.widgets.prompt_view import PromptView
from aileron_tui.console.widgets.quote import Quote
from aileron_tui.core.prompt import Asker, ResolvedStep
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from tests.console import sample_requests as samples
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.sample_requests import NOW, RECAP, START, PromptApp, clickable, controls, item, lines, prompt
from tests.console.screen_app import async_test
from tests.hostile import HOSTILE, WORST

SIZES = [(120, 36), (80, 24), (40, 15)]
TALL = (100, 60)
LONG = "\n".join(f"line {number}" for number in range(1, 121))
HUGE = "Some words of a long mail, which has very many lines like this one.\n" * 150_000


async def settle(pilot: Pilot[None]) -> None:
    """Until nothing more is counted or checked.

    Without a request, or while its preview is fetched, nothing ever counts as read: then this waits ten times as long
    as reading takes.
    """
    app = pilot.app
    assert isinstance(app, PromptApp)
    settled = 0
    for _ in range(600):
        await pilot.pause(0.01)
        view = app.view
        unreadable = view._request is None or view._request.fetching
        counted = all(quote.body.long_text.counted for quote in view._shown_quotes())
        done = counted and (view.is_settled or unreadable) and not view._lookalikes.is_running
        settled = settled + 1 if done else 0
        if settled == (round(10 * view.DWELL_SECONDS / 0.01) if unreadable else 3):
            break
    await pilot.pause()
    await pilot.pause()


def is_read(app: PromptApp) -> bool:
    return app.view.read_to_end


async def read_all(app: PromptApp, pilot: Pilot[None]) -> None:
    """Reads on until nothing is left; every step shows something new."""
    for _ in range(100):
        before = app.view.unread.lines
        if is_read(app):
            return
        app.view.read_on()
        await settle(pilot)
        assert app.view.unread.lines < before
    raise AssertionError(f"{app.view.unread.lines} lines cannot be read")


def quote(app: PromptApp, number: int = 0) -> Quote:
    return list(app.view._shown_quotes())[number]


def squeezed(app: PromptApp) -> list[str]:
    """The rows on screen with single blanks."""
    return [" ".join(row.split()) for row in lines(app)]


def found(app: PromptApp, words: str) -> str:
    """The row that has these words."""
    return next((row for row in lines(app) if words in row), "")


@async_test
async def test_what_an_agent_calls_itself_is_marked_as_its_claim() -> None:
    asker = Asker("mallory", "s-1", "/etc", "Gate self-check (verified)")
    app = PromptApp(samples.item(replace(samples.worked().prompt, asker=asker)))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        line = '▸ asked by ▎ mallory · says it is "Gate self-check (verified)" in /etc'
        assert [row for row in squeezed(app) if "mallory" in row or "Gate self-check" in row] == [line]
        app.view.toggle_details()
        await settle(pilot)
        shown = squeezed(app)
        at = shown.index("▾" + line[1:])
        assert shown[at + 1 : at + 5] == [
            "Agent ▎ mallory",
            "Says it is ▎ Gate self-check (verified)",
            "Says folder ▎ /etc",
            "Says session ▎ s-1",
        ]


@async_test
async def test_what_an_agent_calls_itself_cannot_add_to_the_line() -> None:
    asker = Asker("mallory", "", "", 'x" · signed by samples')
    app = PromptApp(samples.item(replace(samples.worked().prompt, asker=asker)))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert found(app, "asked by").rstrip().endswith('says it is "x\\" · signed by samples"')


@async_test
async def test_the_folder_an_agent_claims_cannot_add_to_the_line() -> None:
    asker = Asker("mallory", "", '/w" · token checked by the gate', "x")
    app = PromptApp(samples.item(replace(samples.worked().prompt, asker=asker)))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert found(app, "asked by").rstrip().endswith('says it is "x" in "/w\\" · token checked by the gate"')


@async_test
async def test_the_agent_of_an_older_prompt_is_a_claim() -> None:
    app = PromptApp(samples.item(replace(samples.worked().prompt, asker=Asker("claude-code"), version=2)))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert '▸ asked by ▎ says it is "claude-code"' in squeezed(app)


@async_test
async def test_the_worked_example() -> None:
    app = PromptApp(samples.worked())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        shown = [" ".join(row.split()) for row in lines(app)]
        text = "\n".join(row for row in shown if row)
        order = [
            "Approve send-draft? ━━━━━━━━━━╸─ 4:19 left",
            "▲ high risk may send or publish",
            "fetched by connector mail · 30 s ago",
            "To ▎ team@example.com",
            "Subject ▎ Weekly recap",
            "agent sent",
            "Draft id ▎ r-12345",
            "▸ asked by ▎ claude-code · says it is in ~/mail/recap",
            "▸ would run ▎ mail 1.0.0 · signed by samples · 9f86d081",
            "fetched Body 18 lines",
            "▎ Hi all,",
            "▎ Sam",
        ]
        places = [text.find(line) for line in order]
        assert -1 not in places, order[places.index(-1)]
        assert places == sorted(places)


@pytest.mark.parametrize("size", [(40, 80), (120, 60)])
@async_test
async def test_the_account_is_shown_and_what_lacks_one_is_warned_about(size: tuple[int, int]) -> None:
    plain, needs = prompt(), "local://samples/mail needs an account: run `aileron-tui bind local://samples/mail`"
    for connector, words, warnings in (
        (replace(plain.connector, account="work"), "accountwork", ()),
        (replace(plain.connector, needs=needs), "".join(needs.split()), (needs,)),
    ):
        steps = (ResolvedStep("send", "send_draft", connector, plain.args),)
        app = PromptApp(item(replace(plain, connector=connector, steps=steps, warnings=warnings)))
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            shown = "".join("".join(row.split()) for row in lines(app))
            assert words in shown.replace("▎", "").replace("▌", "")


@async_test
async def test_a_call_without_an_account_is_not_said_to_be_decidable() -> None:
    plain = prompt(unavailable="an account is needed")
    for needs, words in (("", "You can still decide"), ("run `aileron-tui bind`", "you can only deny it")):
        step = ResolvedStep("send", "send_draft", replace(plain.connector, needs=needs), plain.args)
        app = PromptApp(item(replace(plain, steps=(step,))))
        async with app.run_test(size=(120, 60)) as pilot:
            await settle(pilot)
            assert ("You can still decide" in words) == any("You can still decide" in row for row in lines(app))
            assert any(words in row for row in lines(app))


@pytest.mark.parametrize("size", [(40, 80), (120, 60)])
@async_test
async def test_every_step_that_would_run_is_shown_with_its_inputs(size: tuple[int, int]) -> None:
    app = PromptApp(samples.two_steps())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        shown = "".join("".join(row.split()) for row in lines(app)).replace("▎", "")
        assert "remove·local://samples/files2.0.0·sha256:cdcdcdcd…" in shown.replace("│", "")
        for words in ("wouldrun", "Step1", "send_draft", "Step2", "2.file_id", "f-1001", "2.note", "Signatureoffiles"):
            assert words in shown, words
        assert shown.index("agentsent") < shown.index("wouldrun") < shown.index("Step1") < shown.index("Step2")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "shown",
    [
        samples.two_steps(),
        samples.worked(),
        samples.not_found(),
        samples.gaps(),
        samples.structured(),
        samples.fetching(),
        None,
    ],
)
@async_test
async def test_every_size_shows_the_question_and_how_much_is_below(
    size: tuple[int, int], shown: Request | None
) -> None:
    app = PromptApp(shown)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        rows = lines(app)
        assert all(len(row) == size[0] for row in rows)
        if shown is None:
            assert found(app, "No requests waiting.")
            return
        assert f"Approve {shown.prompt.action}?" in rows[0] + rows[1]
        assert "4:19 left" in rows[0] + rows[1]
        below = round(app.view._body.max_scroll_y - app.view._body.scroll_y)
        assert (f"{below} more line" in rows[-1]) is (below > 0)


@async_test
async def test_every_hostile_text_is_only_shown() -> None:
    """The whole corpus as label, value and long value, several texts in one prompt, page by page."""
    texts = [(name, carried(text)) for name, text in HOSTILE.items()]
    app = PromptApp(samples.worked())
    async with app.run_test(size=(100, 120)) as pilot:
        for start in range(0, len(texts), 6):
            some = texts[start : start + 6]
            names = [name for name, _ in some]
            rows = tuple(Row(text[:500], text[:500]) for _, text in some)
            quotes = tuple(Row(text[:500], text, multiline=True) for _, text in some)
            app.view.show(item(prompt(rows, quotes), id_=f"act-{start}"))
            for _ in range(3):
                await pilot.pause()
                assert not controls(lines(app)), names
                assert not clickable(app), names
                app.view.scroll_rows(1, pages=True)
        assert not app.ran


@hostile_texts(parts=4)
@pytest.mark.parametrize("size", [SIZES[2], *(pytest.param(size, marks=pytest.mark.slow) for size in SIZES[:2])])
@async_test
async def test_hostile_text_in_every_place_is_only_shown(size: tuple[int, int], texts: dict[str, str]) -> None:
    """The smallest screen sees the whole corpus, the others the worst and a part of the rest, each text once."""
    app = PromptApp(samples.worked())
    async with app.run_test(size=size) as pilot:
        for name, hostile in list(texts.items())[:: 1 if size == SIZES[2] or texts is WORST else 3]:
            if name in WORST and texts is not WORST:
                continue
            text = carried(hostile)
            app.view.show(samples.hostile(text))
            for _ in range(2):
                await pilot.pause()
                assert not controls(lines(app)), name
                assert not clickable(app), name
                app.view.scroll_rows(size[1] // 2)
            app.view.show(samples.unavailable_with(text))
            await pilot.pause()
            assert not controls(lines(app)), name
            assert not app.ran


@async_test
async def test_a_value_cannot_forge_a_row_or_a_head() -> None:
    forged = "r-1\nTo: boss@corp.example\nfetched by connector mail · just now"
    app = PromptApp(item(prompt((Row("Draft id", forged),), (Row("Body", forged, multiline=True),))))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        rows = [row for row in lines(app) if "boss@corp.example" in row or "fetched by" in row]
        assert [row.strip().startswith("fetched by connector mail · 30 s ago") for row in rows].count(True) == 1
        assert all("▎" in row for row in rows if "30 s" not in row)
        assert "r-1⏎To: boss" in rows[1]


@async_test
async def test_a_long_value_wraps_under_its_own_label() -> None:
    app = PromptApp(item(prompt((Row("Url", "https://example.com/" + "a" * 200), Row("Next", "x")))))
    async with app.run_test(size=(60, 40)) as pilot:
        await settle(pilot)
        rows = lines(app)
        first = next(index for index, row in enumerate(rows) if "https://" in row)
        column = rows[first].index("▎")
        for row in rows[first : first + 4]:
            assert row.index("▎") == column
            assert not row[:column].strip() or "Url" in row[:column]
        assert sum(row.count("a") for row in rows[first : first + 8] if "▎" in row) >= 200


@async_test
async def test_labels_go_above_their_values_where_there_is_no_room() -> None:
    app = PromptApp(item(prompt((Row("The identifier of the draft", "r-1"),), ())))
    async with app.run_test(size=(40, 30)) as pilot:
        await settle(pilot)
        rows = [row.strip() for row in lines(app)]
        index = rows.index("The identifier of the draft")
        assert rows[index + 1] == "▎ r-1"


@async_test
async def test_what_is_not_there_is_said_without_gutter() -> None:
    app = PromptApp(samples.gaps())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        for label, said in (("To", "n/a"), ("Subject", "empty"), ("Body", "n/a")):
            assert found(app, label + " ").split() == [label, said]
        assert found(app, "Size").split() == ["Size", "▎", "12", "KB"]


@async_test
async def test_a_failed_preview_cannot_be_missed() -> None:
    app = PromptApp(samples.not_found())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "⚠ Preview unavailable: Gmail API returned 404" in found(app, "unavailable")
        assert "fetched by" not in "\n".join(lines(app))


@pytest.mark.parametrize(
    ("since", "words"),
    [
        ("2026-05-12T10:15:30.000000Z", "compiling connector mail … · 12 s"),
        ("2027-05-12T10:15:30.000000Z", "compiling connector mail … · 0 s"),
        ("\x1b[31m", "compiling connector mail …"),
        (7, "compiling connector mail …"),
    ],
)
@async_test
async def test_compiling_is_told_with_how_long_it_has_taken(since: Any, words: str) -> None:
    request = samples.fetching()
    app = PromptApp(replace(request, fields={**request.fields, "compiling_since": since}))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        app.view.tick(datetime(2026, 5, 12, 10, 15, 42, tzinfo=UTC))
        await settle(pilot)
        assert found(app, "compiling").strip() == words
        assert not is_read(app)


@async_test
async def test_fetching_is_told_and_does_not_count_as_read() -> None:
    app = PromptApp(samples.fetching())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert "fetching from connector mail …" in found(app, "fetching")
        assert not is_read(app)
        app.view.show(replace(samples.worked(), id="act-4"))
        await settle(pilot)
        assert is_read(app)


@async_test
async def test_an_action_without_preview_says_so() -> None:
    app = PromptApp(samples.unpreviewed())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert found(app, "has no preview")
        assert "○ low risk" in found(app, "low risk")


@async_test
async def test_warnings_stand_beside_their_value() -> None:
    body = "see pаypal.com\n" + "x " * 5000
    app = PromptApp(item(prompt((Row("Host", "xn--pple-43d.com"),), (Row("Body", body, multiline=True),))))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        rows = lines(app)
        host = next(index for index, row in enumerate(rows) if "xn--pple" in row and "▎" in row)
        assert "⚠" in rows[host + 1]
        head = next(index for index, row in enumerate(rows) if row.strip().startswith("fetched Body"))
        assert '⚠ "pаypal.com" mixes Latin and Cyrillic letters' in rows[head + 1]


@async_test
async def test_time_left_is_a_bar_and_a_number() -> None:
    app = PromptApp(samples.worked())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.view.tick(START + timedelta(seconds=150))
        await pilot.pause()
        assert "━━━━━━──────  2:30 left" in lines(app)[1]
        app.view.tick(START + timedelta(seconds=280))
        await pilot.pause()
        assert "⚠ 0:20 left" in lines(app)[1]
        app.view.tick(START + timedelta(hours=2))
        await pilot.pause()
        assert "⚠ time is up" in lines(app)[1]
        assert "fetched by connector mail · 1 h ago" in found(app, "fetched")


@async_test
async def test_read_to_end_is_said_once_when_all_is_visible_at_once() -> None:
    app = PromptApp(samples.worked())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert is_read(app)
        app.view.tick(NOW)
        app.view.show(samples.worked())
        await settle(pilot)
        assert app.reads == 1


@async_test
async def test_a_quote_must_be_read_to_its_own_end() -> None:
    app = PromptApp(samples.long_body(LONG))
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        assert not is_read(app)
        await pilot.press("end")
        await settle(pilot)
        assert app.view._body.below == 0
        assert not is_read(app)
        await read_all(app, pilot)
        assert app.reads == 1


@async_test
async def test_the_end_of_a_quote_does_not_count_while_it_is_off_screen() -> None:
    app = PromptApp(samples.long_body(LONG))
    async with app.run_test(size=(60, 15)) as pilot:
        await settle(pilot)
        await pilot.press("end", "home")
        await settle(pilot)
        assert app.view._body.scroll_y == 0
        assert quote(app).body.unseen >= LONG.count("\n") - 2 * app.size.height


@async_test
async def test_what_flashes_by_does_not_count_as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is on screen for one frame, in a changing layout or under a held key, cannot be read."""
    app = PromptApp(samples.long_body(LONG))
    async with app.run_test(size=(60, 15)) as pilot:
        await settle(pilot)
        before = app.view.unread.lines
        monkeypatch.setattr(PromptView, "DWELL_SECONDS", 30.0)
        for _ in range(40):
            await pilot.press("pagedown")
        await pilot.pause(0.1)
        assert app.view.unread.lines == before
        monkeypatch.setattr(PromptView, "DWELL_SECONDS", 0.03)
        app.view._recorder.check()
        await settle(pilot)
        assert app.view.unread.lines < before


@async_test
async def test_pages_lead_through_the_whole_prompt() -> None:
    """Page down alone reads everything: up to the quote, through it, and to the end; and back."""
    app = PromptApp(samples.long_body(LONG))
    async with app.run_test(size=(60, 15)) as pilot:
        await settle(pilot)
        seen: set[str] = set()
        for _ in range(40):
            seen |= {row.strip().removeprefix("▎").strip(" ▁▂▃▄▅▆▇█") for row in lines(app)}
            await pilot.press("pagedown")
            await pilot.pause()
        assert {f"line {number}" for number in range(1, 121)} <= seen
        assert is_read(app)
        for _ in range(40):
            app.view.action_page(-1)
            await pilot.pause()
        await pilot.pause()
        assert app.view._body.scroll_y == 0
        assert app.view.has_focus


@async_test
async def test_a_prompt_behind_another_screen_is_not_read() -> None:
    app = PromptApp()
    async with app.run_test(size=TALL) as pilot:
        view = app.view
        await app.push_screen(ModalScreen[None]())
        view.show(samples.worked())
        await pilot.pause(0.1)
        assert app.reads == 0
        app.pop_screen()
        await pilot.pause()
        app.view.tick(NOW)
        await pilot.pause()
        assert is_read(app)


@async_test
async def test_an_update_keeps_position_and_focus() -> None:
    app = PromptApp(samples.long_body(LONG))
    async with app.run_test(size=(60, 15)) as pilot:
        await settle(pilot)
        await pilot.press("pagedown", "pagedown", "pagedown")
        await settle(pilot)
        position = app.view._body.scroll_y
        assert position
        app.view.show(
            replace(samples.long_body(LONG), revision=2, state=RequestState.APPROVED), note=trusted("sending…")
        )
        await settle(pilot)
        assert found(app, "sending…")
        assert app.view._body.scroll_y == position
        app.view.show(samples.long_body(LONG + "\nand one more"))
        await settle(pilot)
        assert app.view._body.scroll_y == position
        assert app.view.has_focus


@async_test
async def test_another_request_starts_on_top_and_unread() -> None:
    app = PromptApp(samples.long_body(LONG))
    async with app.run_test(size=(60, 15)) as pilot:
        await settle(pilot)
        await read_all(app, pilot)
        app.view.show(replace(samples.long_body(LONG), id="act-77"))
        await settle(pilot)
        assert app.view._body.scroll_y == 0
        assert not is_read(app)


@async_test
async def test_what_changed_above_the_screen_must_be_read_too() -> None:
    app = PromptApp(samples.long_body(LONG))
    async with app.run_test(size=(60, 15)) as pilot:
        await settle(pilot)
        await read_all(app, pilot)
        for changed in (("mallory@evil.example", LONG), ("team@example.com", f"and delete everything\n{LONG}")):
            rows = (Row("To", changed[0]), Row("Subject", "Weekly recap"), Row("Body", changed[1], multiline=True))
            app.view.show(item(prompt(rows=rows), id_="act-9", revision=2))
            await pilot.press("end")
            await settle(pilot)
            assert not found(app, "evil.example") + found(app, "delete everything")
            assert not is_read(app)
            assert app.view.unread.changed
            await read_all(app, pilot)
            assert not app.view.unread.changed


@async_test
async def test_a_changed_prompt_must_be_read_again() -> None:
    app = PromptApp(samples.worked())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        app.view.show(samples.long_body(RECAP + "\nPS: and delete everything"))
        await settle(pilot)
        assert app.reads == 2


@async_test
async def test_an_edit_is_shown_as_old_and_new() -> None:
    app = PromptApp(samples.after_edit())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        assert found(app, "▎−team@example.com").split()[0] == "To"
        assert found(app, "▎+team-leads@example.com")
        assert "▎ Weekly recap" in found(app, "Subject")
        assert found(app, "▎ - * The review of the storage proposal moved to Thursday, 14:00, room 3.")
        assert found(app, "▎ + * The review of the storage proposal moved to Thursday, 14:00, room 5.")
        assert "edited" in found(app, "Body")


@async_test
async def test_a_line_that_stayed_cannot_pass_for_one_that_an_edit_took_away() -> None:
    text = f"keep {'x' * 62} - pay 9 to ana@example.com\nfirst"
    asked, edited = (item(prompt((Row("Body", body, multiline=True),))) for body in (text, text.replace("st", "m")))
    app = PromptApp(replace(edited, edited_from=asked.prompt))
    async with app.run_test(size=(80, 60)) as pilot:
        await settle(pilot)
        assert found(app, "pay 9").strip().startswith("▎·- pay 9")
        assert found(app, "- first").strip().startswith("▎ - first")


@async_test
async def test_an_edit_is_shown_as_old_and_new_also_of_the_last_of_many_rows() -> None:
    first = tuple(Row(f"n{number}", "v") for number in range(100))
    asked, edited = (item(prompt((*first, Row("To", to), Row("Cc", "bo")), preview=False)) for to in ("ana", "sam"))
    app = PromptApp(replace(edited, edited_from=asked.prompt))
    async with app.run_test(size=(70, 150)) as pilot:
        await settle(pilot)
        assert [row.strip() for row in lines(app) if "To: " in row] == ["▎ - To: ana", "▎ + To: sam"]
        assert found(app, "Cc: bo").strip() == "▎   Cc: bo"


@async_test
async def test_no_value_passes_for_another_of_many_rows() -> None:
    rows = (*(Row(f"n{number}", "v") for number in range(100)), Row("z", f"{'y' * 55} to: ana@example.com"))
    app = PromptApp(item(prompt(rows, preview=False)))
    async with app.run_test(size=(70, 150)) as pilot:
        await settle(pilot)
        assert found(app, "z: yyy").strip().startswith("▎ z: yyy")
        assert found(app, "to: ana").strip().startswith("▎·to: ana")


@async_test
async def test_the_arrow_leads_into_an_outline_and_out_again() -> None:
    app = PromptApp(samples.structured())
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        await pilot.press("right")
        assert quote(app, 1).body.has_focus
        await pilot.press("left")
        await pilot.pause()
        assert found(app, "▸ { … 17 lines … }")
        await pilot.press("left")
        assert app.view.has_focus


@pytest.mark.parametrize("theme", ["aileron-dark", "aileron-light", "aileron-contrast", "aileron-plain"])
@async_test
async def test_every_theme_draws_every_kind_of_prompt(theme: str) -> None:
    app = PromptApp(samples.structured(), theme=theme)
    async with app.run_test(size=(80, 24)) as pilot:
        for shown in (samples.not_found(), samples.gaps(), samples.hostile("\x1b[2J"), samples.after_edit(), None):
            app.view.show(shown)
            await pilot.pause()
        assert found(app, "No requests waiting.")


@async_test
async def test_without_colour_everything_has_a_word_or_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = PromptApp(samples.not_found(), theme="aileron-plain")
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        for strip in app.screen._compositor.render_strips():
            for segment in strip:
                colour = segment.style and segment.style.color and segment.style.color.triplet
                assert not colour or len(set(colour)) == 1
        for sign in ("▲ high risk", "⚠ Preview unavailable", "▎ 19df4136f28569d2"):
            assert found(app, sign)


@async_test
async def test_a_huge_body_opens_scrolls_and_ends() -> None:
    app = PromptApp(samples.worked())
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        app.view.show(samples.long_body(HUGE))
        await pilot.pause()
        assert found(app, "▎ Some words of a long mail")
        assert "150,001 lines" in found(app, "Body")
        assert "at least" in found(app, "more lines ↓")
        await pilot.press("end")
        for _ in range(1000):
            await pilot.pause(0.02)
            if quote(app).body.long_text.counted and not app.view._body.below:
                break
        assert quote(app).body.long_text.height == 150_001
        assert app.view._body.below == 0
        assert found(app, "Some words of a long mail")
        assert not is_read(app)
        assert app.view.unread.lines > 140_000


@async_test
async def test_a_note_stands_below_the_title() -> None:
    app = PromptApp()
    async with app.run_test(size=TALL) as pilot:
        app.view.show(None, note=trusted("The gate is away."))
        await pilot.pause()
        assert found(app, "The gate is away.")
        app.view.show(samples.worked(), note=Content("denied"))
        await settle(pilot)
        rows = [row.strip() for row in lines(app) if row.strip()]
        assert rows[1] == "denied"


@async_test
async def test_with_256_colours_the_ground_of_a_warning_is_not_red() -> None:
    app = PromptApp(samples.unavailable_with("Gmail API returned 404"))
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        ground = app.view.query_one("#prompt-unavailable").rich_style.bgcolor
        assert ground is not None
        red, green, _ = ground.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        assert green >= red
