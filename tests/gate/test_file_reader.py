"""Files that tool calls name are looked at in a process that can be killed, and nothing but ordinary files is read."""

import os
import signal
import socket
from pathlib import Path

import pytest

from aileron_tui.core.tool_call import FileFacts, FileKind, NamedPath
from aileron_tui.files import file_reading_process
from aileron_tui.gate.file_reader import FileReader
from tests.gate.conftest import run_async


def look(path: object, *refused: object, seconds: float = 5.0) -> FileFacts:
    async def work() -> FileFacts:
        reader = FileReader([str(folder) for folder in refused], seconds)
        try:
            return (await reader.look("agent", [NamedPath(str(path), needs_text=True)]))[str(path)]
        finally:
            await reader.close()

    return run_async(work())


def test_a_text_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Zoë\r\n\x1b[2J\0\n")
    assert look(path) == FileFacts(FileKind.FILE, str(path.resolve()), "Zoë\r\n\x1b[2J\0\n")


def test_a_missing_file_is_not_a_problem(tmp_path: Path) -> None:
    assert look(tmp_path / "no" / "a.txt") == FileFacts(FileKind.MISSING, str(tmp_path.resolve() / "no" / "a.txt"))


def test_links_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = look(tmp_path / "link")
    assert (found.resolved, found.text) == (str(tmp_path.resolve() / "real"), "x")


def test_a_link_to_the_working_folder_does_not_lead_into_that_of_the_gate(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/cwd/x")
    assert not look(tmp_path / "link").resolved.startswith(str(Path.cwd()))


def test_only_ordinary_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (tmp_path, tmp_path / "pipe", tmp_path / "socket"):
            found = look(path)
            assert (found.text, found.problem) == (None, "it is not a regular file")


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/cwd/x", "/sys/kernel/x", "/dev/zero"])
def test_files_of_the_system_are_not_read(path: str) -> None:
    found = look(path)
    assert (found.text, found.problem) == (None, "the gate does not read files of the system")


def test_own_files_are_not_read_under_any_name(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "key").write_text("secret")
    (tmp_path / "link").symlink_to(own)
    for path in (own / "key", tmp_path / "link" / "key", tmp_path / "x" / ".." / "own" / "key"):
        found = look(path, own)
        assert (found.text, found.problem) == (None, "the gate does not read its own files")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe", "it is not text in UTF-8"),
        (b"x" * (1024 * 1024 + 1), "it has 1,048,577 bytes, more than 1,048,576"),
    ],
    ids=["not text", "too large"],
)
def test_what_cannot_be_shown_is_said(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "a").write_bytes(content)
    found = look(tmp_path / "a")
    assert (found.kind, found.text, found.problem) == (FileKind.FILE, None, problem)


@pytest.mark.parametrize("path", ["a.txt", "", "/tmp/\0x", "/" + "x" * 5000, "/tmp/\ud800"])
def test_paths_that_are_none_are_answered(path: str) -> None:
    assert look(path).text is None


def test_a_folder_that_becomes_a_link_while_it_is_read_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("shown", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    path = tmp_path / "shown" / "a"
    read = file_reading_process._read

    def replaced(resolved: str) -> dict[str, str | float | None]:
        (tmp_path / "shown").rename(tmp_path / "away")
        (tmp_path / "shown").symlink_to(tmp_path / "other")
        return read(resolved)

    monkeypatch.setattr(file_reading_process, "_read", replaced)
    found = file_reading_process.look(str(path), (), needs_text=True)
    assert (found["text"], found["problem"]) == (None, "it was replaced while it was read")


def test_a_file_system_that_hangs_is_given_up_and_the_next_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")

    async def work() -> None:
        reader = FileReader((), 0.3)
        asked = [NamedPath(str(path), needs_text=True)]
        try:
            assert (await reader.look("agent", asked))[str(path)].text == "x"
            process = reader._processes["agent"]._process
            assert process
            os.kill(process.pid, signal.SIGSTOP)
            found = (await reader.look("agent", asked))[str(path)]
            assert (found.text, found.problem) == (None, "its file system did not answer in time")
            reader._seconds = 5.0
            assert (await reader.look("agent", asked))[str(path)].text == "x"
            process = reader._processes["agent"]._process
            assert process
            os.kill(process.pid, signal.SIGKILL)
            assert {(await reader.look("agent", asked))[str(path)].text for _ in range(2)} >= {"x"}
        finally:
            await reader.close()

    run_async(work())


def test_each_agent_has_a_process_of_its_own_and_only_a_few_are_kept(tmp_path: Path) -> None:
    async def work() -> None:
        reader = FileReader((), 5.0)
        try:
            for number in range(12):
                await reader.look(f"agent-{number}", [NamedPath(str(tmp_path))])
            assert list(reader._processes) == [f"agent-{number}" for number in range(4, 12)]
        finally:
            await reader.close()

    run_async(work())
