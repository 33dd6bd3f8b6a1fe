"""Codex as its app-server, whose client is the test: here Codex asks, which `codex exec` never does."""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aileron_tui.core.jsontext import JsonObject, read_object
from aileron_tui.doors.scripted_replies import ScriptedCall
from aileron_tui.doors.settings_findings import at
from aileron_tui.doors.trial_commands import trial_command
from tests.agents.agent_lab import SECONDS, AgentLab, CaseFailed, require
from tests.agents.agent_run import AgentRun
from tests.agents.processes import end_group
from tests.agents.recording_model import RecordingModel


@dataclass(frozen=True, slots=True)
class CodexRun(AgentRun):
    """A turn of Codex. The client declines whatever Codex asks it, and `asked` has these questions."""

    lines: "queue.Queue[bytes]" = field(default_factory=queue.Queue)
    asked: list[str] = field(default_factory=list)

    def ask(self, number: int, method: str, params: JsonObject) -> JsonObject:
        """Sends a request and returns its reply."""
        self._send({"id": number, "method": method, "params": params})
        return self._until(lambda message: message.get("id") == number and "method" not in message)

    def start_turn(self) -> None:
        """Lets the model begin, in a sandbox that only reads, and with a client that can be asked."""
        client: JsonObject = {"name": "test", "title": "test", "version": "1"}
        self.ask(1, "initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
        self._send({"method": "initialized"})
        where: JsonObject = {"cwd": str(self.project), "approvalPolicy": "on-request", "sandbox": "read-only"}
        thread = at(self.ask(2, "thread/start", where), "result", "thread", "id")
        require(isinstance(thread, str), "Codex started no thread")
        self.ask(3, "turn/start", {"threadId": thread, "input": [{"type": "text", "text": "Go."}]})

    def finish(self) -> None:
        """Waits for the end of the turn."""
        self._until(lambda message: message.get("method") == "turn/completed")

    def _send(self, message: JsonObject) -> None:
        if self.process.stdin is None:
            raise CaseFailed("Codex has no input")
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _until(self, wanted: Callable[[JsonObject], bool]) -> JsonObject:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                message = read_object(self.lines.get(timeout=0.2))
            except queue.Empty:
                continue
            if "method" in message and "id" in message:
                self.asked.append(str(message["method"]))
                self._send({"id": message["id"], "result": {"decision": "decline"}})
            elif wanted(message):
                return message
        raise CaseFailed("Codex did not answer in time")


@contextmanager
def codex_run(lab: AgentLab, name: str, command: str) -> Iterator[CodexRun]:
    """Codex with a turn in which the model asks for a command outside of the sandbox."""
    project = lab.new_project(name)
    escalated: JsonObject = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "a test"}
    with RecordingModel(ScriptedCall(tool="exec_command", input=escalated)) as model:
        trial = trial_command(lab.word, lab.program, model.url, lab.root, lab.env)
        options = [word for at_ in _settings(trial.words) for word in ("-c", at_)]
        with (lab.root / "codex.log").open("ab") as log:
            process = subprocess.Popen(
                [str(lab.program), *options, "app-server"],
                cwd=project,
                env=trial.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        run = CodexRun(lab, project, model, process, Path(log.name))
        reader = threading.Thread(target=_read, args=(process, run.lines))
        reader.start()
        try:
            run.start_turn()
            yield run
        finally:
            end_group(process)
            reader.join()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


def _settings(words: tuple[str, ...]) -> list[str]:
    return [words[index + 1] for index, word in enumerate(words) if word == "-c"]


def _read(process: "subprocess.Popen[bytes]", lines: "queue.Queue[bytes]") -> None:
    for line in process.stdout or ():
        lines.put(line)
