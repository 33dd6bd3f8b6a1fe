"""A newcomer's path through docs/connectors.md, with the stored module in place of what the compilers write."""

import socket
from pathlib import Path

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.ledger.open_store import open_reader
from tests.skeletons import guide


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
    with open_reader(tmp_path / "work" / "home" / "data" / "ledger.db") as reader:
        kinds = [entry.kind for entry in reader.package_changes()]
    assert kinds == [EntryKind.PACKAGE_ADDED, EntryKind.PACKAGE_ADDED]
