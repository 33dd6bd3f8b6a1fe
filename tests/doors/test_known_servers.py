"""The files of MCP servers that were set up: private, written as a whole, and refused if something is off."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.mcp_tools import PinnedTool, pinned, tool_named
from aileron_tui.doors.known_servers import (
    KnownServer,
    ServerFault,
    pin_tool,
    read_server,
    server_names,
    server_path,
    write_server,
)


def tool(name: str, description: str = "") -> PinnedTool:
    return pinned({"name": name, "description": description, "inputSchema": {"type": "object", "x": 1.5}})


SERVER = KnownServer("files", "mcp-files", ("npx", "server"), policy="/p.toml", tools=(tool("read"),))


def test_a_server_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_server(tmp_path, SERVER)
    assert read_server(tmp_path, "files") == SERVER
    assert server_names(tmp_path) == ("files",)
    assert server_path(tmp_path, "files").stat().st_mode & 0o777 == 0o600


def test_a_server_that_is_not_set_up_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ServerFault) as caught:
        read_server(tmp_path, "files")
    assert "not set up" in caught.value.title
    assert "aileron-tui setup mcp" in caught.value.hint


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b"])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(ServerFault, match="cannot be the name"):
        read_server(tmp_path, name)


@pytest.mark.parametrize(
    "change",
    [
        {"agent": "../x"},
        {"agent": None},
        {"command": "npx"},
        {"command": [1]},
        {"tools": [{"definition": {"name": "read"}, "hash": "sha256:" + "0" * 64}]},
        {"tools": ["read"]},
        {"version": 0},
    ],
    ids=json.dumps,
)
def test_a_file_that_was_changed_is_refused(tmp_path: Path, change: JsonObject) -> None:
    write_server(tmp_path, SERVER)
    path = server_path(tmp_path, "files")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ServerFault, match="cannot be read"):
        read_server(tmp_path, "files")


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    write_server(tmp_path, SERVER)
    path = server_path(tmp_path, "files")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2}))
    with pytest.raises(ServerFault, match="newer"):
        read_server(tmp_path, "files")


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    write_server(tmp_path, SERVER)
    server_path(tmp_path, "files").chmod(0o644)
    with pytest.raises(ServerFault, match="open to others"):
        read_server(tmp_path, "files")


def test_processes_that_pin_at_once_lose_nothing(tmp_path: Path) -> None:
    write_server(tmp_path, SERVER)
    names = [f"tool{number}" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: pin_tool(tmp_path, "files", tool(name)), names))
    assert {each.name for each in read_server(tmp_path, "files").tools} == {"read", *names}


def test_a_pin_is_replaced_only_if_it_is_the_one_that_was_compared(tmp_path: Path) -> None:
    write_server(tmp_path, SERVER)
    old, new, newest = tool("read"), tool("read", "new"), tool("read", "newest")
    assert tool_named(pin_tool(tmp_path, "files", new, old.hash).tools, "read") == new
    assert tool_named(pin_tool(tmp_path, "files", newest, old.hash).tools, "read") == new
    assert tool_named(pin_tool(tmp_path, "files", newest).tools, "read") == new
    assert tool_named(read_server(tmp_path, "files").tools, "read") == new
