"""Which requests share a row of the list: identical ones that were asked one after another.

Requests are identical if they have the same source and the same prompt: the same agent, action, inputs, preview, risk
and steps. So whoever has read one has read them all. Requests at high risk, with a warning or with a long text never
share a row.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel

MOST_FOLDED: Final = 100
"""The most requests in one row, so that one key never starts more than this many answers."""

LONGEST_FOLDED: Final = 4096
"""The most characters of a prompt that shares a row. Longer texts take too long to check for warnings here."""

_KNOWN_SIGNATURES: Final = ("signed", "unsigned")

PromptKey: TypeAlias = tuple[str, str]
"""The source and the digest of a prompt."""

Pills: TypeAlias = Callable[[str], str]
"""The words that are shown about the state of a request."""


class RowFolding:
    """Knows the identical requests; the cost of a change does not depend on how many requests there are.

    `identical` has every request that another one is identical to. `opened` has the prompts whose requests have a row
    each.
    """

    def __init__(self) -> None:
        self.opened: set[PromptKey] = set()
        self.identical: set[str] = set()
        self._prompts: dict[str, PromptKey] = {}
        self._keys: dict[PromptKey, set[str]] = {}
        self._has_warning: dict[PromptKey, bool] = {}
        self._likeness: dict[str, object] = {}

    def note(self, key: str, request: Request | None) -> None:
        """A request arrived, changed, or was removed."""
        prompt = (request.source, request.digest) if request else None
        before = self._prompts.get(key)
        self._likeness.pop(key, None)
        if prompt == before:
            return
        if before is not None:
            self._remove(key, before)
        if prompt is not None:
            self._prompts[key] = prompt
            keys = self._keys.setdefault(prompt, set())
            keys.add(key)
            if len(keys) > 1:
                self.identical |= keys if len(keys) == 2 else {key}

    def _remove(self, key: str, prompt: PromptKey) -> None:
        del self._prompts[key]
        keys = self._keys[prompt]
        keys.discard(key)
        self.identical.discard(key)
        if len(keys) == 1:
            self.identical -= keys
        if not keys:
            del self._keys[prompt]
            self._has_warning.pop(prompt, None)
            self.opened.discard(prompt)

    def pill_changed(self, key: str) -> bool:
        """What is shown of a request changed; returns whether that may change its row."""
        self._likeness.pop(key, None)
        return key in self.identical

    def open(self, key: str, *, opened: bool) -> bool:
        """Gives identical requests a row each, or one row again; returns whether that changed anything."""
        prompt = self._prompts.get(key)
        if prompt is None or key not in self.identical or (prompt in self.opened) == opened:
            return False
        (self.opened.add if opened else self.opened.discard)(prompt)
        for one in self._keys[prompt]:
            self._likeness.pop(one, None)
        return True

    def fold(self, keys: list[str], requests: Mapping[str, Request], pill: Pills) -> dict[str, tuple[str, ...]]:
        """The rows with several requests: the keys of each, by the first of them."""
        rows: dict[str, tuple[str, ...]] = {}
        run: list[str] = []
        last = -2
        for place, key in [(place, key) for place, key in enumerate(keys) if key in self.identical]:
            if not (run and last == place - 1 and self.joins(run, key, requests, pill)):
                if len(run) > 1:
                    rows[run[0]] = tuple(run)
                run = []
            run.append(key)
            last = place
        return rows | {run[0]: tuple(run)} if len(run) > 1 else rows

    def joins(self, row: Sequence[str], key: str, requests: Mapping[str, Request], pill: Pills) -> bool:
        """Whether a request may share the row of these, which were asked just before it."""
        if key not in self.identical or len(row) >= MOST_FOLDED:
            return False
        likeness = self._like(requests[key], pill)
        return likeness is not None and likeness == self._like(requests[row[-1]], pill)

    def _like(self, request: Request, pill: Pills) -> object:
        """Equal for requests that may share a row; None for a request that needs a row of its own."""
        key = request.key
        if key not in self._likeness:
            prompt = (request.source, request.digest)
            alone = prompt in self.opened or request.prompt.risk.level is RiskLevel.HIGH or request.vanished
            alone = alone or (request.state.decidable and self._is_special(request, prompt))
            self._likeness[key] = None if alone else (prompt, request.state, pill(key))
        return self._likeness[key]

    def _is_special(self, request: Request, prompt: PromptKey) -> bool:
        """Whether there is more to say about a waiting request than its prompt says."""
        if request.fetching or request.deny_only or request.cautions or request.edited_from:
            return True
        if request.asked_again or request.reason:
            return True
        if prompt not in self._has_warning:
            from aileron_tui.core.prompt import count_warnings  # noqa: PLC0415  # not needed in the first frame

            alone = _is_long(request) or _is_uncertain(request)
            self._has_warning[prompt] = alone or bool(count_warnings(request.prompt))
        return self._has_warning[prompt]


def _is_uncertain(request: Request) -> bool:
    """Whether it is unclear who made a connector, which the prompt warns of."""
    connectors = (request.prompt.connector, *(step.connector for step in request.prompt.steps))
    return any(one.trust and not one.trust.startswith(_KNOWN_SIGNATURES) for one in connectors)


def _is_long(request: Request) -> bool:
    """Whether the agent sent, or the preview fetched, more text than can be checked for warnings at once."""
    rows = (*request.prompt.inputs, *(request.prompt.preview.rows if request.prompt.preview else ()))
    return sum(len(row.label) + len(row.value) for row in rows) > LONGEST_FOLDED
