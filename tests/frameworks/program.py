"""Runs one agent once: `python -m tests.frameworks.program langgraph` prints what the agent read and what was moved."""

import json
import sys
from importlib import import_module

from tests.frameworks.tools import MOVED

if __name__ == "__main__":
    told = import_module(f"tests.frameworks.{sys.argv[1]}_agent").answer()
    sys.stdout.write(json.dumps({"told": told, "moved": MOVED}) + "\n")
