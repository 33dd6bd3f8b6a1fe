"""A newcomer's path through docs/connectors.md, with the stored module in place of what the compilers write."""

import json
import socket
from pathlib import Path

import pytest

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.sandbox.connector_call import CallLimits
from aileron_tui.sandbox.failure import mebibytes, short_reason
from aileron_tui.sandbox.http_exchange import read_guest_request
from tests.skeletons import guide
from tests.skeletons.guide import GUIDE
from tests.skeletons.stored_module import ROOT

IMPORTED = ("http_request", "http_response_status", "http_response_size", "http_response_read", "log")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_command_of_the_guide_works_in_order(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    guide.our_commands(programs)
    guide.stored_compilers(programs)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    screen = guide.follow(tmp_path / "work", programs, port)
    for words in (
        "Title: Release notes",
        "Install local://dev/notes 0.1.0?",
        "publish-note act-",
        "done ✓",
        '"POST /v1/notes/n-1/publish HTTP/1.1" 200',
        "wrote dist/v0.1.0/aileron.tar.gz",
        "publish-note has changed: signed by local://dev, before it was unsigned",
        "+ New action repost-note",
    ):
        assert words in " ".join(screen.split()), screen
    (prompt,) = guide.blocks("text")
    for line in prompt.replace("8730", str(port)).splitlines():
        assert line.removesuffix("…") in screen, line
    with open_reader(tmp_path / "work" / "home" / "data" / "ledger.db") as reader:
        kinds = [entry.kind for entry in reader.package_changes()]
    assert kinds == [EntryKind.PACKAGE_ADDED, EntryKind.PACKAGE_ADDED]


def test_the_examples_of_the_abi_are_what_the_sandbox_reads() -> None:
    call, output, error, request = map(json.loads, guide.blocks("json"))
    assert call.keys() == {"op", "args"}
    assert (output.keys(), error.keys()) == ({"output"}, {"error"})
    failure = error["error"]
    assert short_reason(failure["class"], failure["message"]) == "Notes API returned 404"
    read = read_guest_request(request)
    assert (read.method, read.credential) == ("POST", "api_key")
    assert json.loads(read.body) == {"channel": "news"}


def test_the_limits_are_those_of_the_sandbox() -> None:
    text, limits = GUIDE.read_text(), CallLimits()
    assert f"{limits.execute_seconds:g} s, and {limits.preview_seconds:g} s for a preview" in text
    assert f"| memory | {mebibytes(limits.memory)};" in text
    assert limits.request == limits.response == limits.output
    assert f"| {mebibytes(limits.output)} each |" in text
    assert all(f"`{name}(" in text for name in IMPORTED)


def test_the_readme_of_a_repository_has_the_commands_of_the_guide() -> None:
    readme = (ROOT / "skeletons" / "repository" / "README.md").read_text()
    known = {command.removesuffix(" &") for command in guide.commands()}
    for block in guide.blocks(document=readme):
        for line in block.splitlines():
            assert line.partition(" #")[0].strip() in known
