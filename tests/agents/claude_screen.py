"""Claude Code on a terminal, in tmux."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.doors.scripted_replies import ScriptedCall
from aileron_tui.doors.trial_commands import TRIAL_PROMPT, trial_command
from tests.agents.agent_lab import AgentLab, require, until
from tests.agents.recording_model import RecordingModel
from tests.agents.tmux_window import TmuxWindow

_COMMAND: Final = "touch ran.txt"
_WITHOUT: Final = ("-p", "--no-session-persistence", TRIAL_PROMPT)


def esc_withdraws(lab: AgentLab) -> None:
    """Esc while the hook waits withdraws the request, and nothing runs. `aileron status` then shows nothing waiting."""
    lab.start_gate()
    project = lab.new_project("esc")
    with TmuxWindow((100, 30)) as window, claude_on_screen(lab, project, window, ScriptedCall(_COMMAND)) as model:
        window.type("Please make a file.")
        until(lambda: lab.request_in(project), "the call at the gate")
        window.until("Waiting for approval in aileron-tui")
        window.press("Escape")
        window.until("Interrupted")
        until(lambda: lab.request_in(project) is None or None, "the end of the request")
        asked = model.requests
        window.type("aileron status")
        window.until("knows this agent as claude. Nothing is waiting.")
        require(model.requests == asked, "the model was asked about the status")
    require(not [*project.iterdir()], "something is on disk")
    outcome = lab.newest_record()["outcome"]
    require(outcome == "withdrawn", f"the history says {outcome}")


@contextmanager
def claude_on_screen(
    lab: AgentLab, project: Path, window: TmuxWindow, *script: ScriptedCall, columns: int = 0
) -> Iterator[RecordingModel]:
    """Claude Code in a pane of the window, ready for its first prompt."""
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {str(project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        "customApiKeyResponses": {"approved": ["aileron-check"], "rejected": []},
    }
    (lab.root / "home" / ".claude.json").write_text(json.dumps(known))
    with RecordingModel(*script) as model:
        command = trial_command(lab.word, lab.program, model.url, lab.root, lab.env)
        words = [word for word in command.words if word not in _WITHOUT]
        window.start(words, command.env, project, columns)
        window.until("? for shortcuts", pane=1 if columns else 0)
        yield model
