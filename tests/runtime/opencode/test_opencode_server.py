"""Where the password comes from, and what errors say about it."""

from pathlib import Path

import pytest

from aileron_tui.runtime.opencode.opencode_server import NamedOpencode, NoOpencode, OpencodeServer, find_opencode
from tests.runtime.opencode.fake_server import FakeOpencode

SECRET = "correct-horse"


def test_the_password_comes_from_a_variable_a_private_file_or_a_command(server: FakeOpencode, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.touch(0o600)
    file.write_text(f"{SECRET}\n")
    for named in (
        NamedOpencode(server.url, password_env="PW"),
        NamedOpencode(server.url, password_file=file),
        NamedOpencode(server.url, password_command=("printf", f"{SECRET}\\n")),
    ):
        assert find_opencode(named, {"PW": SECRET}).password == SECRET
        assert named.has_password
    assert SECRET not in repr(OpencodeServer(server.url, password=SECRET))
    assert find_opencode(NamedOpencode(server.url), {}).headers == {}


@pytest.mark.parametrize(
    "named",
    [
        NamedOpencode("http://127.0.0.1:1", password_env="PW"),
        NamedOpencode("http://192.0.2.1:4096", password_env="PW"),
        NamedOpencode("ftp://x", password_env="PW"),
        NamedOpencode("http://127.0.0.1:1", password_env="MISSING"),
        NamedOpencode("http://127.0.0.1:1", password_env="BAD"),
        NamedOpencode("http://127.0.0.1:1", password_command=("sh", "-c", f"echo {SECRET}; exit 3")),
        NamedOpencode("http://127.0.0.1:1", password_command=("/does/not/exist",)),
        NamedOpencode("http://127.0.0.1:1", password_file=Path("/does/not/exist")),
    ],
)
def test_what_cannot_be_used_is_told_without_the_password(named: NamedOpencode) -> None:
    with pytest.raises(NoOpencode) as refused:
        find_opencode(named, {"PW": SECRET, "BAD": f"{SECRET}\x1b"})
    assert SECRET not in f"{refused.value.title} {refused.value.detail} {refused.value.hint}"


def test_a_file_that_others_can_read_is_refused(server: FakeOpencode, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(SECRET)
    file.chmod(0o644)
    with pytest.raises(NoOpencode, match="cannot be read"):
        find_opencode(NamedOpencode(server.url, password_file=file), {})
