"""Tries gated functions in agent frameworks: `python -m tests.frameworks`.

The frameworks are installed into `.frameworks` in the versions of `requirements.txt`; the gate runs here.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.gated.answered_gate import AnsweredGate, Operator, answered_gate, approve, deny, edit, nobody

ROOT: Final = Path(__file__).parents[2]
LOCK: Final = Path(__file__).with_name("requirements.txt")
FRAMEWORKS: Final = ("langgraph", "pydantic_ai", "openai_agents")

Expected = Callable[[str, list[list[str]]], bool]
CASES: Final[dict[str, tuple[Operator, Expected]]] = {
    "result": (approve, lambda told, moved: told == "moved a.txt to b.txt" and moved == [["a.txt", "b.txt"]]),
    "edited": (
        edit(target="c.txt"),
        lambda told, moved: told == "moved a.txt to c.txt" and moved == [["a.txt", "c.txt"]],
    ),
    "denied": (deny("keep it"), lambda told, moved: "denied move_file" in told and "keep it" in told and not moved),
    "nobody": (nobody, lambda told, moved: "nobody answered" in told and "not a denial" in told and not moved),
}


def installed() -> Path:
    """The Python with the frameworks. Installs them if the pinned versions have changed."""
    folder = ROOT / ".frameworks"
    python, mark = folder / "bin" / "python", folder / "installed"
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not mark.exists() or mark.read_text() != digest:
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True)
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", str(LOCK)], check=True
        )
        mark.write_text(digest)
    return python


def told(python: Path, gate: AnsweredGate, framework: str) -> Any:
    """What an agent read, and what was moved."""
    environment = {**gate.environment, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false"}
    command = [str(python), "-m", "tests.frameworks.program", framework]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"told": done.stderr[-2000:], "moved": []}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Runs all cases; returns 1 if one failed."""
    python, failed = installed(), 0
    with tempfile.TemporaryDirectory(prefix="frameworks-") as folder, answered_gate(Path(folder) / "home") as gate:
        for framework in FRAMEWORKS:
            for name, (operator, is_expected) in CASES.items():
                gate.forget()
                gate.operator = operator
                found = told(python, gate, framework)
                good = is_expected(found["told"], found["moved"]) and len(gate.seen) == 1
                failed += not good
                sys.stdout.write(f"{'ok    ' if good else 'FAILED'} {framework:<14} {name:<8} {found['told']}\n")
                sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.pop("AILERON_TUI_HOME", None)
    sys.exit(main())
