"""Previews that the MCP proxy fetches from the same server before it asks, and again before it sends the call."""

from pathlib import Path
from typing import Any

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import RiskLevel
from tests.doors.proxy_harness import MODERN_META, Harness, definition

READ = definition("read", readOnlyHint=True)


class ReadFirst:
    """Reads the file that `write` is about to change."""

    def __init__(self, level: RiskLevel | None = None, tool: str = "read") -> None:
        self.level = level
        self.tool = tool

    def preview_call(self, tool: str, args: JsonObject) -> tuple[str, JsonObject] | None:
        """What is called for a call of `write`."""
        return (self.tool, {"path": args.get("path")}) if tool == "write" else None

    def preview_result(self, tool: str, result: JsonObject) -> PreviewResult:
        """The text of the file."""
        assert tool == "write"
        return PreviewResult((Row("Now", str(result["text"]), multiline=True),))

    def risk(self, tool: str) -> RiskLevel | None:
        """The same for every tool."""
        assert tool
        return self.level


def started(path: Path, *tools: dict[str, Any], policy: ReadFirst | None = None) -> Harness:
    made = Harness(path, *(tools or (definition("write"), READ)), policy=policy or ReadFirst())
    made.list_as_client()
    return made


def answer_preview(proxy: Harness, text: str = "old") -> dict[str, Any]:
    """The server answers the call of the preview tool."""
    (call,) = proxy.sent()
    assert call["method"] == "tools/call"
    assert call["id"].startswith("aileron-")
    proxy.result(call["id"], {"text": text})
    assert not proxy.client
    params: dict[str, Any] = call["params"]
    return params


def test_the_preview_is_fetched_first_and_only_the_operator_sees_it(tmp_path: Path) -> None:
    proxy = started(tmp_path)
    proxy.call(1, path="/a")
    assert not proxy.gate.asked
    assert answer_preview(proxy) == {"name": "read", "arguments": {"path": "/a"}}
    (asked,) = proxy.gate.asked
    assert asked.question.more["preview"] == {
        "rows": [{"label": "Now", "value": "old", "multiline": True, "missing": False}],
        "hidden": 0,
        "from": "read",
    }
    asked.allow()
    answer_preview(proxy)
    assert proxy.sent()[0]["params"]["name"] == "write"
    assert not proxy.client


def test_a_modern_preview_carries_what_the_protocol_needs(tmp_path: Path) -> None:
    proxy = started(tmp_path)
    proxy.request(1, "tools/call", name="write", arguments={}, _meta=MODERN_META | {"progressToken": 1})
    assert answer_preview(proxy)["_meta"] == MODERN_META


@pytest.mark.parametrize(
    ("tools", "policy", "reason"),
    [
        ((definition("write"), definition("read")), ReadFirst(), "does not say that read is read-only"),
        ((definition("write"), definition("read", readOnlyHint=True, destructiveHint=True)), ReadFirst(), "read-only"),
        ((definition("write"),), ReadFirst(), "not a pinned tool"),
    ],
)
def test_only_a_pinned_read_only_tool_is_a_preview(
    tmp_path: Path, tools: tuple[dict[str, Any], ...], policy: ReadFirst, reason: str
) -> None:
    proxy = started(tmp_path, *tools, policy=policy)
    proxy.call(1, path="/a")
    assert not proxy.sent()
    preview: Any = proxy.gate.asked[0].question.more["preview"]
    assert reason in preview["unavailable"]
    assert preview["rows"] == []


def test_a_preview_tool_that_has_changed_is_not_called(tmp_path: Path) -> None:
    proxy = started(tmp_path)
    proxy.list_as_client(tools=[definition("write"), READ | {"description": "new"}])
    proxy.call(1, path="/a")
    preview: Any = proxy.gate.asked[0].question.more["preview"]
    assert "has changed" in preview["unavailable"]


def test_a_preview_that_is_slow_or_fails_is_unavailable(tmp_path: Path) -> None:
    proxy = started(tmp_path)
    proxy.call(1, path="/a")
    (slow,) = proxy.sent()
    proxy.later(6)
    proxy.result(slow["id"], {"text": "late"})
    proxy.call(2, path="/b")
    (failing,) = proxy.sent()
    proxy.reply({"jsonrpc": "2.0", "id": failing["id"], "error": {"code": 1, "message": "broken"}})
    proxy.call(3, path="/c")
    (double,) = proxy.sent()
    proxy.reply(f'{{"jsonrpc":"2.0","id":"{double["id"]}","result":{{}},"result":{{"text":"x"}}}}'.encode())
    reasons = [str(asked.question.more["preview"]) for asked in proxy.gate.asked]
    assert "did not answer in time" in reasons[0]
    assert "broken" in reasons[1]
    assert "two ways" in reasons[2]
    assert not proxy.client


@pytest.mark.parametrize("level", [RiskLevel.NORMAL, RiskLevel.HIGH])
def test_what_has_changed_since_is_asked_about_again(tmp_path: Path, level: RiskLevel) -> None:
    proxy = started(tmp_path, policy=ReadFirst(level))
    proxy.call(1, path="/a")
    answer_preview(proxy)
    first = proxy.gate.asked[0]
    assert first.question.more.get("risk") == ("high" if level is RiskLevel.HIGH else None)
    first.allow(id_="req-a")
    answer_preview(proxy, "new")
    assert proxy.gate.reports == [
        ("req-a", {"path": "/a"}, "nothing was run: what the preview shows has changed"),
    ]
    answer_preview(proxy, "new")
    second = proxy.gate.asked[1]
    second.allow(id_="req-b")
    answer_preview(proxy, "new")
    assert proxy.sent()[0]["params"]["name"] == "write"


def test_an_edit_that_changes_the_preview_is_asked_about_again(tmp_path: Path) -> None:
    proxy = started(tmp_path)
    proxy.call(1, path="/a", text="x")
    answer_preview(proxy)
    proxy.gate.asked[0].allow({"path": "/b", "text": "x"})
    assert answer_preview(proxy, "other")["arguments"] == {"path": "/b"}
    second = proxy.gate.asked[1]
    assert second.question.args == {"path": "/b", "text": "x"}
    second.allow({"path": "/b", "text": "y"})
    answer_preview(proxy, "other")
    assert proxy.sent()[0]["params"]["arguments"] == {"path": "/b", "text": "y"}


def test_a_preview_that_never_stands_still_ends_the_call(tmp_path: Path) -> None:
    proxy = started(tmp_path, policy=ReadFirst(RiskLevel.HIGH))
    proxy.call(1, path="/a")
    for number in range(4):
        answer_preview(proxy, str(number))
        proxy.gate.asked[-1].allow(id_=f"req-{number}")
        if number < 3:
            answer_preview(proxy, f"{number} changed")
    (again,) = proxy.sent()
    proxy.result(again["id"], {"text": "changed"})
    assert "kept changing" in proxy.error_text()
    assert not proxy.server


def test_a_definition_that_changes_while_the_preview_is_checked_stops_the_call(tmp_path: Path) -> None:
    proxy = started(tmp_path, policy=ReadFirst(RiskLevel.HIGH))
    proxy.call(1, path="/a")
    answer_preview(proxy)
    proxy.gate.asked[0].allow(id_="req-a")
    proxy.tools[0] = definition("write", "changed")
    proxy.reply({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    proxy.client.clear()
    answer_preview(proxy)
    proxy.answer_lists()
    assert not proxy.server
    assert proxy.gate.reports == [("req-a", {"path": "/a"}, "nothing was run: the definition of the tool has changed")]
    assert proxy.gate.asked[1].question.is_definition


def test_a_call_cancelled_while_its_preview_is_checked_is_not_sent(tmp_path: Path) -> None:
    proxy = started(tmp_path, policy=ReadFirst(RiskLevel.HIGH))
    proxy.call(1, path="/a")
    answer_preview(proxy)
    proxy.gate.asked[0].allow()
    proxy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    answer_preview(proxy)
    assert not proxy.server
    assert "no longer waited" in proxy.gate.reports[0][2]
    assert len(proxy.gate.reports) == 1


def test_a_call_that_waits_again_keeps_the_preview_that_was_shown(tmp_path: Path) -> None:
    proxy = started(tmp_path, policy=ReadFirst(RiskLevel.HIGH))
    proxy.call(1, path="/a")
    answer_preview(proxy, "shown")
    proxy.gate.asked[0].wait_on("req-7")
    proxy.answers()
    proxy.call(2, path="/a")
    answer_preview(proxy, "newer")
    again = proxy.gate.asked[1]
    assert again.id == "req-7"
    again.allow()
    answer_preview(proxy, "newer")
    assert "preview shows has changed" in proxy.gate.reports[0][2]
