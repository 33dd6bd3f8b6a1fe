"""How a program with strict types uses `gated`. Nothing here is run; `make types` checks it."""

from typing import assert_type

from aileron_tui.gated import AsyncPending, Pending, gated


@gated
def plain(text: str, *, count: int = 1) -> list[str]:
    return [text] * count


@gated(risk="high", timeout=60, preview=lambda text: {"Text": text})
async def waiting(text: str) -> bytes:
    return text.encode()


@gated(wait=False)
def queued(number: int) -> float:
    return number / 2


@gated(wait=False, batch="b")
async def queued_async(number: int) -> float:
    return number / 2


class Box:
    @gated
    def put(self, item: str) -> int:
        return len(item)

    @classmethod
    @gated(name="made")
    def made(cls, item: str) -> int:
        return len(item)


async def use() -> None:
    assert_type(plain("a", count=2), list[str])
    assert_type(await waiting("a"), bytes)
    assert_type(queued(1), Pending[float])
    assert_type(queued(1).result(), float)
    assert_type(await queued_async(1), AsyncPending[float])
    assert_type(await (await queued_async(1)).result(), float)
    assert_type(Box().put("a"), int)
    assert_type(Box.made("a"), int)
    for call in gated.resume().calls:
        assert_type(call.id, str)
    plain(1)  # type: ignore[arg-type]
    plain("a", cuont=1)  # type: ignore[call-arg]
    Box().put(1)  # type: ignore[arg-type]
    gated(risk="low")  # type: ignore[call-overload]
