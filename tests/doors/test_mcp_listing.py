"""Listing the tools of an MCP server, whatever it does."""

import sys
import time
from pathlib import Path

import pytest

from aileron_tui.core.errors import AileronError
from aileron_tui.doors.mcp_entries import ServerStart
from aileron_tui.doors.mcp_listing import listed_tools
from aileron_tui.doors.mcp_session import SessionLimits

SERVER = (sys.executable, str(Path(__file__).with_name("listing_server.py")))


@pytest.mark.parametrize("mode", ["", "pages", "noise", "asks"])
def test_the_tools_are_listed(mode: str) -> None:
    found = listed_tools(ServerStart((*SERVER, mode)))
    assert [tool.name for tool in found] == ["read", "wipe", "write"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash", "no such table"),
        ("garbage", "not a message"),
        ("refuses", "today"),
        ("double", "two tools"),
        ("nameless", "without a name"),
        ("no list", "cannot be read"),
        ("endless", "does not end"),
    ],
)
def test_a_server_that_misbehaves_is_refused_with_what_it_did(mode: str, words: str) -> None:
    with pytest.raises(AileronError) as caught:
        listed_tools(ServerStart((*SERVER, mode)))
    assert words in f"{caught.value.title} {caught.value.detail}"


def test_a_server_that_hangs_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(AileronError, match="did not answer"):
        listed_tools(ServerStart((*SERVER, "hang")), SessionLimits(0.3, 0.3))
    assert time.monotonic() - began < 5


def test_the_variables_and_the_folder_of_the_entry_count(tmp_path: Path) -> None:
    found = listed_tools(ServerStart((*SERVER, "env"), env={"SMALL_KEY": "7"}, folder=str(tmp_path)))
    assert found[0].definition["description"] == "7"


def test_a_command_that_does_not_exist_is_said() -> None:
    with pytest.raises(AileronError, match="cannot start"):
        listed_tools(ServerStart(("/no/such/program",)))
