"""One turn of an agent with the scripted model."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from aileron_tui.core.request import Request
from aileron_tui.doors.scripted_replies import ScriptedCall
from aileron_tui.doors.trial_commands import TRIAL_PROMPT, trial_command
from tests.agents.agent_lab import SECONDS, AgentLab, CaseFailed, require, until
from tests.agents.processes import end_group, hook_process
from tests.agents.recording_model import RecordingModel

_LAST: Final = 600


@dataclass(frozen=True, slots=True)
class AgentRun:
    """An agent at work in the folder `project`."""

    lab: AgentLab
    project: Path
    model: RecordingModel
    process: "subprocess.Popen[bytes]"
    output: Path

    def request(self) -> Request:
        """The call that waits at the gate."""
        return until(self._request, "the call at the gate")

    def _request(self) -> Request | None:
        found = self.lab.request_in(self.project)
        if found is None and self.process.poll() is not None:
            raise CaseFailed(f"the agent ended without asking the gate: {self.said}")
        return found

    def kill_hook(self) -> None:
        """Kills the hook that the agent waits for, with SIGKILL."""
        pid = until(lambda: hook_process(self.process.pid, self.lab.word), "the process of the hook")
        subprocess.run(["kill", f"-{signal.SIGKILL.value}", str(pid)], check=True)

    def finish(self) -> None:
        """Waits until the agent has ended its turn."""
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise CaseFailed(f"the agent did not end: {self.said}") from None
        require(self.model.asked.is_set(), f"the agent did not ask the model: {self.said}")

    @property
    def said(self) -> str:
        """The end of what the agent printed."""
        return self.output.read_bytes()[-_LAST:].decode("utf-8", "replace")

    def told(self, words: str) -> None:
        """Checks that the model was told these words."""
        told = self.model.conversation
        require(words in told, f"the model was not told {words!r} but {told[-_LAST:]}")

    def files(self) -> dict[str, str]:
        """The files in the folder of the project, without those that agents keep for themselves."""
        return {
            str(path.relative_to(self.project)): path.read_text()
            for path in sorted(self.project.rglob("*"))
            if path.is_file() and not path.relative_to(self.project).parts[0].startswith(".")
        }

    def has_only(self, **expected: str) -> None:
        """Checks what is on disk. Names are written with an underscore for the dot."""
        wanted = {name.replace("_", "."): text for name, text in expected.items()}
        require(self.files() == wanted, f"on disk is {self.files()}, not {wanted}")


@contextmanager
def agent_run(
    lab: AgentLab,
    project: Path,
    *script: ScriptedCall,
    words: Sequence[str] = (),
    prompt: str = "",
    servers: bool = False,
) -> Iterator[AgentRun]:
    """Starts an agent in the folder `project`, and ends it with the block. `words` are added options.

    With a `prompt`, the agent is given that instead of the one of the trial. With `servers`, it starts the MCP servers
    in its settings, which the trial leaves out.
    """
    private = lab.root / f"private-{project.name}"
    private.mkdir(mode=0o700)
    with RecordingModel(*script) as model:
        command = trial_command(lab.word, lab.program, model.url, private, lab.env)
        if servers:
            command = replace(command, words=_with_servers(command.words))
        output = private / "output"
        with output.open("wb") as out:
            process = subprocess.Popen(
                [
                    prompt if prompt and word == TRIAL_PROMPT else word
                    for word in _allowing(lab.word, command.words, words)
                ],
                cwd=project,
                env=command.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield AgentRun(lab, project, model, process, output)
        finally:
            end_group(process)


def _with_servers(words: Sequence[str]) -> tuple[str, ...]:
    """The command of the trial, with the MCP servers of the agent's settings."""
    kept = [word for word in words if word != "--strict-mcp-config"]
    if "mcp_servers={}" in kept:
        at = kept.index("mcp_servers={}")
        del kept[at - 1 : at + 1]
    return tuple(kept)


def _allowing(word: str, words: Sequence[str], more: Sequence[str]) -> list[str]:
    """The command of the trial, but able to run what is allowed: the trial itself denies everything."""
    changed = [*words]
    if word == "codex":
        changed[changed.index("read-only")] = "workspace-write"
        return [*changed[:-1], *more, changed[-1]]
    if word == "gemini":  # the policy that setup wrote counts instead
        at = changed.index("--policy")
        del changed[at : at + 2]
    return [*changed, *more]
