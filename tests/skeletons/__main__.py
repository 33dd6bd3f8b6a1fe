"""Builds the skeletons with real compilers, and follows docs/connectors.md with them from the start to the release.

`make skeletons` runs this. Compilers come from PyPI, into `.skeletons`. The module in `tests/fixtures/notes` is updated
if the skeleton in C has changed.
"""

import os
import socket
import sys
import tempfile
from pathlib import Path

from tests.skeletons import guide
from tests.skeletons.stored_module import MODULE, ROOT, SUMS, sums


def main() -> int:
    """Returns 0 if every command of the guide worked."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        programs = Path(folder) / "bin"
        programs.mkdir()
        guide.our_commands(programs)
        compilers = ROOT / ".skeletons"
        os.environ["PATH"] = f"{compilers / 'bin'}:{os.environ['PATH']}"
        screen = guide.follow(Path(folder) / "work", programs, port, cache=compilers / "cache")
        sys.stdout.write(screen)
        built = b""
        for repository in ("notes", "notes-in-c"):
            built = (Path(folder) / "work" / repository / "connector" / "connector.wasm").read_bytes()
            sys.stdout.write(f"{repository}: {len(built):,} bytes\n")
        if SUMS.read_text() != sums():
            MODULE.write_bytes(built)
            SUMS.write_text(sums())
            sys.stdout.write(f"updated {MODULE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
