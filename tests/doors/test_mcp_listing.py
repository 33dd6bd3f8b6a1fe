"""Listing the tools of an MCP server, whatever it does."""

import sys
import time
from pathlib import Path

import pytest

from aileron_tui.doors.mcp_entries import ServerStart
from aileron_tui.doors.mcp_listing import ListingFault, listed_tools

SERVER = (sys.executable, str(Path(__file__).with_name("listing_server.py")))


@pytest.mark.parametrize("mode", ["", "pages", "noise", "asks"])
def test_the_tools_are_listed(mode: str) -> None:
    found = listed_tools(ServerStart((*SERVER, mode)))
    assert [tool.name for tool in found.tools] == ["read", "wipe", "write"]
    assert found.title == "small 1"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash", "no such table"),
        ("garbage", "not a message"),
        ("refuses", "today"),
        ("double", "same name"),
        ("nameless", "cannot be pinned"),
        ("no list", "cannot be read"),
        ("endless", "too many"),
    ],
)
def test_a_server_that_misbehaves_is_refused_with_what_it_did(mode: str, words: str) -> None:
    with pytest.raises(ListingFault) as caught:
        listed_tools(ServerStart((*SERVER, mode)))
    assert words in f"{caught.value.title} {caught.value.detail}"


def test_a_server_that_hangs_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(ListingFault, match="in time"):
        listed_tools(ServerStart((*SERVER, "hang")), 0.3)
    assert time.monotonic() - began < 5


def test_the_variables_and_the_folder_of_the_entry_count(tmp_path: Path) -> None:
    found = listed_tools(ServerStart((*SERVER, "env"), env={"SMALL_KEY": "7"}, folder=str(tmp_path)))
    assert found.tools[0].definition["description"] == "7"


def test_a_command_that_does_not_exist_is_said() -> None:
    with pytest.raises(ListingFault, match="cannot be started"):
        listed_tools(ServerStart(("/no/such/program",)))
