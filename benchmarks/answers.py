"""The time from an event to the screen, and from a key to the gate."""

import asyncio
import random
import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Final

import httpx

from aileron_tui.console.key_table import BY_ID
from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.request import Request
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.signing import key_store
from benchmarks._console_driver import ObservedConsole, StreamedGate, arrival, console, item, wait_until
from benchmarks._result import Result, against, duration
from benchmarks._running_gate import RunningGate, running_gate

FRAME: Final = 1 / 60
ARRIVALS: Final = 12  # all of them fit on the screen
ANSWERS: Final = 40


def measure() -> Iterator[Result]:
    """Each measurement."""
    yield asyncio.run(_arrival())
    with running_gate() as gate:
        yield asyncio.run(_answers(gate))


def _has(words: str, data: str) -> bool:
    return words in data


async def _arrival() -> Result:
    """From reading the bytes of an event to the row on the terminal."""
    late: list[float] = []
    items = [item(1000 + number) for number in range(ARRIVALS)]
    for _ in range(6):
        gate = StreamedGate()
        async with console(gate, key_store.for_this_run()) as app:
            for one in items:
                await asyncio.sleep(random.uniform(0.03, 0.08))  # so that rounds do not synchronise with frames
                painted = await app.until_painted(partial(_has, one.prompt.action), partial(gate.send, arrival(one)))
                late.append(painted - gate.read_at)
    middle, worst = statistics.median(late), max(late)
    title = "arrival at the client to painted row"
    return Result(title, middle / FRAME, 1.0, duration(middle), duration(FRAME), f"worst {duration(worst)}", "frames")


async def _answers(gate: RunningGate) -> Result:
    """From the key until the console knows that the gate accepted the answer, against a bare signed POST.

    The note says when that is on the screen.
    """
    found, key = gate.found, gate.home.key
    ours: list[float] = []
    drawn: list[float] = []
    bare: list[float] = []
    with ApproverClient(found, key) as client, httpx.Client(base_url=found.url) as wire:
        client.waiting()
        headers = {"Authorization": f"Bearer {client._token}", "Content-Type": "application/json"}

        def post(item: Request) -> None:
            body = canonical(client.decision(item, Verdict.APPROVE))
            wire.post(f"/v1/action-approvals/{item.id}/decide", content=body, headers=headers).raise_for_status()

        async with console(lambda _: ApproverClient(found, key, surface="console"), key) as app:
            for number in range(ANSWERS):
                for here in (True, False):
                    item = await _asked(gate, app, f"d-{number}-{here}")
                    began = time.perf_counter()
                    if here:
                        known, shown = await _approved(app)
                        ours.append(known - began)
                        drawn.append(shown - began)
                    else:
                        await asyncio.to_thread(post, item)
                        bare.append(time.perf_counter() - began)
                    await wait_until(partial(_ended, app, item.id))
                    await asyncio.sleep(0.05)
    mine, base, seen = (statistics.median(times[5:]) for times in (ours, bare, drawn))
    note = f"on the screen after {seen * 1e3:.1f} ms, which is {seen / base:.1f} ×"
    return against("`a` to decision acknowledged / a bare signed POST", mine, base, 1.5, note)


def _ended(app: ObservedConsole, id_: str) -> bool:
    return not app.board.is_waiting(id_)


async def _asked(gate: RunningGate, app: ObservedConsole, subject: str) -> Request:
    """Makes a new request that one key answers, and waits until the console shows it and is armed."""
    args: JsonObject = {"to": "team@example.com", "subject": subject, "body": "Hello"}
    id_ = str((await asyncio.to_thread(gate.agent.run, "draft-mail", args))["approval_id"])
    await wait_until(lambda: id_ in app.board.requests and not app.board.requests[id_].fetching)
    app.call_later(_select, app, id_)
    await wait_until(lambda: not BY_ID["approve"].why_not(app._main.key_state))
    await asyncio.sleep(0.05)
    return app.board.requests[id_]


def _select(app: ObservedConsole, id_: str) -> None:
    app.board.selected = id_
    app.redraw()


class _Noted(dict[str, str]):
    """A dict that notes when its first item was set."""

    at = 0.0

    def __setitem__(self, key: str, value: str) -> None:
        self.at = self.at or time.perf_counter()
        super().__setitem__(key, value)


async def _approved(app: ObservedConsole) -> tuple[float, float]:
    """Returns when the board knows that the gate accepted the answer, and when that is on the screen."""
    app.board.answered_here = noted = _Noted()

    def shows_outcome(data: str) -> bool:
        return noted.at > 0 and any(pill in data for pill in ("running…", "done ✓", "failed ✗"))

    painted = await app.until_painted(shows_outcome, partial(app.press, "a"))
    return noted.at, painted
