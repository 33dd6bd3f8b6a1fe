"""Telling Codex to trust the hooks that were set up, as a user does with `/hooks`.

Codex skips hooks that are not trusted. Its app-server lists them with their hashes and stores those that are trusted.
Only hooks with exactly our command in exactly our file are trusted.
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, read_object
from aileron_tui.doors.settings_findings import at

_SECONDS: Final = 20.0
_HINT: Final = "Open Codex, type /hooks, and trust the hooks of aileron-tui."


class TrustFault(AileronError):
    """Codex could not be told to trust the hooks."""


def trust_hooks(program: Path, hooks_file: Path, command: str, folder: Path, env: Mapping[str, str]) -> int:
    """Trusts our hooks and returns how many there are. Raises TrustFault."""
    with _AppServer(program, folder, env) as server:
        listed = server.ask("hooks/list", {"cwds": [str(folder)]})
        own = [hook for hook in _hooks(listed) if _is_ours(hook, hooks_file, command)]
        state: JsonObject = {str(hook["key"]): {"trusted_hash": hook["currentHash"]} for hook in own}
        if not state:
            raise TrustFault("Codex does not list the hooks", f"of {hooks_file}", _HINT)
        edit: JsonObject = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
        server.ask("config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
    return len(own)


def untrusted_hooks(program: Path, hooks_file: Path, command: str, folder: Path, env: Mapping[str, str]) -> list[str]:
    """The events of our hooks that Codex would skip. Raises TrustFault."""
    with _AppServer(program, folder, env) as server:
        hooks = _hooks(server.ask("hooks/list", {"cwds": [str(folder)]}))
    own = [hook for hook in hooks if _is_ours(hook, hooks_file, command)]
    if not own:
        raise TrustFault("Codex does not list the hooks", f"of {hooks_file}", _HINT)
    return [str(hook.get("eventName")) for hook in own if hook.get("trustStatus") not in ("trusted", "managed")]


def _is_ours(hook: JsonObject, hooks_file: Path, command: str) -> bool:
    path = hook.get("sourcePath")
    same_file = isinstance(path, str) and Path(path).resolve() == hooks_file.resolve()
    return same_file and hook.get("command") == command and isinstance(hook.get("currentHash"), str)


def _hooks(listed: Json) -> list[JsonObject]:
    entries = at(listed, "data")
    found: list[JsonObject] = []
    for entry in entries if isinstance(entries, list) else ():
        hooks = at(entry, "hooks")
        found += [hook for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
    return found


class _AppServer:
    """A `codex app-server` until the block ends: one JSON object per line in both directions."""

    def __init__(self, program: Path, folder: Path, env: Mapping[str, str]) -> None:
        self._end = time.monotonic() + _SECONDS
        self._number = 0
        self._rest = b""
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the program that the user asked for
                [str(program), "app-server"],
                cwd=folder,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise TrustFault("cannot start codex app-server", str(error), _HINT) from None

    def __enter__(self) -> "_AppServer":
        client: JsonObject = {"name": "aileron-tui", "title": "aileron-tui", "version": "1"}
        self.ask("initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
        self._send({"method": "initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def ask(self, method: str, params: JsonObject) -> Json:
        """Sends a request and returns its result."""
        self._number += 1
        try:
            self._send({"id": self._number, "method": method, "params": params})
            while True:
                reply = read_object(self._line())
                if reply.get("id") == self._number and "method" not in reply:
                    break
        except (OSError, JsonError) as error:
            self._close()
            raise TrustFault("codex app-server failed", str(error), _HINT) from None
        if "error" in reply:
            raise TrustFault(f"codex app-server refused {method}", str(at(reply, "error", "message")), _HINT)
        return reply.get("result")

    def _send(self, message: JsonObject) -> None:
        stream = self._process.stdin
        if stream is None:
            raise OSError("it has no input")
        stream.write(json.dumps(message).encode() + b"\n")
        stream.flush()

    def _line(self) -> bytes:
        descriptor = self._process.stdout.fileno() if self._process.stdout else -1
        while b"\n" not in self._rest:
            left = self._end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise OSError("it did not answer in time")
            data = os.read(descriptor, 65536)
            if not data:
                raise OSError("it ended")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
