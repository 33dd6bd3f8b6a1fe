"""Fuzzes each target in a process of its own and keeps what it finds in `.fuzz/findings`.

Run it as `make fuzz`, which installs atheris into `.fuzz` first, or as `python -m tests.fuzz --only json --seconds 60`.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.fuzz.process import FOLDER
from tests.fuzz.targets import TARGETS


def main(words: list[str]) -> int:
    """Returns 1 if an input breaks what must hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long to fuzz each target")
    parser.add_argument("--only", choices=sorted(TARGETS), action="append", help="fuzz this target; may be repeated")
    parser.add_argument("--seed", type=int, default=1, help="where the generator starts")
    parser.add_argument("--input", type=Path, help="try this one input, with --only")
    options = parser.parse_args(words)
    if options.input and len(options.only or ()) != 1:
        parser.error("--input needs one target: add --only NAME")
    failed = []
    for name in options.only or TARGETS:
        line = [sys.executable, "-m", "tests.fuzz.process", name]
        line += ["--seconds", str(options.seconds), "--seed", str(options.seed)]
        line += ["--input", str(options.input)] if options.input else []
        done = subprocess.run(line, env=_environment(), check=False, capture_output=True, text=True, errors="replace")
        tried = re.search(r"number_of_executed_units: (\d+)", done.stderr) or re.search(r"(\d+) inputs", done.stdout)
        if done.returncode:
            failed.append(name)
            sys.stdout.write(f"{name}: broken\n{done.stdout}{_end(done.stderr)}")
        else:
            sys.stdout.write(f"{name}: {int(tried[1]):,} inputs break nothing\n" if tried else f"{name}: {done.stdout}")
        sys.stdout.flush()
    if failed:
        sys.stdout.write(f"Broken: {', '.join(failed)}. The inputs are in {FOLDER / 'findings'}.\n")
    return 1 if failed else 0


def _end(text: str) -> str:
    """The end of what a process said, without what it says about each module."""
    lines = [line for line in text.splitlines() if not line.startswith("INFO: Instrumenting")]
    return "".join(f"{line}\n" for line in lines[-30:])


def _environment() -> dict[str, str]:
    """With atheris, if it is installed."""
    paths = (str(FOLDER.parent), str(FOLDER / "lib"), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
