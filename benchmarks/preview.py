"""Previews, compared with the bare engine, the bare HTTP call, and the compiler."""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

from aileron_tui.core.action import Action
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.files.manifest_files import load_bundle
from aileron_tui.sandbox.connector_package import read_packages
from aileron_tui.sandbox.credentials import ConfiguredCredential, Credentials, FromCommand
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.sandbox import Sandbox
from benchmarks._bare_wasmtime import ANSWER, MAIL, TOKEN, bare_call
from benchmarks._result import LONGEST_STALL, Result, against, duration

CROWD = 100
SERVICE_SECONDS = 0.2
ROUNDS = 80
STARTS = 5
CACHE_GAIN = 30.0
"""How many times faster a preview from the compile cache must be."""


def measure() -> Iterator[Result]:
    """Each measurement."""
    with tempfile.TemporaryDirectory() as folder, _service() as port:
        bundle = materialise(Path(folder) / "suite", port)
        cache = Path(folder) / "cache"
        yield _first(bundle, cache)
        yield _warm(bundle, cache, port)
        yield from _many_at_once(bundle, cache, port)


def _sandbox(bundle: Path, cache: Path) -> tuple[Sandbox, Action]:
    credentials = Credentials({MAIL: ConfiguredCredential(FromCommand(("echo", TOKEN)))})
    sandbox = Sandbox(read_packages(bundle), SandboxSettings(cache, credentials))
    return sandbox, load_bundle(bundle).actions["send-draft"]


def _previewed(sandbox: Sandbox, action: Action, draft: str) -> None:
    outcome = sandbox.preview(sandbox.resolve(action, {"draft_id": draft}))
    if outcome is None or outcome.result.unavailable:
        raise RuntimeError(f"no preview: {outcome}")


def _warm(bundle: Path, cache: Path, port: int) -> Result:
    sandbox, action = _sandbox(bundle, cache)
    with sandbox, httpx.Client() as client:
        call = bare_call(bundle, client, "get_draft", {"base_url": f"http://127.0.0.1:{port}", "id": "r-1"})
        ours, bare = _timed(lambda: _previewed(sandbox, action, "r-1"), lambda: _printed(call))
    return against("warm preview / same module in bare wasmtime + same call", ours, bare, 1.3)


def _printed(call: Callable[[], bytes]) -> None:
    json.loads(call())["output"]["message"]["snippet"]


def _timed(first: Callable[[], None], second: Callable[[], None]) -> tuple[float, float]:
    """Returns the median times of two functions that are called in turns, after a few warm-up calls."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for job, into in zip((first, second), times, strict=True):
            began = time.perf_counter()
            job()
            into.append(time.perf_counter() - began)
    return statistics.median(times[0][5:]), statistics.median(times[1][5:])


def _first(bundle: Path, cache: Path) -> Result:
    compiling = float(_new_process("first", str(bundle), str(cache)))
    cached = statistics.median(float(_new_process("first", str(bundle), str(cache))) for _ in range(STARTS))
    title, times = "compiling / first preview from the cache", compiling / cached
    return Result(title, times, CACHE_GAIN, duration(cached), duration(compiling), at_least=True)


def _many_at_once(bundle: Path, cache: Path, port: int) -> Iterator[Result]:
    sandbox, action = _sandbox(bundle, cache)
    url = f"http://127.0.0.1:{port}/gmail/v1/users/me/drafts/slow"
    limits = httpx.Limits(max_connections=CROWD, max_keepalive_connections=CROWD)
    with sandbox, httpx.Client(limits=limits, timeout=30) as client, ThreadPoolExecutor(CROWD) as pool:
        previews: list[tuple[float, float]] = []
        calls: list[tuple[float, float]] = []
        for _ in range(6):
            previews.append(asyncio.run(_together(pool, lambda: _previewed(sandbox, action, "slow"))))
            calls.append(asyncio.run(_together(pool, lambda: client.get(url))))
    ours, bare = (statistics.median(seconds for seconds, _ in runs[1:]) for runs in (previews, calls))
    yield against(f"{CROWD} previews at once / {CROWD} bare HTTP calls at once", ours, bare, 2.0)
    stalls, others = ([stall * 1000 for _, stall in runs[1:]] for runs in (previews, calls))
    note = f"worst of {len(stalls)} rounds, median {statistics.median(stalls):.0f} ms; beside bare HTTP calls"
    title, worst = f"longest stall of the event loop during {CROWD} previews", max(stalls)
    yield Result(title, worst, LONGEST_STALL, f"{worst:.0f} ms", f"{max(others):.0f} ms", note, "ms")


async def _together(pool: ThreadPoolExecutor, job: Callable[[], object]) -> tuple[float, float]:
    """Returns how long many jobs take together, and the longest delay of the loop meanwhile."""
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            worst = max(worst, time.perf_counter() - began - 0.005)

    loop = asyncio.get_running_loop()
    watching = asyncio.create_task(watch())
    began = time.perf_counter()
    await asyncio.gather(*(loop.run_in_executor(pool, job) for _ in range(CROWD)))
    seconds = time.perf_counter() - began
    watching.cancel()
    return seconds, worst


def _new_process(*words: str) -> str:
    command = [sys.executable, "-m", "benchmarks.preview", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _service() -> Iterator[int]:
    """The upstream service, in its own process so that it does not share our interpreter."""
    command = [sys.executable, "-m", "benchmarks.preview", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline()) if process.stdout else 0
        finally:
            process.terminate()


async def _serve() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if b"/slow" in head.partition(b"\r\n")[0]:
                    await asyncio.sleep(SERVICE_SECONDS)
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _main(words: list[str]) -> None:
    match words:
        case ["serve"]:
            asyncio.run(_serve())
        case ["first", bundle, cache]:
            sandbox, action = _sandbox(Path(bundle), Path(cache))
            with sandbox:
                began = time.perf_counter()
                _previewed(sandbox, action, "r-1")
                print(time.perf_counter() - began)


if __name__ == "__main__":
    _main(sys.argv[1:])
