"""Cases that only Codex has: patches, and the hook that it runs before it asks its user (PermissionRequest)."""

import json
from collections.abc import Callable
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.doors.scripted_replies import ScriptedCall
from tests.agents.agent_lab import AgentLab, CaseFailed, require, until
from tests.agents.agent_run import agent_run
from tests.agents.codex_server import CodexRun, codex_run
from tests.agents.hook_cases import COMMAND, REASON

_PATCH: Final = "*** Begin Patch\n*** Update File: notes.txt\n@@\n one\n-two\n+three\n*** End Patch\n"


def patch(lab: AgentLab) -> None:
    """A patch is shown as a diff of the file, and changes it as shown."""
    lab.start_gate()
    project = lab.new_project("patch")
    (project / "notes.txt").write_text("one\ntwo\n")
    with agent_run(lab, project, ScriptedCall(tool="apply_patch", input=_PATCH)) as run:
        request = run.request()
        require(request.prompt.args == {"command": _PATCH}, f"the hook got {request.prompt.args}")
        shown = json.dumps([row.value for row in request.prompt.preview.rows] if request.prompt.preview else [])
        require("@@ -1,2 +1,2 @@" in shown and "+three" in shown, f"the prompt shows no diff but {shown}")
        lab.approve(request)
        run.finish()
        run.has_only(notes_txt="one\nthree\n")


def asks_allowed(lab: AgentLab) -> None:
    """Outside of its sandbox, Codex runs what both hooks allow and does not ask its user. It cannot carry an edit."""
    lab.start_gate()
    with codex_run(lab, "asks allowed", COMMAND) as run:
        request = _second_request(run)
        try:
            lab.approver.refresh(request.id, {"command": "touch edited.txt"})
        except AileronError as error:
            require("edit" in str(error), f"the edit was refused without a reason: {error}")
        else:
            raise CaseFailed("the edit was not refused")
        lab.approve(request)
        run.finish()
        run.has_only(ran_txt="")
        require(not run.asked, f"Codex asked its user: {run.asked}")


def asks_denied(lab: AgentLab) -> None:
    """What the second hook denies does not run, and Codex does not ask its user."""
    lab.start_gate()
    with codex_run(lab, "asks denied", COMMAND) as run:
        lab.deny(_second_request(run), REASON)
        run.finish()
        run.has_only()
        run.told(REASON)
        require(not run.asked, f"Codex asked its user: {run.asked}")


def asks_killed(lab: AgentLab) -> None:
    """If the second hook is killed, Codex asks its user, who declines here."""
    lab.start_gate()
    with codex_run(lab, "asks killed", COMMAND) as run:
        _second_request(run)
        run.kill_hook()
        run.finish()
        run.has_only()
        require(len(run.asked) == 1, f"Codex asked its user {run.asked}")


def _second_request(run: CodexRun) -> Request:
    """The request of PermissionRequest, after that of PreToolUse was approved."""
    first = run.request()
    run.lab.approve(first)

    def second() -> Request | None:
        found = run.lab.request_in(run.project)
        return found if found is not None and found.id != first.id else None

    return until(second, "the second question")


CASES: Final[dict[str, Callable[[AgentLab], None]]] = {
    "patch": patch,
    "asks, allowed": asks_allowed,
    "asks, denied": asks_denied,
    "asks, hook killed": asks_killed,
}
