"""Looks at the files that tool calls name. Each agent has a process for it, which is killed when it takes too long.

A path may lead to a file system that never answers. Only a process can be ended then, a thread cannot.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from aileron_tui.core.tool_call import FileFacts, FileKind, NamedPath
from aileron_tui.files import file_reading_process

_SECONDS: Final = 2.0
"""How long all the paths of one call may take."""

_MOST_PROCESSES: Final = 8
_LONGEST_LINE: Final = 8 * file_reading_process.LARGEST_FILE  # each byte may become six, as in \u0000
_UNREADABLE: Final = FileFacts(FileKind.UNKNOWN, problem="the gate could not look at it")
_TOO_SLOW: Final = FileFacts(FileKind.UNKNOWN, problem="its file system did not answer in time")


class FileReader:
    """Reads files for agents, one call of an agent at a time. `refused` are folders that are never read."""

    def __init__(self, refused: Sequence[str], seconds: float = _SECONDS) -> None:
        self._refused = tuple(refused)
        self._seconds = seconds
        self._processes: dict[str, _ReadingProcess] = {}

    async def look(self, agent: str, paths: Iterable[NamedPath]) -> Mapping[str, FileFacts]:
        """What is at each path now. Never fails: what cannot be found out is unknown, with the reason."""
        named = {path.path: path for path in paths}
        return await self._process(agent).look(named, self._seconds) if named else {}

    async def modified(self, agent: str, path: str) -> float:
        """When a file was last changed, in seconds since 1970; 0 if that is not known."""
        return await self._process(agent).modified(path, self._seconds)

    def _process(self, agent: str) -> "_ReadingProcess":
        process = self._processes.pop(agent, None) or _ReadingProcess(self._refused)
        self._processes[agent] = process  # the last one used is the last one to be closed
        while len(self._processes) > _MOST_PROCESSES:
            self._processes.pop(next(iter(self._processes))).kill()
        return process

    async def close(self) -> None:
        """Ends all processes."""
        processes = list(self._processes.values())
        self._processes.clear()
        for process in processes:
            process.kill()
        for process in processes:
            await process.wait_until_ended()


class _ReadingProcess:
    def __init__(self, refused: Sequence[str]) -> None:
        self._refused = refused
        self._process: asyncio.subprocess.Process | None = None
        self._ending: set[asyncio.Task[int]] = set()
        self._turn = asyncio.Lock()

    async def look(self, named: Mapping[str, NamedPath], seconds: float) -> Mapping[str, FileFacts]:
        facts = dict.fromkeys(named, _UNREADABLE)
        async with self._turn:
            with self._ended_if_broken() as broken:
                async with asyncio.timeout(seconds):
                    for path, asked in named.items():
                        found = await self._ask(path, needs_text=asked.needs_text)
                        facts[path] = FileFacts(
                            FileKind(found["kind"]), found["resolved"], found["text"], found["problem"]
                        )
        return {path: _TOO_SLOW if broken and found is _UNREADABLE else found for path, found in facts.items()}

    async def modified(self, path: str, seconds: float) -> float:
        at = 0.0
        async with self._turn:
            with self._ended_if_broken():
                async with asyncio.timeout(seconds):
                    at = float((await self._ask(path, needs_text=False)).get("modified", 0))
        return at

    @contextlib.contextmanager
    def _ended_if_broken(self) -> Iterator[list[str]]:
        """Ends the process if it is too slow, does not start, dies, or writes something else.

        The list that is yielded has something in it once the process was too slow.
        """
        too_slow: list[str] = []
        try:
            yield too_slow
        except TimeoutError:
            self.kill()
            too_slow.append("too slow")
        except (OSError, ValueError, KeyError, TypeError, EOFError, asyncio.LimitOverrunError):
            self.kill()
        except BaseException:
            self.kill()  # its answer would be taken for that of the next path
            raise

    async def _ask(self, path: str, *, needs_text: bool) -> dict[str, Any]:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await self._start()
        assert process.stdin is not None  # noqa: S101  # both are pipes
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(json.dumps({"path": path, "needs_text": needs_text}).encode() + b"\n")
        await process.stdin.drain()
        found: dict[str, Any] = json.loads(await process.stdout.readuntil(b"\n"))
        return found

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            file_reading_process.__file__,
            *self._refused,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            cwd="/",  # a link to /proc/self/cwd leads to another place for the agent's program
            limit=_LONGEST_LINE,
            start_new_session=True,
        )

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            task = asyncio.get_running_loop().create_task(process.wait())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def wait_until_ended(self) -> None:
        """Waits for processes that were killed, but not for one that cannot be."""
        if self._ending:
            await asyncio.wait(self._ending, timeout=_SECONDS)
