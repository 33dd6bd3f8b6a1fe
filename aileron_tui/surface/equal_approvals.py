"""How often equal calls were approved here, to offer a rule for the boring ones."""

from typing import TYPE_CHECKING, Final

from aileron_tui.core.jsontext import canonical
from aileron_tui.core.request import Request

if TYPE_CHECKING:
    from aileron_tui.core.prompt import Prompt

ENOUGH: Final = 3
"""After this many equal approvals a rule is offered."""

_REMEMBERED: Final = 1000


class EqualApprovals:
    """Counts approvals by source, agent, action and inputs."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._last: tuple[Prompt | None, bytes] = (None, b"")

    def record(self, request: Request) -> None:
        """A call was approved here."""
        call = self._call(request)
        self._counts[call] = self._counts.pop(call, 0) + 1
        if len(self._counts) > _REMEMBERED:
            del self._counts[next(iter(self._counts))]

    def forget(self, request: Request) -> None:
        """Counts from the start again, because a rule was made for this call."""
        self._counts.pop(self._call(request), None)

    def enough(self, request: Request) -> bool:
        """Whether calls equal to this one were approved so often that a rule is worth it."""
        return bool(self._counts) and self._counts.get(self._call(request), 0) >= ENOUGH

    def _call(self, request: Request) -> bytes:
        """Identifies the call; computed once while the same prompt is asked about."""
        from hashlib import sha256  # noqa: PLC0415  # only once a call was approved

        prompt = request.prompt
        if prompt is not self._last[0]:
            call = canonical([request.source, prompt.agent, prompt.action, prompt.args])
            self._last = (prompt, sha256(call).digest())
        return self._last[1]
