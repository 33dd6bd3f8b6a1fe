"""Tool calls on a real screen, tool by tool.

Pictures are kept in `tools/`; `UPDATE_SNAPSHOTS=1` renews them after a change that is meant.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.summary import summary
from tests.console.hostile_texts import carried, hostile_texts
from tests.console.sample_requests import NOW, PromptApp, clickable, controls, lines
from tests.console.screen_app import async_test
from tests.console.test_kinds import settle, words
from tests.console.tool_requests import (
    FOLDER,
    READER,
    check,
    edit,
    fetch,
    linked,
    mcp,
    outside,
    proxied,
    push,
    redefined,
    tool_request,
)

PICTURES: Final = Path(__file__).parent / "tools"
SIZES: Final = ((120, 36), (40, 15))
TALL: Final = (120, 80)
CASES: Final = {
    "push": push(),
    "check": check(),
    "edit": edit(),
    "outside": outside(),
    "linked": linked(),
    "fetch": fetch(),
    "mcp": mcp(),
    "proxied": proxied(),
    "redefined": redefined(),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", CASES)
@async_test
async def test_each_tool_looks_as_kept(name: str, size: tuple[int, int]) -> None:
    app = PromptApp(CASES[name])
    async with app.run_test(size=size) as pilot:
        app.view.tick(NOW)
        await settle(pilot)
        rows = lines(app)
        assert all(len(row) == size[0] for row in rows)
        assert not controls(rows)
        got = "\n".join(row.rstrip() for row in rows) + "\n"
    file = PICTURES / f"{name}-{size[0]}x{size[1]}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        PICTURES.mkdir(exist_ok=True)
        file.write_text(got, "utf-8", newline="\n")
    assert got == file.read_text("utf-8")


@async_test
async def test_what_an_agent_told_is_its_word_and_has_no_age() -> None:
    server = "gmail. Read by the gate"
    request = tool_request("send_mail", server=server, to="team@example.com")
    preview = PreviewResult((Row("to", "me@example.com"), Row("body", "Hi", multiline=True)), "", 0, "mcp-proxy", "get")
    app = PromptApp(replace(request, prompt=replace(request.prompt, preview=preview)))
    async with app.run_test(size=TALL) as pilot:
        app.view.tick(NOW)
        await settle(pilot)
        seen = words(app)
    assert f'told by laptop-claude: fetched by the proxy from "{server}" · get\n' in seen
    assert "told by laptop-claude body" in seen
    assert " ago" not in seen


def test_every_picture_is_looked_at() -> None:
    assert {file.name for file in PICTURES.iterdir()} == {f"{name}-{w}x{h}.txt" for name in CASES for w, h in SIZES}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (push(), ["Run this command? Bash", "▲ high risk", "make test && git push origin main"]),
        (edit(), ["Edit this file? Edit", "read by the gate", "return parse(text, strict=True)"]),
        (outside(), ["Write this file? Write", "⚠ outside the agent's folder"]),
        (linked(), ["/etc/importer.toml", "⚠"]),
        (fetch(), ["Fetch this page? WebFetch", "⚠ the URL has a user name or a password"]),
        (mcp(), ["Approve mcp__gmail__send_mail?", "gmail", "team@example.com"]),
    ],
    ids=["push", "edit", "outside", "linked", "fetch", "mcp"],
)
@async_test
async def test_what_matters_is_on_screen(request_: Request, expected: list[str]) -> None:
    app = PromptApp(request_)
    async with app.run_test(size=TALL) as pilot:
        await settle(pilot)
        shown = words(app)
        for text in expected:
            assert text in shown
        assert "would run" not in shown
        assert "connector" not in shown


@hostile_texts(8, once=True)
@async_test
async def test_hostile_text_in_any_arg_forges_nothing(texts: dict[str, str]) -> None:
    app = PromptApp(check())
    async with app.run_test(size=(80, 40)) as pilot:
        for name, hostile in texts.items():
            text = carried(hostile)
            path = f"{FOLDER}/{text}"
            for request in (
                tool_request("Edit", text, file_path=path, old_string=text or "x", new_string=f"{text}!"),
                tool_request("mcp__a__b", command=text, server=text, **{text or "x": text}),
            ):
                app.view.show(request)
                await settle(pilot)
                assert not controls(lines(app)), name
                assert not clickable(app), name


def test_no_summary_has_the_content_of_a_file() -> None:
    path = f"{FOLDER}/importer.py"
    values = summary(tool_request("Write", READER, file_path=path, content="x\n").prompt)
    assert path in values
    assert not any("parse" in value for value in values)


def test_the_summary_of_a_command_is_the_command_and_not_what_the_agent_says_about_it() -> None:
    assert summary(push().prompt) == ("make test && git push origin main",)
    other = tool_request("Agent", prompt="x", description="Publish the fix")
    assert "Publish the fix" not in summary(other.prompt)
