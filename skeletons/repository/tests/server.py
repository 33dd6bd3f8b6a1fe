"""The API that the tests use: notes that can be read and published. Run this file to try the actions by hand."""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

KEY = "test-key"
PORT = 8730
NOTES = {
    "n-1": {"title": "Release notes", "author": "sam@example.com", "text": "Version 2 is out.\nIt is faster."},
    "n-2": {"title": 'Ünïcode & "quotes"', "author": "kim@example.com", "text": "Tab\there, and a line\u2028break."},
}


class NotesServer(ThreadingHTTPServer):
    """The API on a port of this machine; 0 chooses a free one. `published` has the id and channel of each note."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.published: list[tuple[str, str]] = []


class _Handler(BaseHTTPRequestHandler):
    server: NotesServer

    def do_GET(self) -> None:
        self._answer(*self._get())

    def do_POST(self) -> None:
        self._answer(*self._post())

    def _get(self) -> tuple[int, object]:
        if fault := self._fault():
            return fault
        return 200, {"id": self._note(), **NOTES[self._note()]}

    def _post(self) -> tuple[int, object]:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if fault := self._fault("publish"):
            return fault
        self.server.published.append((self._note(), body["channel"]))
        return 200, {"id": self._note(), "channel": body["channel"], "published": True}

    def _fault(self, *rest: str) -> tuple[int, object] | None:
        """Why the request cannot be answered, if it cannot."""
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            return 401, {"message": "the key is missing or wrong"}
        if self._path()[:2] != ["v1", "notes"] or self._path()[3:] != [*rest] or self._note() not in NOTES:
            return 404, {"message": "there is no such note"}
        return None

    def _path(self) -> list[str]:
        return [unquote(part) for part in self.path.split("/")[1:]]

    def _note(self) -> str:
        return self._path()[2] if len(self._path()) > 2 else ""

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Prints each request if this file is run by hand, and nothing in tests."""
        if __name__ == "__main__":
            sys.stdout.write(f"{format % args}\n")
            sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}")
    with NotesServer(parser.parse_args().port) as server:
        sys.stdout.write(f"serving notes on http://127.0.0.1:{server.server_port}; the key is {KEY}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
