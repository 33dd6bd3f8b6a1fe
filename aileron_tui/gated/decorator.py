"""The decorator `gated`: a function that runs only after somebody has approved exactly this call."""

import functools
import inspect
import math
import secrets
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.gated import previews
from aileron_tui.gated.call_arguments import BoundArguments, Parameters
from aileron_tui.gated.calls import BATCH, GatedCall, GatedFunction
from aileron_tui.gated.errors import NotAsked
from aileron_tui.gated.exchanges import listing
from aileron_tui.gated.gate_links import carry_async
from aileron_tui.gated.gate_session import CURRENT
from aileron_tui.gated.handles import AsyncPending, Pending
from aileron_tui.gated.previews import Told
from aileron_tui.gated.program import DEFAULT_AGENT, ProgramSettings, checked_name
from aileron_tui.gated.resumption import GatedFunctions, Resumed

P = ParamSpec("P")
R = TypeVar("R")
RiskWord: TypeAlias = Literal["normal", "high"]

_LONGEST_BATCH: Final = 100
_LONGEST_SECONDS: Final = 3600
_RISKS: Final = ("normal", "high")


class Waiting(Protocol):
    """Decorates a function that waits for the answer."""

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]:
        """The gated function."""


class Queueing(Protocol):
    """Decorates a function that returns a handle at once."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # an async function is a special case of a function
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, AsyncPending[R]]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, Pending[R]]: ...


class Gated:
    """`@gated`, with or without options, and what belongs to it."""

    def __init__(self) -> None:
        self._functions = GatedFunctions()

    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def __call__(
        self,
        *,
        preview: Callable[..., Told | Coroutine[Any, Any, Told]] | None = None,
        risk: RiskWord | None = None,
        timeout: float | None = None,
        wait: Literal[True] = True,
        name: str = "",
        batch: str = "",
        context: Collection[str] = (),
    ) -> Waiting: ...
    @overload
    def __call__(
        self,
        *,
        preview: Callable[..., Told | Coroutine[Any, Any, Told]] | None = None,
        risk: RiskWord | None = None,
        timeout: float | None = None,
        wait: Literal[False],
        name: str = "",
        batch: str = "",
        context: Collection[str] = (),
    ) -> Queueing: ...

    def __call__(  # noqa: PLR0913  # the options of a decorator, all by name
        self,
        function: Callable[..., Any] | None = None,
        *,
        preview: Callable[..., Any] | None = None,
        risk: RiskWord | None = None,
        timeout: float | None = None,
        wait: bool = True,
        name: str = "",
        batch: str = "",
        context: Collection[str] = (),
    ) -> Any:
        """Gates a function: each call is asked about, and run only after exactly this call was approved.

        `preview` is called with the same arguments and returns what else the operator should see, as texts by label or
        as one text. `risk` can raise the risk. `timeout` is how many seconds the operator has. With `wait=False`, a
        call returns a handle. `name` replaces the function's own name, `batch` marks calls that belong together, and
        `context` names parameters that are passed on as they are: not shown, not signed.
        """
        if risk not in (None, *_RISKS):
            raise ValueError(f"risk must be one of {', '.join(_RISKS)}")
        if batch:
            checked_name(batch, "batch", _LONGEST_BATCH)
        seconds = _seconds(timeout)

        def decorate(decorated: Any) -> Any:
            if isinstance(decorated, classmethod | staticmethod):
                return type(decorated)(decorate(decorated.__func__))
            parameters = Parameters(decorated, _names(context))
            _refuse_generators(parameters.function)
            spec = GatedFunction(
                name=checked_name(name or _own_name(parameters.function), "the name of a gated function"),
                parameters=parameters,
                preview=preview,
                risk=risk or "",
                seconds=seconds,
                batch=batch,
            )
            is_async = _is_async(parameters.function)
            if not is_async and preview is not None and _is_async(preview):
                raise TypeError(f"{spec.name} is not async, so its preview cannot be async either")
            self._functions.add(spec, is_async=is_async)
            return (_async_wrapper if is_async else _wrapper)(spec, decorated, wait=wait)

        return decorate if function is None else decorate(function)

    def configure(
        self,
        *,
        agent: str = DEFAULT_AGENT,
        program: str = "",
        data: Path | str | None = None,
        url: str = "",
        token_file: Path | str | None = None,
    ) -> None:
        """Says which agent this program is, what it is called in prompts, and where its gate is.

        `data` is the data folder of a gate, `url` its address; without them it is the gate of this home.
        """
        CURRENT.configure(
            ProgramSettings(
                agent=checked_name(agent, "agent"),
                data=Path(data) if data is not None else None,
                url=url,
                token_file=Path(token_file) if token_file is not None else None,
                program=checked_name(program, "program") if program else "",
            )
        )

    @contextmanager
    def batch(self, name: str = "") -> Iterator[str]:
        """Calls in this block belong together: they share an id, which is made if none is given."""
        token = BATCH.set(checked_name(name or f"batch-{secrets.token_hex(6)}", "batch", _LONGEST_BATCH))
        try:
            yield BATCH.get()
        finally:
            BATCH.reset(token)

    def resume(self) -> Resumed:
        """What runs of this program that have ended left behind. Nothing is run before `result` is called."""
        session = CURRENT.session()
        session.grants.prepare("the gate could not be asked about earlier calls")
        return self._functions.resume(session, session.links.carry(listing()))

    def flush(self, timeout: float = 5.0) -> None:
        """Waits until the gate knows what became of all calls. At the end of the program, that happens by itself."""
        CURRENT.session().reports.flush(timeout)


def _wrapper(function: GatedFunction, original: Callable[..., Any], *, wait: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    def gated_function(*args: Any, **keywords: Any) -> Any:
        bound = function.bound(args, keywords)
        call = _call(function, bound)
        try:
            told = previews.told(function.previewed(bound)) if function.preview else None
        except Exception as error:  # noqa: BLE001  # the operator can decide without it
            told = previews.unavailable(error)
        try:
            call.was_asked(call.session.links.carry(call.asking(told)))
        except Exception:
            raise
        except BaseException:
            call.abandon()
            raise
        handle: Pending[Any] = Pending(call)
        if not wait:
            return handle
        try:
            return handle.result()
        except Exception:
            raise
        except BaseException:
            call.abandon()
            raise

    return _finished(gated_function, original)


def _async_wrapper(function: GatedFunction, original: Callable[..., Any], *, wait: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    async def gated_function(*args: Any, **keywords: Any) -> Any:
        bound = function.bound(args, keywords)
        call = _call(function, bound)
        try:
            told = await _told_async(function, bound)
        except Exception as error:  # noqa: BLE001  # the operator can decide without it
            told = previews.unavailable(error)
        try:
            call.was_asked(await carry_async(call.session.settings, call.asking(told)))
        except Exception:
            raise
        except BaseException:
            call.abandon()
            raise
        handle: AsyncPending[Any] = AsyncPending(call)
        if not wait:
            return handle
        try:
            return await handle.result()
        except Exception:
            raise
        except BaseException:
            call.abandon()
            handle.stop_waiting()
            raise

    return _finished(gated_function, original)


async def _told_async(function: GatedFunction, bound: BoundArguments) -> JsonObject | None:
    if function.preview is None:
        return None
    value = function.previewed(bound)
    return previews.told(await value if inspect.isawaitable(value) else value)


def _call(function: GatedFunction, bound: BoundArguments) -> GatedCall:
    session = CURRENT.session()
    _check_shown_name(function.name, session.settings.program_name)
    session.grants.prepare(f"the gate could not be asked, so {function.name} was not run")
    return GatedCall(function, session, bound.shown, bound.context, BATCH.get() or function.batch)


def _check_shown_name(name: str, program: str) -> None:
    """Refuses a name that prompts would shorten, as they do with the tools of an MCP server."""
    if name.startswith((f"mcp__{program}__", f"mcp_{program}_")):
        raise NotAsked(f"{name} would be shown under another name, so it was not run", hint="Give it another name.")


def _finished(wrapper: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper with the name and the signature of the function, which is its `original`."""
    if isinstance(original, functools.partial):
        wrapper.__name__ = getattr(original.func, "__name__", "partial")
        wrapper.__qualname__ = getattr(original.func, "__qualname__", "partial")
        wrapper.__doc__ = original.func.__doc__
    wrapper.original = original  # type: ignore[attr-defined]  # beside `__wrapped__`, easier to find
    return wrapper


def _own_name(function: Callable[..., Any]) -> str:
    """The qualified name of a function; those of the main module are known by the program's name already."""
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "")
    if not name or "<lambda>" in name:
        raise TypeError("this function has no name of its own; give it one with @gated(name=…)")
    return name if module in ("__main__", "__mp_main__", None, "") else f"{module}.{name}"


def _refuse_generators(function: Callable[..., Any]) -> None:
    code = _code(function)
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise TypeError(
            f"{getattr(function, '__qualname__', type(function).__qualname__)} is a generator, whose steps run long "
            "after it was approved; gate a function that returns when it is done"
        )


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(_code(function))


def _code(function: Callable[..., Any]) -> Callable[..., Any]:
    """What runs when a function, a partial function or an object is called."""
    while isinstance(function, functools.partial):
        function = function.func
    is_object = not (inspect.isroutine(function) or inspect.isclass(function))
    called: Callable[..., Any] = type(function).__call__ if is_object else function
    return called


def _names(context: Collection[str]) -> tuple[str, ...]:
    return (context,) if isinstance(context, str) else tuple(context)


def _seconds(timeout: float | None) -> int:
    if timeout is None:
        return 0
    if not 1 <= timeout <= _LONGEST_SECONDS:
        raise ValueError(f"timeout must be from 1 to {_LONGEST_SECONDS:,} seconds")
    return math.ceil(timeout)


gated: Final = Gated()
