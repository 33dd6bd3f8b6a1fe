"""The cases of agents with a hook: what must be on disk after one call, and what the model must be told."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.rule import RuleVerdict
from aileron_tui.doors.scripted_replies import ScriptedCall
from aileron_tui.surface.answer_delivery import DeliveryRefusal
from tests.agents.agent_lab import SECONDS, AgentLab, require
from tests.agents.agent_run import AgentRun, agent_run
from tests.agents.open_cases import OPEN

COMMAND: Final = "touch ran.txt"
REASON: Final = "use-another-name-4711"
_SHORT: Final = 6
_REPORTING: Final = ("claude", "codex")
"""The agents that report what became of a call."""

_WRITING: Final = {
    "claude": lambda path: ScriptedCall(tool="Write", input={"file_path": path, "content": "approved\n"}),
    "codex": lambda path: ScriptedCall(
        tool="apply_patch", input=f"*** Begin Patch\n*** Add File: {path}\n+approved\n*** End Patch\n"
    ),
    "gemini": lambda path: ScriptedCall(tool="write_file", input={"file_path": path, "content": "approved\n"}),
    "copilot": lambda path: ScriptedCall(tool="create", input={"path": path, "file_text": "approved\n"}),
}
"""How each agent writes a file."""


def allow(lab: AgentLab) -> None:
    """An approved command runs, once and unchanged, and the history says how it ended."""
    with _shell_run(lab, "allow") as run:
        lab.approve(run.request())
        run.finish()
        run.has_only(ran_txt="")
    outcome = lab.newest_record()["outcome"]
    require(outcome == ("executed" if lab.word in _REPORTING else "handed over"), f"the history says {outcome}")


def deny(lab: AgentLab) -> None:
    """A denied command does not run, and the model gets the reason."""
    with _shell_run(lab, "deny") as run:
        lab.deny(run.request(), REASON)
        run.finish()
        run.has_only()
        run.told(REASON)


def edit(lab: AgentLab) -> None:
    """The edited command runs, and not the one that the agent asked for."""
    with _shell_run(lab, "edit") as run:
        edits: JsonObject = {"command": "touch edited.txt"}
        lab.approve(lab.approver.refresh(run.request().id, edits), edits)
        run.finish()
        run.has_only(edited_txt="")
    require(lab.newest_record()["edited"], "the history does not say that the call was edited")


def nobody(lab: AgentLab) -> None:
    """A call that nobody answers does not run, and is not called a denial."""
    with lab.short_timeout(_SHORT), _shell_run(lab, "nobody") as run:
        run.request()
        run.finish()
        run.has_only()
        run.told("Nobody answered in time")


def gate_down(lab: AgentLab) -> None:
    """Without a gate nothing runs."""
    lab.stop_gate()
    with _shell_run(lab, "gate down", gate=False) as run:
        run.finish()
        run.has_only()
        run.told("no gate is running")


def gate_killed(lab: AgentLab) -> None:
    """A gate that is killed while the call waits lets nothing run."""
    with _shell_run(lab, "gate killed") as run:
        run.request()
        lab.stop_gate(signal.SIGKILL)
        run.finish()
        run.has_only()
        run.told("the gate stopped before it answered")
    lab.start_gate()
    outcome = lab.newest_record()["outcome"]
    require(outcome not in ("approved", "executed", "handed over"), f"the history says {outcome}")


def hook_killed(lab: AgentLab) -> None:
    """A hook that is killed while it waits lets nothing run, and its request is withdrawn."""
    with _shell_run(lab, "hook killed") as run:
        run.request()
        run.kill_hook()
        run.finish()
        ran = run.files() == {"ran.txt": ""}
        require(ran or not run.files(), f"on disk is {run.files()}")
    outcome = lab.newest_record()["outcome"]
    require(outcome == "withdrawn", f"the history says {outcome}")
    expected = (lab.word, "hook killed") in OPEN
    require(ran == expected, "the call ran" if ran else "the call no longer runs: take it from the open cases")


def allowed_by_rule(lab: AgentLab) -> None:
    """A command that a rule allows runs without a question."""
    with _shell_run(lab, "allowed by rule", rule=RuleVerdict.ALLOW) as run:
        run.finish()
        run.has_only(ran_txt="")
    require(lab.newest_record()["rule"], "the history does not name the rule")


def denied_by_rule(lab: AgentLab) -> None:
    """A command that a rule denies does not run."""
    with _shell_run(lab, "denied by rule", rule=RuleVerdict.DENY) as run:
        run.finish()
        run.has_only()
        run.told("denied")
    require(lab.newest_record()["rule"], "the history does not name the rule")


def file_changed(lab: AgentLab) -> None:
    """A file that changes between prompt and answer needs a new answer."""
    lab.start_gate()
    project = lab.new_project("file changed")
    with agent_run(lab, project, _WRITING[lab.word](str(project / "notes.txt"))) as run:
        request = run.request()
        require("approved" in str(request.prompt.fields()), "the prompt does not show what would be written")
        (project / "notes.txt").write_text("by somebody else\n")
        delivery = lab.answer(request, Verdict.APPROVE)
        require(delivery.refusal is DeliveryRefusal.CHANGED, f"the old prompt was answered: {delivery.words}")
        again = run.request()
        require(again.digest != request.digest, "the prompt is the same")
        require("by somebody else" in str(again.prompt.fields()), "the new prompt does not show the file")
        lab.deny(again, REASON)
        run.finish()
        run.has_only(notes_txt="by somebody else\n")
        run.told(REASON)


def file_written(lab: AgentLab) -> None:
    """An approved file has exactly the content that the prompt showed."""
    lab.start_gate()
    project = lab.new_project("file written")
    with agent_run(lab, project, _WRITING[lab.word](str(project / "notes.txt"))) as run:
        lab.approve(run.request())
        run.finish()
        run.has_only(notes_txt="approved\n")
    outcome = lab.newest_record()["outcome"]
    require(outcome == ("executed" if lab.word in _REPORTING else "handed over"), f"the history says {outcome}")


def status(lab: AgentLab) -> None:
    """`aileron status` is answered by the gate, without the model. `codex exec` does not show the answer."""
    lab.start_gate()
    with agent_run(lab, lab.new_project("status"), ScriptedCall(COMMAND), prompt="aileron status") as run:
        run.process.wait(SECONDS)
        shown = f"knows this agent as {lab.word}. Nothing is waiting."
        answer = "UserPromptSubmit Blocked" if lab.word == "codex" else shown
        require(answer in run.said, f"the answer was {run.said!r}")
        require(not run.model.requests, "the model was asked")
        run.has_only()


@contextmanager
def _shell_run(lab: AgentLab, name: str, *, gate: bool = True, rule: RuleVerdict | None = None) -> Iterator[AgentRun]:
    """An agent that is told to run the command in a new folder, for which there may be a rule."""
    project = lab.new_project(name)
    with ExitStack() as stack:
        if gate:
            lab.start_gate()
        if rule is not None:
            stack.enter_context(lab.rule(rule, COMMAND, project))
        yield stack.enter_context(agent_run(lab, project, ScriptedCall(COMMAND)))


CASES: Final[dict[str, Callable[[AgentLab], None]]] = {
    "gate down": gate_down,
    "allow": allow,
    "deny": deny,
    "edit": edit,
    "nobody answers": nobody,
    "gate killed": gate_killed,
    "hook killed": hook_killed,
    "allowed by rule": allowed_by_rule,
    "denied by rule": denied_by_rule,
    "file written": file_written,
    "file changed": file_changed,
    "aileron status": status,
}
