"""Runs one benchmark in a process of its own: `python -m benchmarks._child NAME DESCRIPTOR`.

Each result is written to the descriptor as a line of JSON.
"""

import json
import os
import sys
from importlib import import_module


def main(name: str, descriptor: str) -> int:
    """Returns 0, or 130 if it was interrupted."""
    try:
        for result in import_module(f"benchmarks.{name}").measure():
            os.write(int(descriptor), json.dumps(result.fields).encode() + b"\n")
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
