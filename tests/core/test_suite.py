"""Suite manifests: what is read."""

from aileron_tui.core.suite import Suite, read_suite
from tests.corpus.cases import base

GOOD = base("suite")["base.toml"]


def test_everything_is_read() -> None:
    entries = ("actions/send-draft", "github://acme/files/actions/move-file@1.0.0")
    assert read_suite(GOOD, "suite.toml").value == Suite("office", "Mail and files", entries)


def test_paths_keep_their_index_and_are_normalised() -> None:
    suite = Suite("x", "x", ("/actions/a", "hub://acme/b@1.0.0", "./actions//c", "d"))
    assert suite.paths == ((0, "actions/a"), (2, "actions/c"), (3, "d"))
