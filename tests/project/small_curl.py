"""Sends what the curl commands of the documents send, and prints the status to standard error."""

import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit


def main(words: list[str]) -> None:
    """Understands -sS, -X, -H and -d, and one URL."""
    method, headers, body, url = "", {}, None, ""
    remaining = iter(words)
    for word in remaining:
        match word:
            case "-sS":
                pass
            case "-X":
                method = next(remaining)
            case "-H":
                name, _, value = next(remaining).partition(": ")
                headers[name] = value
            case "-d":
                body = next(remaining)
            case _:
                if url or not word.startswith("http://"):
                    raise SystemExit(f"curl: cannot understand {word}")
                url = word
    address = urlsplit(url)
    connection = HTTPConnection(address.netloc, timeout=30)
    connection.request(method or ("POST" if body else "GET"), address.path, body, headers)
    reply = connection.getresponse()
    sys.stdout.write(reply.read().decode())
    sys.stderr.write(f"{reply.status}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
