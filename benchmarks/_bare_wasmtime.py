"""The least code that runs the mail connector, without limits or checks: the base of comparisons."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import httpx
import wasmtime

from aileron_tui.core.jsontext import JsonObject

TOKEN: Final = "token-0123456789"
MAIL: Final = "local://aileron/mail"
_DRAFT: Final = {
    "id": "r-1",
    "message": {
        "snippet": "Here is the recap",
        "text": "Here is the recap from this week. " * 20,
        "payload": {"headers": [{"name": "To", "value": "team@example.com"}, {"name": "Subject", "value": "Recap"}]},
    },
}
_BODY: Final = json.dumps(_DRAFT).encode()
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(_BODY),
    _BODY,
)
"""The response of the service to every request."""


def bare_call(bundle: Path, client: httpx.Client, op: str, inputs: JsonObject) -> Callable[[], bytes]:
    """Returns a function that runs one op of the mail connector and returns what the connector printed."""
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
        wanted = json.loads(memory(caller).read(caller, start, start + size))
        headers = {**(wanted.get("headers") or {}), "Authorization": f"Bearer {TOKEN}"}
        method, body = wanted.get("method") or "GET", wanted.get("body") or ""
        last["body"] = client.request(method, wanted["url"], headers=headers, content=body.encode()).content
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
    stdin.write_text(json.dumps({"args": inputs, "op": op}))

    def call() -> bytes:
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
        return bytes(printed)

    return call
