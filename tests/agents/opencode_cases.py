"""The cases of opencode, which has no hook: its server asks, and the console answers through that server."""

import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.request import Request
from aileron_tui.doors.opencode_trial import TrialServer, free_port, model_variables, wait_for
from aileron_tui.doors.scripted_replies import DONE, ScriptedCall
from aileron_tui.runtime.daemon.answer_sender import AnswerRefused
from aileron_tui.runtime.opencode.opencode_server import NamedOpencode, find_opencode
from aileron_tui.runtime.opencode.opencode_source import OpencodeSource
from aileron_tui.surface.answer_delivery import Answer, deliver
from tests.agents.agent_lab import AgentLab, CaseFailed, require, until
from tests.agents.agent_run import AgentRun
from tests.agents.hook_cases import COMMAND, REASON
from tests.agents.processes import end_group
from tests.agents.recording_model import RecordingModel

_UNANSWERED_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True)
class OpencodeRun(AgentRun):
    """A server of opencode at work, and the console's connection to it."""

    source: OpencodeSource
    server: TrialServer
    session: str

    def request(self) -> Request:
        """The call that waits."""
        return until(lambda: next(iter(self.source.waiting()), None), "the question of opencode")

    def answer(self, verdict: Verdict, reason: str = "") -> None:
        """Answers the call that waits."""
        delivery = deliver(self.source, Answer(self.request(), verdict, reason))
        require(delivery.taken, f"the answer was not taken: {delivery.words}")

    def turn_ended(self) -> None:
        """Waits until opencode has stored the end of the turn."""
        until(lambda: self._idle() or None, "the end of the turn")

    def _idle(self) -> bool:
        told = str(self.server.ask("GET", f"/session/{self.session}/message"))
        return DONE in told or "'status': 'error'" in told


def allow(lab: AgentLab) -> None:
    """An allowed command runs, and the answer counts once."""
    with _opencode_run(lab, "allow") as run:
        run.answer(Verdict.APPROVE)
        run.turn_ended()
        run.has_only(ran_txt="")


def deny(lab: AgentLab) -> None:
    """A rejected command does not run, and the session keeps the message."""
    with _opencode_run(lab, "deny") as run:
        run.answer(Verdict.DENY, REASON)
        run.turn_ended()
        run.has_only()
        told = str(run.server.ask("GET", f"/session/{run.session}/message"))
        require(REASON in told, f"the agent was not told the reason: {told[-600:]}")


def edit(lab: AgentLab) -> None:
    """An edit is refused with the reason, because opencode runs a call unchanged."""
    edits: JsonObject = {"command": "touch edited.txt"}
    with _opencode_run(lab, "edit") as run:
        request = run.request()
        try:
            run.source.refresh(request.id, edits)
        except AnswerRefused as error:
            require("unchanged" in str(error), str(error))
        else:
            raise CaseFailed("the edit was not refused")
        run.has_only()


def nobody(lab: AgentLab) -> None:
    """A command that nobody answers keeps waiting, and does not run."""
    with _opencode_run(lab, "nobody") as run:
        request = run.request()
        time.sleep(_UNANSWERED_SECONDS)
        require(run.request().id == request.id, "the question is gone")
        run.has_only()


def server_killed(lab: AgentLab) -> None:
    """A server that is killed while the call waits runs nothing, also after it starts again."""
    with _opencode_run(lab, "server killed") as run:
        run.request()
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
        run.has_only()
        with _server(lab, run.project, run.model, run.server) as process:
            wait_for(run.server, process)
            time.sleep(1)
            require(not run.source.waiting(), "the question is back")
            run.has_only()


CASES: Final[dict[str, Callable[[AgentLab], None]]] = {
    "allow": allow,
    "deny": deny,
    "edit": edit,
    "nobody answers": nobody,
    "server killed": server_killed,
}


@contextmanager
def _opencode_run(lab: AgentLab, name: str) -> Iterator[OpencodeRun]:
    project = lab.new_project(name)
    server = TrialServer(free_port(), secrets.token_hex(16))
    with RecordingModel(ScriptedCall(COMMAND)) as model, _server(lab, project, model, server) as process:
        wait_for(server, process)
        named = NamedOpencode(f"http://127.0.0.1:{server.port}", password_env="PASSWORD")
        found = find_opencode(named, {"PASSWORD": server.password})
        source = OpencodeSource(found, lab.key, lab.root / f"ledger-{project.name}")
        try:
            yield OpencodeRun(
                lab, project, model, process, project.with_suffix(".log"), source, server, server.start_turn()
            )
        finally:
            source.close()


@contextmanager
def _server(
    lab: AgentLab, project: Path, model: RecordingModel, server: TrialServer
) -> "Iterator[subprocess.Popen[bytes]]":
    with project.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [str(lab.program), "serve", "--port", str(server.port)],
            cwd=project,
            env={**lab.env, **model_variables(model.url), "OPENCODE_SERVER_PASSWORD": server.password},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end_group(process)
