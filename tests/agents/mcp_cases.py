"""The cases of MCP: what an agent gets from our own server, and from a server behind the proxy."""

from collections.abc import Callable
from typing import Final

from aileron_tui.doors.scripted_replies import ScriptedCall
from tests.agents.agent_lab import AgentLab, require
from tests.agents.hook_cases import REASON
from tests.agents.mcp_lab import SERVER, McpLab, mcp_lab, mcp_run

_FILE: Final = "marks.txt"
_DRAFT: Final = "r-12345"
_STATUS: Final = ScriptedCall(tool="mcp__aileron__aileron_status", input={})


def action_approved(lab: AgentLab) -> None:
    """An approved action runs once, and the agent gets its result with its structure."""
    home = mcp_lab(lab)
    home.start_gate()
    before = len(home.service.sent)
    with mcp_run(home, "action approved", _send(home)) as run:
        request = home.asked(run, "send-draft")
        require(request.prompt.agent == f"{home.word}-mcp", f"it asked as {request.prompt.agent}")
        home.approve(request)
        run.finish()
        run.told("completed")
        run.told("labelIds")
    require(len(home.service.sent) == before + 1, f"it was sent {len(home.service.sent) - before} times")


def action_denied(lab: AgentLab) -> None:
    """A denied action does not run, and the agent sees the reason."""
    home = mcp_lab(lab)
    home.start_gate()
    before = len(home.service.sent)
    with mcp_run(home, "action denied", _send(home)) as run:
        home.deny(home.asked(run, "send-draft"), REASON)
        run.finish()
        run.told(REASON)
    require(len(home.service.sent) == before, "it was sent")


def proxied_approved(lab: AgentLab) -> None:
    """A call through the proxy that is approved writes once, and the agent gets the server's own result."""
    home = mcp_lab(lab)
    home.start_gate()
    with mcp_run(home, "proxied approved", _mark(home)) as run:
        request = home.asked(run, "mark")
        require(request.prompt.agent == f"mcp-{SERVER}", f"it asked as {request.prompt.agent}")
        home.approve(request)
        run.finish()
        run.told("marked")
    require(_marks(home) == "marked\n", f"on disk is {_marks(home)!r}")
    outcome = home.newest_record()["outcome"]
    # An agent that has ended its turn may end the proxy before that has reported what became of the call.
    require(outcome in ("executed", "handed over"), f"the history says {outcome}")


def proxied_denied(lab: AgentLab) -> None:
    """A call through the proxy that is denied leaves the file untouched, and the agent sees the reason."""
    home = mcp_lab(lab)
    home.start_gate()
    with mcp_run(home, "proxied denied", _mark(home)) as run:
        home.deny(home.asked(run, "mark"), REASON)
        run.finish()
        run.told(REASON)
    require(not _marks(home), f"on disk is {_marks(home)!r}")


def proxied_gate_down(lab: AgentLab) -> None:
    """Without a gate, nothing is called, and the agent is told how to start one."""
    home = mcp_lab(lab)
    home.stop_gate()
    for name, call in (("proxied gate down", _mark(home)), ("status gate down", _STATUS)):
        with mcp_run(home, name, call) as run:
            run.finish()
            run.told("no gate is running")
    require(not _marks(home), f"on disk is {_marks(home)!r}")


def _send(lab: McpLab) -> ScriptedCall:
    """A call that sends a draft. Codex knows tools by names without dashes."""
    name = "send_draft" if lab.word == "codex" else "send-draft"
    return ScriptedCall(tool=f"mcp__aileron__{name}", input={"draft_id": _DRAFT})


def _mark(lab: McpLab) -> ScriptedCall:
    """A call that writes to a file, which is not there yet."""
    (lab.root / _FILE).unlink(missing_ok=True)
    return ScriptedCall(tool=f"mcp__{SERVER}__mark", input={"path": str(lab.root / _FILE)})


def _marks(lab: McpLab) -> str:
    path = lab.root / _FILE
    return path.read_text() if path.exists() else ""


CASES: Final[dict[str, Callable[[AgentLab], None]]] = {
    "action approved": action_approved,
    "action denied": action_denied,
    "proxied, approved": proxied_approved,
    "proxied, denied": proxied_denied,
    "MCP, gate down": proxied_gate_down,
}
