"""Previews against what they cannot be faster than: the bare engine, the bare HTTP call, and the compiler."""

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
import wasmtime

from aileron_tui.core.action import Action
from aileron_tui.demo.bundle import materialise
from aileron_tui.files.bundles import load_bundle
from aileron_tui.sandbox.connectors import Settings
from aileron_tui.sandbox.credentials import Binding, Credentials, FromCommand
from aileron_tui.sandbox.pinned import read_packages
from aileron_tui.sandbox.sandbox import Sandbox

MAIL = "local://aileron/mail"
CROWD = 100
SERVICE_SECONDS = 0.2
ROUNDS = 80
STARTS = 5
DRAFT = {
    "id": "r-1",
    "message": {
        "snippet": "Here is the recap",
        "text": "Here is the recap from this week. " * 20,
        "payload": {"headers": [{"name": "To", "value": "team@example.com"}, {"name": "Subject", "value": "Recap"}]},
    },
}


def measure() -> list[tuple[str, float, float, str]]:
    """Name, ratio, limit and note of each measurement."""
    with tempfile.TemporaryDirectory() as folder, _service() as port:
        bundle = materialise(Path(folder) / "suite", port)
        cache = Path(folder) / "cache"
        return [*_first(bundle, cache), *_warm(bundle, cache, port), *_crowd(bundle, cache, port)]


def _sandbox(bundle: Path, cache: Path) -> tuple[Sandbox, Action]:
    credentials = Credentials({MAIL: Binding(FromCommand(("echo", "token-0123456789")))})
    sandbox = Sandbox(read_packages(bundle), Settings(cache, credentials))
    return sandbox, load_bundle(bundle).actions["send-draft"]


def _previewed(sandbox: Sandbox, action: Action, draft: str) -> None:
    outcome = sandbox.preview(action, {"draft_id": draft})
    if outcome is None or outcome.result.unavailable:
        raise RuntimeError(f"no preview: {outcome}")


def _warm(bundle: Path, cache: Path, port: int) -> Iterator[tuple[str, float, float, str]]:
    sandbox, action = _sandbox(bundle, cache)
    with sandbox, httpx.Client() as client:
        bare = _bare(bundle, client, port)
        ours = _timed(lambda: _previewed(sandbox, action, "r-1"), bare)
    yield (
        "warm preview / same module in bare wasmtime + same call",
        ours[0] / ours[1],
        1.3,
        f"{ours[0] * 1000:.1f} ms and {ours[1] * 1000:.1f} ms",
    )


def _timed(first: Callable[[], None], second: Callable[[], None]) -> tuple[float, float]:
    """The medians of two things done in turns, after a few turns that do not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for job, into in zip((first, second), times, strict=True):
            began = time.perf_counter()
            job()
            into.append(time.perf_counter() - began)
    return statistics.median(times[0][5:]), statistics.median(times[1][5:])


def _bare(bundle: Path, client: httpx.Client, port: int) -> Callable[[], None]:
    """The few lines one would write to run this one module, with no bounds and no checks."""
    engine = wasmtime.Engine()
    module = wasmtime.Module(engine, (bundle / "connectors" / "mail" / "connector.wasm").read_bytes())
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    last: dict[str, bytes] = {}

    def memory(caller: wasmtime.Caller) -> wasmtime.Memory:
        found = caller["memory"]
        if not isinstance(found, wasmtime.Memory):
            raise TypeError
        return found

    def request(caller: wasmtime.Caller, start: int, size: int) -> int:
        wish = json.loads(memory(caller).read(caller, start, start + size))
        headers = {**(wish.get("headers") or {}), "Authorization": "Bearer token-0123456789"}
        last["body"] = client.request(wish.get("method") or "GET", wish["url"], headers=headers).content
        return 0

    def read(caller: wasmtime.Caller, start: int, size: int) -> int:
        return memory(caller).write(caller, last["body"][:size], start)

    number = wasmtime.ValType.i32()
    functions: dict[str, tuple[int, int, Callable[..., int | None]]] = {
        "log": (4, 0, lambda *_: None),
        "http_request": (2, 1, request),
        "http_response_size": (0, 1, lambda _: len(last["body"])),
        "http_response_status": (0, 1, lambda _: 200),
        "http_response_read": (2, 1, read),
    }
    for name, (parameters, results, function) in functions.items():
        kind = wasmtime.FuncType([number] * parameters, [number] * results)
        linker.define_func("aileron_host", name, kind, function, access_caller=True)
    ready = linker.instantiate_pre(module)
    stdin = bundle / "stdin.json"
    stdin.write_text(json.dumps({"args": {"base_url": f"http://127.0.0.1:{port}", "id": "r-1"}, "op": "get_draft"}))

    def call() -> None:
        printed = bytearray()
        store = wasmtime.Store(engine)
        wasi = wasmtime.WasiConfig()
        wasi.stdin_file = stdin
        wasi.stdout_custom = printed.extend
        store.set_wasi(wasi)
        start = ready.instantiate(store).exports(store)["_start"]
        try:
            if isinstance(start, wasmtime.Func):
                start(store)
        except wasmtime.ExitTrap as end:
            if end.code:
                raise
        store.close()
        json.loads(printed)["output"]["message"]["snippet"]

    return call


def _first(bundle: Path, cache: Path) -> Iterator[tuple[str, float, float, str]]:
    compiling = float(_new_process("first", str(bundle), str(cache)))
    cached = statistics.median(float(_new_process("first", str(bundle), str(cache))) for _ in range(STARTS))
    yield (
        "30 x first preview from the cache / compiling",
        30 * cached / compiling,
        1.0,
        f"{cached * 1000:.0f} ms and {compiling * 1000:.0f} ms: {compiling / cached:.0f} x faster",
    )


def _crowd(bundle: Path, cache: Path, port: int) -> Iterator[tuple[str, float, float, str]]:
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
    yield (
        f"{CROWD} previews at once / {CROWD} bare HTTP calls at once",
        ours / bare,
        2.0,
        f"{ours * 1000:.0f} ms and {bare * 1000:.0f} ms",
    )
    stalls, others = ([stall * 1000 for _, stall in runs[1:]] for runs in (previews, calls))
    yield (
        "longest stall of the event loop meanwhile, in ms",
        max(stalls),
        50.0,
        f"worst of {len(stalls)} rounds, median {statistics.median(stalls):.0f}; bare calls: worst {max(others):.0f}",
    )


async def _together(pool: ThreadPoolExecutor, job: Callable[[], object]) -> tuple[float, float]:
    """How long a crowd of jobs takes, and by how much the loop was late at worst while they ran."""
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
    """The upstream, in a process of its own so that it does not compete for this one's interpreter."""
    command = [sys.executable, "-m", "benchmarks.preview", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline()) if process.stdout else 0
        finally:
            process.terminate()


async def _serve() -> None:
    body = json.dumps(DRAFT).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if b"/slow" in head.partition(b"\r\n")[0]:
                    await asyncio.sleep(SERVICE_SECONDS)
                writer.write(answer)
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
