"""One call by the installed opencode itself, to see that it asks before it runs something. It is rejected.

Its server is started on a free port with a password of its own, so that nobody else can answer.
"""

import base64
import json
import secrets
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, read
from aileron_tui.core.values import dataclass
from aileron_tui.doors.scripted_model import ScriptedModel
from aileron_tui.doors.scripted_replies import ScriptedCall
from aileron_tui.doors.settings_findings import at
from aileron_tui.doors.trial_call import LONGEST_OUTPUT, TrialPlaces, TrialResult, end_process

_SECONDS: Final = 60.0
_START_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.2
_REPLY_SECONDS: Final = 10.0
_FIRST_REPLY_SECONDS: Final = 1.0  # opencode never answers a request that comes while it starts
_MODEL: Final = "scripted"


def try_opencode(program: Path, places: TrialPlaces) -> TrialResult:
    """Lets opencode make one call, and rejects it. Blocks for some seconds, a minute at most."""
    name = f"aileron-check-{secrets.token_hex(6)}"
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="aileron-setup-") as folder,
        tempfile.TemporaryDirectory(prefix="setup-", dir=places.cache) as private,
        ScriptedModel(ScriptedCall(f"touch {name}")) as model,
    ):
        for relative, text in places.files.items():
            (Path(folder) / relative).write_text(text)
        server = TrialServer(free_port(), secrets.token_hex(16))
        output = Path(private) / "output"
        with output.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603  # the program that the user asked for
                [str(program), "serve", "--port", str(server.port)],
                cwd=folder,
                env={**places.env, **model_variables(model.url), "OPENCODE_SERVER_PASSWORD": server.password},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            reached = _reject_next(server, process, name, started + _SECONDS)
        finally:
            end_process(process)
        return TrialResult(
            asked_model=model.asked.is_set(),
            reached=reached,
            denied=reached,
            ran=any(Path(folder).rglob(name)),
            agent="",
            said=output.read_bytes()[-LONGEST_OUTPUT:].decode("utf-8", "replace").strip(),
            seconds=time.monotonic() - started,
        )


@dataclass(frozen=True, slots=True)
class TrialServer:
    """A server of opencode on this machine."""

    port: int
    password: str

    def ask(self, method: str, path: str, body: JsonObject | None = None, seconds: float = _REPLY_SECONDS) -> Json:
        """Sends a request and returns the JSON of its reply. Raises OSError."""
        word = base64.b64encode(f"opencode:{self.password}".encode()).decode()
        request = urllib.request.Request(  # always http
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Basic {word}", "Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=seconds) as reply:
            data = reply.read()
        try:
            return read(data) if data else None
        except JsonError as error:
            raise OSError(str(error)) from None

    def start_turn(self) -> str:
        """Lets the model begin, and returns the id of the session. Raises OSError."""
        session = str(at(self.ask("POST", "/session", {}), "id"))
        part: JsonObject = {"type": "text", "text": "Check that aileron-tui is asked."}
        model: JsonObject = {"providerID": "aileron", "modelID": _MODEL}
        self.ask("POST", f"/session/{session}/prompt_async", {"parts": [part], "model": model})
        return session


def _reject_next(server: TrialServer, process: "subprocess.Popen[bytes]", name: str, end: float) -> bool:
    """Starts a turn, and rejects the question about the command with this name. Whether there was one."""
    wait_for(server, process)
    try:
        server.start_turn()
        while time.monotonic() < end and process.poll() is None:
            asked = server.ask("GET", "/permission")
            for question in asked if isinstance(asked, list) else ():
                if name in str(question):
                    reply: JsonObject = {"reply": "reject", "message": "This was the check of aileron-tui setup."}
                    server.ask("POST", f"/permission/{at(question, 'id')}/reply", reply)
                    return True
            time.sleep(_POLL_SECONDS)
    except OSError as error:
        raise AileronError("opencode could not be tried", str(error), "Check that opencode works.") from None
    return False


def wait_for(server: TrialServer, process: "subprocess.Popen[bytes]") -> None:
    """Waits until the server answers. Raises AileronError."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError):
            server.ask("GET", "/config", seconds=_FIRST_REPLY_SECONDS)
            return
        time.sleep(_POLL_SECONDS)
    raise AileronError("the server of opencode did not start", hint="Check that `opencode serve` works.")


def model_variables(url: str) -> dict[str, str]:
    """The environment that makes opencode use the scripted model, whatever its configuration says."""
    options: JsonObject = {"baseURL": f"{url}/v1", "apiKey": "aileron-check"}
    provider: JsonObject = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "aileron check",
        "options": options,
        "models": {_MODEL: {"name": _MODEL}},
    }
    config: JsonObject = {
        "model": f"aileron/{_MODEL}",
        "small_model": f"aileron/{_MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"aileron": provider},
    }
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)} | {f"OPENCODE_DISABLE_{name}": "1" for name in off}


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
