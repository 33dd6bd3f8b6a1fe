"""The scripted model of the product, which also keeps what it was told about its calls."""

import json
import threading

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.doors.scripted_model import ScriptedModel
from aileron_tui.doors.scripted_replies import Reply, ScriptedCall


class RecordingModel(ScriptedModel):
    """Keeps the longest conversation, which ends with what became of the last call."""

    def __init__(self, *script: ScriptedCall) -> None:
        super().__init__(*script)
        self.requests = 0
        self._lock = threading.Lock()
        self._conversation = ""

    def reply(self, path: str, body: JsonObject) -> Reply | None:
        """The reply of the scripted model."""
        said = [body.get(key) for key in ("messages", "input", "contents")]
        text = json.dumps(said, ensure_ascii=False)
        with self._lock:
            self.requests += 1
            if len(text) > len(self._conversation):
                self._conversation = text
        return super().reply(path, body)

    @property
    def conversation(self) -> str:
        """The conversation as JSON."""
        with self._lock:
            return self._conversation
