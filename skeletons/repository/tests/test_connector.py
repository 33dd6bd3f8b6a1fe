"""Runs the built connector in the sandbox of aileron-tui, against the API in server.py.

The tests use a copy of this repository that points to a free port, in a home of its own, so they change nothing here.
"""

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from server import KEY, PORT, NotesServer

REPOSITORY = Path(__file__).resolve().parent.parent
COMMAND = shlex.split(os.environ.get("AILERON", "aileron-tui"))
CONNECTOR = "@@connector@@"


class ConnectorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not (REPOSITORY / "connector" / "connector.wasm").is_file():
            raise AssertionError("the connector is not built: run `make` first")
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.server = cls.enterClassContext(NotesServer())
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        home = cls.folder / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(f'[connectors."{CONNECTOR}".credential]\nenv = "NOTES_KEY"\n')
        cls.environment = {**os.environ, "AILERON_TUI_HOME": str(home), "NOTES_KEY": KEY}
        cls.copy = cls.copied("copy")

    @classmethod
    def copied(cls, name: str, *, gated: bool = True) -> Path:
        """A copy of the connector and its actions that uses the port of the server, pinned again."""
        copy = cls.folder / name
        shutil.copytree(REPOSITORY / "connector", copy / "connector")
        shutil.copytree(REPOSITORY / "actions", copy / "actions")
        for file in (copy / "connector" / "manifest.toml", *copy.glob("actions/*/action.md")):
            text = file.read_text(encoding="utf-8").replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{cls.server.server_port}")
            file.write_text(text if gated else text.replace("required = true", "required = false"), encoding="utf-8")
        cls.command("pin", str(copy))
        return copy

    @classmethod
    def command(cls, *words: str, expect: int = 0, **variables: str) -> str:
        """What a command prints; fails if it ends with another exit code than expected."""
        done = subprocess.run(
            [*COMMAND, *words], env={**cls.environment, **variables}, capture_output=True, text=True, check=False
        )
        if done.returncode != expect:
            raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def preview(self, note: str, *, expect: int = 0, **variables: str) -> dict:
        """The prompt for publishing a note."""
        words = ["preview", "publish-note", "--arg", f"note_id={note}", "--arg", "channel=news"]
        text = self.command(*words, "--manifests", str(self.copy), "--json", expect=expect, **variables)
        return json.loads(text)

    def test_the_preview_shows_the_note(self) -> None:
        shown = self.preview("n-1")
        self.assertEqual(shown["output"]["title"], "Release notes")
        lines = [" ".join(line.split()) for line in shown["lines"]]
        for line in ("Title: Release notes", "Author: sam@example.com", "> Version 2 is out.", "> It is faster."):
            self.assertIn(line, lines)
        self.assertEqual(self.server.published, [])

    def test_every_character_arrives(self) -> None:
        self.assertEqual(self.preview("n-2")["output"]["text"], "Tab\there, and a line\u2028break.")

    def test_a_note_that_does_not_exist_is_said(self) -> None:
        for note in ("n-9", 'n-1/publish?a="b"&c'):
            with self.subTest(note):
                self.assertEqual(self.unavailable(note), "Notes API returned 404")

    def test_an_id_cannot_leave_its_place(self) -> None:
        self.assertEqual(self.unavailable(".."), "get_note: note_id is not valid")

    def test_a_wrong_key_is_said(self) -> None:
        self.assertEqual(self.unavailable("n-1", NOTES_KEY="wrong-key"), "Notes API returned 401")

    def test_publishing_sends_one_request(self) -> None:
        """Uses a gate of its own, with a copy of the action that asks nobody."""
        words = ["gate", "--manifests", str(self.copied("ungated", gated=False)), "--port", "0"]
        gate = subprocess.Popen(
            [*COMMAND, *words], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with gate:
            try:
                ready = gate.stdout.readline()
                self.assertTrue(ready, "the gate did not start")
                self.command("run", "publish-note", "--arg", "note_id=n-1", "--arg", "channel=news")
            finally:
                gate.terminate()
                gate.communicate()
        self.assertEqual(self.server.published, [("n-1", "news")])
        self.server.published.clear()

    def unavailable(self, note: str, **variables: str) -> str:
        """Why there is no preview."""
        return self.preview(note, expect=1, **variables)["prompt"]["preview"]["unavailable"]


if __name__ == "__main__":
    unittest.main()
