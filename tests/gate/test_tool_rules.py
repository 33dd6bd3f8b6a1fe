"""Rules for tool calls: exact plain commands, exact calls and a tool in a folder; everything else is asked."""

from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.decision import Verdict
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from tests.gate.conftest import GateEnv, run_async
from tests.gate.ruled_gate import in_an_hour, kinds, make, newest, offers, verified
from tests.gate.served_gate import ServedGate, served_gate
from tests.gate.tool_calls import ask, asked, bash, decide, write

AGENT = "default"


def tool_rule(tool: str, verdict: RuleVerdict = RuleVerdict.ALLOW, **more: Any) -> Rule:
    fields: dict[str, Any] = {"reach": RuleReach.ANY, "kind": CallKind.TOOL, "risk": RiskLevel.NORMAL}
    return Rule(new_rule_id(), verdict, AGENT, tool, ends=in_an_hour(), **fields | more)


async def make_from(served: ServedGate, body: dict[str, Any], reach: RuleReach) -> Rule:
    """Makes a rule from a tool call that waits, as the console does, and denies the call."""
    item = await asked(served, body)
    rule = next(offer.rule for offer in (await offers(served.gate, item["id"])).offers if offer.rule.reach is reach)
    await make(served.env, served.gate, rule)
    await decide(served, item, Verdict.DENY)
    return rule


async def status(served: ServedGate, body: dict[str, Any]) -> str:
    return str((await ask(served, body)).json()["status"])


def test_an_exact_command_is_allowed_and_nothing_near_it(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            rule = await make_from(served, bash("make test"), RuleReach.COMMAND)
            answer = (await ask(served, bash("make test"))).json()
            assert (answer["status"], answer["rule"], answer["input"]) == ("allowed", rule.id, {"command": "make test"})
            assert newest(env).outcome == "handed over"
            assert kinds(env, newest(env).id) == ["request.made", "rule.answered", "tool.handed_over"]
            for other in (
                bash("make  test"),
                bash("make test "),
                bash("make test; rm x"),
                bash("make test", folder="/"),
                bash("make test", server="other"),
                bash("make test") | {"tool": "bash"},
            ):
                assert await status(served, other) == "pending_approval", other
        verified(env)

    run_async(work())


@pytest.mark.parametrize("command", ["make test | tee x", "A=1 make", "make $(id)", "cd x && make", "ls *", "ls ~"])
def test_no_rule_is_offered_for_a_command_that_is_not_plain(env: GateEnv, command: str) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            item = await asked(served, bash(command))
            offered = await offers(served.gate, item["id"])
            assert not offered.offers
            assert offered.refused

    run_async(work())


def test_a_tool_in_a_folder_is_allowed_there_only(env: GateEnv, tmp_path: Path) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            await make_from(served, write(tmp_path / "a.txt", "x\n", tmp_path), RuleReach.FOLDER)
            assert await status(served, write(tmp_path / "b.txt", "y\n", tmp_path)) == "allowed"
            for path, folder in (
                (tmp_path.parent / "outside.txt", tmp_path),
                (tmp_path / ".." / "outside.txt", tmp_path),
                (tmp_path / ".git" / "config", tmp_path),
                (tmp_path / ".claude" / "settings.json", tmp_path),
                (tmp_path / "b.txt", tmp_path.parent),
            ):
                assert await status(served, write(path, "y\n", folder)) == "pending_approval", path
        verified(env)

    run_async(work())


def test_a_link_that_leads_out_of_the_folder_is_asked_about(env: GateEnv, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    (inside / "hooks").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (inside / "link").symlink_to(tmp_path / "outside")
    (tmp_path / ".git").mkdir()
    (inside / "plain").symlink_to(tmp_path / ".git")

    async def work() -> None:
        async with served_gate(env) as served:
            await make_from(served, write(inside / "a.txt", "x\n", inside), RuleReach.FOLDER)
            for path in (inside / "link" / "b.txt", inside / "plain" / "config"):
                assert await status(served, write(path, "y\n", inside)) == "pending_approval"

    run_async(work())


def test_an_exact_call_covers_the_file_as_it_was_shown(env: GateEnv, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")

    async def work() -> None:
        async with served_gate(env) as served:
            body = write(path, "two\n", tmp_path)
            await make_from(served, body, RuleReach.CALL)
            assert await status(served, body) == "allowed"
            path.write_text("changed\n")
            assert await status(served, body) == "pending_approval"
        verified(env)

    run_async(work())


def test_reading_inside_the_folder_is_allowed_by_a_starter_rule(env: GateEnv, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "link").symlink_to("/etc")

    async def work() -> None:
        async with served_gate(env) as served:
            await make(env, served.gate, tool_rule("Read", risk=RiskLevel.LOW))

            def read(path: object) -> dict[str, Any]:
                return bash() | {"tool": "Read", "input": {"file_path": str(path)}, "folder": str(tmp_path)}

            assert await status(served, read(tmp_path / "a.txt")) == "allowed"
            for path in ("/etc/passwd", tmp_path / "link" / "passwd", tmp_path / ".." / "x", env.data / "ledger.db"):
                assert await status(served, read(path)) == "pending_approval", path

    run_async(work())


def test_no_rule_allows_a_shell_by_its_name(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            await make(env, served.gate, tool_rule("Bash"))
            await make(env, served.gate, tool_rule("Bash", reach=RuleReach.FOLDER, folder="/tmp"))
            assert await status(served, bash("ls")) == "pending_approval"

    run_async(work())


def test_a_shell_with_unknown_args_is_asked_about(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            await make(env, served.gate, tool_rule("Bash", reach=RuleReach.FOLDER, folder="/tmp"))
            body = bash() | {"input": {"command": "ls", "shell": "other"}}
            assert await status(served, body) == "pending_approval"
            item = await asked(served, body)
            assert not (await offers(served.gate, item["id"])).offers

    run_async(work())


@pytest.mark.parametrize("folder", ["/", "//", "~", "~/..", "/tmp/link-to-home"])
def test_reading_in_a_folder_that_contains_everything_is_asked_about(
    env: GateEnv, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "users" / "sam"
    home.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    (home / "a.txt").write_text("x")
    monkeypatch.setenv("HOME", str(home))
    where = folder.replace("~", str(home)).replace("/tmp/link-to-home", str(tmp_path / "link"))

    async def work() -> None:
        async with served_gate(env) as served:
            await make(env, served.gate, tool_rule("Read", risk=RiskLevel.LOW))
            read = bash() | {"tool": "Read", "input": {"file_path": str(home / "a.txt")}, "folder": where}
            assert await status(served, read) == "pending_approval"

    run_async(work())


def test_a_deny_rule_names_itself_to_the_agent(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            rule = tool_rule("WebFetch", RuleVerdict.DENY)
            await make(env, served.gate, rule)
            body = bash() | {"tool": "WebFetch", "input": {"url": "https://example.com", "prompt": "x"}}
            answer = (await ask(served, body)).json()
            assert answer["status"] == "denied"
            assert rule.id in answer["reason"]
        verified(env)

    run_async(work())


def test_a_rule_for_an_action_does_not_allow_a_tool_of_its_name(env: GateEnv) -> None:
    async def work() -> None:
        async with served_gate(env) as served:
            rule = Rule(new_rule_id(), RuleVerdict.DENY, AGENT, "Bash", RuleReach.ANY, in_an_hour())
            await make(env, served.gate, rule)
            assert await status(served, bash("ls")) == "pending_approval"

    run_async(work())
