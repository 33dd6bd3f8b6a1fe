"""Policies for MCP servers on disk."""

from pathlib import Path

import pytest

from aileron_tui.files.paths import HOME_VARIABLE
from aileron_tui.files.policy_files import (
    InvalidPolicy,
    is_policy_file,
    load_policy,
    policies_in,
    policy_path,
    shipped_policies,
    shipped_policy,
)
from tests.corpus.cases import base

POLICY = base("policy")["base.toml"]


def test_the_policy_of_a_server_is_in_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert policy_path("notes") == tmp_path / "mcp" / "notes.toml"


def test_a_policy_is_loaded_or_refused_with_its_first_problem(tmp_path: Path) -> None:
    file = tmp_path / "notes.toml"
    file.write_text(POLICY)
    assert load_policy(file).server == "acme-files"
    file.write_text(POLICY.replace("risk", "rsk", 1))
    with pytest.raises(InvalidPolicy, match=r'line 5: "tools.write_file.rsk" is not a known key') as refused:
        load_policy(file)
    assert f"lint {file}" in refused.value.hint
    with pytest.raises(InvalidPolicy, match="no such file"):
        load_policy(tmp_path / "missing.toml")
    with pytest.raises(InvalidPolicy, match="it is a folder"):
        load_policy(tmp_path)


def test_policies_are_told_from_other_manifests(tmp_path: Path) -> None:
    for name, text in {
        "mcp/empty.toml": "",
        "mcp/manifest.toml": base("connector")["base.toml"],
        "mcp/notes.txt": "",
        "policy.toml": POLICY,
        "connector.toml": base("connector")["base.toml"],
        "broken.toml": "tools = {",
        "suite.toml": "tools = {}",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    files = sorted(path for path in tmp_path.rglob("*") if is_policy_file(path))
    assert [path.relative_to(tmp_path).as_posix() for path in files] == ["mcp/empty.toml", "policy.toml"]
    for folder in (tmp_path, tmp_path / "mcp"):
        found, unreadable = policies_in(folder)
        assert [reading.source.file for reading in found] == [str(tmp_path / "mcp" / "empty.toml")]
        assert not unreadable


def test_the_shipped_examples_are_valid() -> None:
    assert sorted(path.stem for path in shipped_policies()) == ["filesystem", "git", "memory"]


@pytest.mark.parametrize(
    ("command", "example"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-filesystem", "/tmp"], "filesystem"),
        (["npx", "-y", "@modelcontextprotocol/server-memory@2026.8.31"], "memory"),
        (["node", "/x/node_modules/@modelcontextprotocol/server-memory/dist/index.js"], "memory"),
        (["/usr/local/bin/mcp-server-filesystem", "/tmp"], "filesystem"),
        (["uvx", "mcp-server-git", "--repository", "."], "git"),
        (["npx", "server-filesystem"], ""),
        (["npx", "@evil/server-filesystem"], ""),
        ([], ""),
    ],
)
def test_the_example_for_a_command(command: list[str], example: str) -> None:
    found = shipped_policy(command)
    assert (found.stem if found else "") == example
