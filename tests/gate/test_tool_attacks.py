"""Attacks of a hostile agent on rules for tool calls: a rule allows no more than its words say."""

from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import RuleReach
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import make
from tests.gate.served_gate import served_gate
from tests.gate.test_tool_rules import status, tool_rule
from tests.gate.tool_calls import bash


def read(path: object, folder: object, **more: Any) -> dict[str, Any]:
    return {"tool": "Read", "input": {"file_path": str(path)}, "folder": str(folder), "session": "s", **more}


@pytest.mark.parametrize("path", ["~/.ssh/id_rsa", "~", " /etc/passwd", "\u00a0/etc/passwd", "\ufeff/etc/passwd", "a "])
def test_a_path_that_programs_change_before_they_open_it_is_asked_about(
    env: GateEnv, tmp_path: Path, path: str
) -> None:
    """Claude Code replaces `~` and cuts blanks before it opens a file."""

    async def work() -> None:
        async with served_gate(env) as served:
            await make(served.env, served.gate, tool_rule("Read", risk=RiskLevel.LOW))
            assert await status(served, read("a", tmp_path)) == "allowed"
            assert await status(served, read(path, tmp_path)) == "pending_approval"

    run_async(work())


def test_a_link_behind_a_name_in_another_form_of_unicode_is_asked_about(env: GateEnv, tmp_path: Path) -> None:
    """Claude Code composes characters, so it opens another file than the one that was asked about."""
    (tmp_path / "caf\u00e9").symlink_to("/etc")

    async def work() -> None:
        async with served_gate(env) as served:
            await make(served.env, served.gate, tool_rule("Read", risk=RiskLevel.LOW))
            assert await status(served, read("cafe\u0301/passwd", tmp_path)) == "pending_approval"

    run_async(work())


def test_a_folder_that_contains_everything_allows_nothing(env: GateEnv, tmp_path: Path) -> None:
    (tmp_path / "root").symlink_to("/")

    async def work() -> None:
        async with served_gate(env) as served:
            await make(served.env, served.gate, tool_rule("Read", risk=RiskLevel.LOW))
            for folder in ("/", "//", "/tmp/..", tmp_path / "root"):
                assert await status(served, read(f"{folder}/etc/passwd", folder)) == "pending_approval", folder

    run_async(work())


@pytest.mark.parametrize(
    "command",
    [
        "cat .g'i't/config",
        'frobnicate .g"i"t/hooks/pre-commit',
        "frobnicate --into=.'claude' x",
    ],
)
def test_quotes_do_not_hide_a_protected_name_from_rules(env: GateEnv, command: str) -> None:
    """The text does not have the name, but the shell puts it together, here for programs that nobody knows."""

    async def work() -> None:
        async with served_gate(env) as served:
            more: dict[str, Any] = {"reach": RuleReach.COMMAND, "folder": "/tmp", "risk": RiskLevel.HIGH}
            for text, expected in (("cp 'hook' g'i't/hooks", "allowed"), (command, "pending_approval")):
                await make(served.env, served.gate, tool_rule("Bash", command=text, **more))
                assert await status(served, bash(text)) == expected

    run_async(work())


@pytest.mark.parametrize(
    "path", [".gi?/config", "a/.[g]it/config", ".{git,x}/config", "~/.bas*rc", "/home/me/.clau*/x"]
)
def test_a_pattern_that_matches_a_protected_name_is_asked_about(env: GateEnv, path: str) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            call = {"tool": "remove_files", "server": "files", "folder": "/tmp", "session": "s", "door": "mcp"}
            for pattern, expected in (("src/*.py", "allowed"), (path, "pending_approval")):
                args: JsonObject = {"pattern": pattern}
                more: dict[str, Any] = {"reach": RuleReach.CALL, "args": args, "connector": "files"}
                await make(served.env, served.gate, tool_rule("remove_files", risk=RiskLevel.HIGH, **more))
                assert await status(served, {**call, "input": args}) == expected

    run_async(work())


def test_a_file_that_could_not_be_looked_at_is_asked_about(env: GateEnv, tmp_path: Path) -> None:
    """The file may be a link, and an agent may be able to slow down the one who looks."""

    async def work() -> None:
        async with served_gate(env) as served:
            await make(served.env, served.gate, tool_rule("Read", risk=RiskLevel.LOW))
            served.gate._permissions._resolver.files._seconds = 0.0
            assert await status(served, read("a", tmp_path)) == "pending_approval"

    run_async(work())
