"""`lint` compared with the TOML parser alone, and `--version` with an interpreter that does nothing."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import tomli

from aileron_tui.core.frontmatter import split
from aileron_tui.files.manifest_files import read_folder
from aileron_tui.files.paths import bundled
from benchmarks._result import Result, against

MANIFESTS = 1000
ROUNDS = 15
STARTS = 40


def measure() -> Iterator[Result]:
    """Each measurement."""
    script = Path(sys.executable).with_name("aileron-tui")
    yield _lint()
    yield _version("python -m aileron_tui", [sys.executable, "-m", "aileron_tui", "--version"])
    if script.exists():
        yield _version("aileron-tui", [str(script), "--version"])


def _lint() -> Result:
    """All checks of a thousand files on disk, compared with parsing the same front matter in memory."""
    with tempfile.TemporaryDirectory() as folder:
        texts = _manifests(Path(folder))

        def decode() -> None:
            for text in texts:
                tomli.loads(text)

        def lint() -> None:
            bundle = read_folder(Path(folder)).bundle()
            assert len(bundle.actions) == MANIFESTS
            assert not bundle.findings

        alone, whole = _best(decode, lint)  # processor time, because it does not depend on the load of the machine
    lines = sum(text.count("\n") + 1 for text in texts) / MANIFESTS
    return against("lint / tomli", whole, alone, 3.0, f"{MANIFESTS} manifests of {lines:.0f} lines")


def _manifests(folder: Path) -> list[str]:
    """Writes copies of the bundled actions under new names; returns their front matter."""
    samples = [file.read_text() for file in sorted((bundled("manifests") / "actions").glob("*.md"))]
    texts: list[str] = []
    for number in range(MANIFESTS):
        text = samples[number % len(samples)].replace('name = "', f'name = "n{number}-', 1)
        (folder / f"{number:04}.md").write_text(text)
        texts.append(split(text, "").source.toml)
    return texts


def _version(name: str, command: list[str]) -> Result:
    """The time of `--version`, compared with starting an interpreter."""
    idle: list[float] = []
    busy: list[float] = []
    for _ in range(STARTS):
        idle.append(_started([sys.executable, "-c", "pass"]))
        busy.append(_started(command))
    nothing, version = statistics.median(idle), statistics.median(busy)
    return against(f"{name} --version / python -c pass", version, nothing, 3.0)


def _started(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def _best(*functions: Callable[[], None]) -> list[float]:
    """Returns the shortest time of each function; they are called in turns."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for index, function in enumerate(functions):
            start = time.process_time()
            function()
            times[index].append(time.process_time() - start)
    return [min(column) for column in times]
