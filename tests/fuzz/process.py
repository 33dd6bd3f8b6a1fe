"""Fuzzes one target in this process, which atheris or an input may end.

atheris looks for input that reaches new lines of the package. Where it is not installed, hypothesis generates input.
"""

import argparse
import hashlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from hypothesis import HealthCheck, Phase, given, seed, settings

FOLDER: Final = Path(__file__).resolve().parents[2] / ".fuzz"
FOUND: Final = 1
_LONGEST: Final = 25
"""Seconds in which an input must be processed."""

_ROUND: Final = 200


def main(words: Sequence[str]) -> int:
    """Returns FOUND if an input breaks what must hold. The input is kept in the folder of findings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--input", type=Path)
    options = parser.parse_args(words)
    if options.input:
        return _repeat(options.name, options.input.read_bytes())
    try:
        import atheris  # noqa: F401, PLC0415  # it has an environment of its own
    except ImportError:
        return _with_hypothesis(options.name, options.seconds, options.seed)
    return _with_atheris(options.name, options.seconds, options.seed)


def _repeat(name: str, data: bytes) -> int:
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415  # atheris must see these imports

    TARGETS[name].check(data)
    sys.stdout.write("This input breaks nothing.\n")
    return 0


def _with_atheris(name: str, seconds: float, first: int) -> int:
    import atheris  # noqa: PLC0415

    with atheris.instrument_imports(include=["aileron_tui"]):
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415  # atheris must see these imports
    corpus, findings = FOLDER / "corpus" / name, FOLDER / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for data in TARGETS[name].seeds():
        (corpus / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)
    run = _kept(name, TARGETS[name].check)
    options = [f"-max_total_time={int(seconds)}", f"-seed={first}", f"-timeout={_LONGEST}", "-rss_limit_mb=2048"]
    options += [
        "-max_len=16384",
        "-len_control=0",
        f"-artifact_prefix={findings}/{name}-",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], run)
    atheris.Fuzz()
    return 0


def _with_hypothesis(name: str, seconds: float, first: int) -> int:
    from tests.fuzz.target import inputs  # noqa: PLC0415
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415

    run, seeds = TARGETS[name].check, TARGETS[name].seeds()
    tried = 0
    last = b""

    def check(data: bytes) -> None:
        nonlocal tried, last
        tried, last = tried + 1, data
        signal.alarm(_LONGEST)
        run(data)
        signal.alarm(0)

    def stop(*_: object) -> NoReturn:
        sys.stdout.write(f"It takes more than {_LONGEST} s.\n")
        os._exit(_report(name, last))

    signal.signal(signal.SIGALRM, stop)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        first += 1
        trial = settings(
            max_examples=_ROUND,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )
        try:
            seed(first)(trial(given(inputs(seeds))(check)))()
        except Exception:  # noqa: BLE001  # whatever it is, it is a finding
            return _report(name, last)
    sys.stdout.write(f"{tried} inputs\n")
    return 0


def _kept(name: str, check: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The check, which keeps an input that breaks something and ends the process."""

    def run(data: bytes) -> None:
        try:
            check(data)
        except Exception:  # noqa: BLE001  # whatever it is, it is a finding
            os._exit(_report(name, data))

    return run


def _report(name: str, data: bytes) -> int:
    path = FOLDER / "findings" / f"{name}-{hashlib.sha256(data).hexdigest()[:16]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    sys.stdout.write(traceback.format_exc())
    sys.stdout.write(
        f"\nFound with {name}: {data[:500]!r}\nRepeat it: python -m tests.fuzz --only {name} --input {path}\n"
    )
    sys.stdout.flush()
    return FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
