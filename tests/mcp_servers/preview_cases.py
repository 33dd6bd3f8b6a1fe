"""The shipped policies with their real servers: a person sees what a call would change."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from aileron_tui.cli import main
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.mcp_policy_check import check_policy
from aileron_tui.doors.mcp_session import McpSession
from aileron_tui.doors.mcp_session_process import SessionProcess
from aileron_tui.files.paths import HOME_VARIABLE, bundled
from aileron_tui.files.policy_files import read_policy_file, shipped_policy
from tests.mcp_servers.programs import program

Preview = Callable[..., str]


@pytest.fixture
def preview(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Preview:
    """Prints the prompt for a call, and checks how the command ends and that the policy fits the server."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))

    def run(command: list[str], tool: str, args: JsonObject, code: int = 0) -> str:
        policy = shipped_policy(command)
        assert policy
        words = ["preview", tool, "--args", json.dumps(args), "--policy", str(policy), "--", *command]
        assert main(words) == code
        shown = capsys.readouterr()
        assert "error" not in shown.err, "the policy fits the server"
        return shown.out

    return run


def tools_of(command: list[str]) -> dict[str, JsonObject]:
    with McpSession(SessionProcess(command)) as session:
        session.start()
        return {tool.name: tool.definition for tool in session.tools().values()}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.txt").write_text("first line\nsecond line\n")
    return [program("mcp-server-filesystem"), str(tmp_path / "notes")]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    graph: list[Json] = [
        {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["likes tea"]},
        {"type": "entity", "name": "Bob", "entityType": "person", "observations": []},
        {"type": "relation", "from": "Ann", "to": "Bob", "relationType": "knows"},
    ]
    (tmp_path / "graph.jsonl").write_text("\n".join(map(json.dumps, graph)))
    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "graph.jsonl"))
    return [program("mcp-server-memory")]


@pytest.fixture
def repository(tmp_path: Path) -> list[str]:
    folder = tmp_path / "repository"
    git = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    (folder / "kept").write_text("one\n")
    subprocess.run([*git, "add", "kept"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    (folder / "kept").write_text("one\ntwo\n")
    subprocess.run([*git, "add", "kept"], check=True)
    return [program("mcp-server-git"), "--repository", str(folder)]


def test_write_file_shows_the_present_content(preview: Preview, files: list[str]) -> None:
    path = f"{files[1]}/plan.txt"
    out = preview(files, "write_file", {"path": path, "content": "third line\n"})
    assert out.startswith(
        "Approve write_file?\n"
        "agent sent\n"
        "  Server: filesystem\n"
        "  Tool:   write_file\n"
        f"  path:   {path}\n"
        "  content:\n"
        "    > third line\n"
        "    > \n"
        "told by mcp-filesystem: fetched by the proxy from filesystem · read_text_file\n"
        "  Present content:\n"
        "    > first line\n"
        "    > second line\n"
        "    > \n"
        "\n"
        "risk        high: "
    )
    assert Path(path).read_text() == "first line\nsecond line\n", "nothing is written"


def test_write_file_says_that_a_file_is_new(preview: Preview, files: list[str]) -> None:
    out = preview(files, "write_file", {"path": f"{files[1]}/new.txt", "content": "x"})
    assert "  Present content: n/a\n  Server says:     ENOENT: no such file or directory, open '" in out
    assert "unavailable" not in out


def test_write_file_outside_the_folders_has_no_preview(preview: Preview, files: list[str]) -> None:
    out = preview(files, "write_file", {"path": "/etc/passwd", "content": "x"}, code=1)
    assert 'Preview unavailable: mcp-filesystem says: "read_text_file failed: Access denied' in out


def test_edit_file_shows_the_present_content(preview: Preview, files: list[str]) -> None:
    edits: Json = [{"oldText": "first", "newText": "last"}]
    out = preview(files, "edit_file", {"path": f"{files[1]}/plan.txt", "edits": edits})
    assert "    > first line\n    > second line\n" in out
    assert '"newText": "last"' in out


def test_move_file_and_create_directory_show_what_is_there(preview: Preview, files: list[str]) -> None:
    paths: JsonObject = {"source": f"{files[1]}/plan.txt", "destination": f"{files[1]}/b"}
    assert "    > size: 23\n" in preview(files, "move_file", paths)
    assert "  Present at this path: n/a\n" in preview(files, "create_directory", {"path": f"{files[1]}/new"})


def test_delete_entities_shows_them_and_their_relations(preview: Preview, memory: list[str]) -> None:
    out = preview(memory, "delete_entities", {"entityNames": ["Ann"]})
    fetched = out.partition("told by mcp-memory: fetched by the proxy from memory · open_nodes\n")[2]
    assert '"likes tea"' in fetched
    assert '"to": "Bob"' in fetched
    assert "Not shown" not in fetched


@pytest.mark.parametrize(
    ("tool", "args", "words"),
    [
        ("git_commit", {"message": "two"}, "    > +two\n"),
        ("git_reset", {}, "    > +two\n"),
        ("git_add", {"files": ["kept"]}, "modified:   kept\n"),
        ("git_checkout", {"branch_name": "main"}, "    > On branch main\n"),
        ("git_create_branch", {"branch_name": "new"}, "    > * main\n"),
    ],
)
def test_git_shows_the_state_of_the_repository(
    preview: Preview, repository: list[str], tool: str, args: JsonObject, words: str
) -> None:
    out = preview(repository, tool, {"repo_path": repository[2], **args})
    assert words in out.partition("told by mcp-git: fetched by the proxy from git · git_")[2]


@pytest.mark.parametrize("name", ["filesystem", "memory", "git"])
def test_every_shipped_policy_fits_its_server(name: str, tmp_path: Path) -> None:
    words = {"filesystem": [str(tmp_path)]}.get(name, [])
    reading = read_policy_file(str(bundled("manifests") / "mcp" / f"{name}.toml"))
    assert check_policy(reading, tools_of([program(f"mcp-server-{name}"), *words])) == ()
