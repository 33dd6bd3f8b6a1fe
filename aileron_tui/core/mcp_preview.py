"""What the operator is shown of the result of an MCP tool.

The result is what the server sent: `content`, an array of blocks, and maybe `structuredContent`. If the text of a block
is a JSON object or array, the block gets one more member, `json`, with its value. So `content.0.text` is the text, and
`content.0.json.size` is a field of the JSON in it. What a server sends twice, as text and as structured content, counts
once.

Nothing here raises, whatever the server sent.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from aileron_tui.core.fieldpath import Location, count_others, find
from aileron_tui.core.jsontext import Json, JsonError, JsonLimits, JsonObject, read
from aileron_tui.core.preview_directive import PreviewDirective
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row, preview_rows

LONGEST_VALUE: Final = 64 * 1024
LONGEST_PREVIEW: Final = 256 * 1024
LONGEST_REASON: Final = 200
MOST_ROWS: Final = 100
MOST_VALUES: Final = 50_000

_SAYS: Final = "Server says"
_MOST_HIDDEN: Final = 1_000_000
_JSON_LIMITS: Final = JsonLimits(size=1024 * 1024, depth=64, count=MOST_VALUES)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MEANINGLESS: Final = frozenset(("type", "annotations", "_meta"))
_ENVELOPE: Final = frozenset(("isError", "_meta", "resultType"))


def no_preview(tool: str) -> PreviewResult:
    """What is shown if the policy has no preview for a tool, although one was fetched."""
    return PreviewResult(unavailable=f"the policy has no preview for {tool}")


def tool_preview(preview: PreviewDirective, absent: Iterable[str], result: JsonObject) -> PreviewResult:
    """The rows of a preview, or why there are none.

    If the result is an error that begins with one of the texts in `absent`, there is nothing to show, and that is said.
    """
    try:
        return _tool_preview(preview, tuple(absent), result)
    except RecursionError:
        return PreviewResult(unavailable=f"the answer of {preview.op} is nested too deeply")


def _tool_preview(preview: PreviewDirective, absent: tuple[str, ...], result: object) -> PreviewResult:
    if not isinstance(result, dict):
        return PreviewResult(unavailable=f"{preview.op} did not answer with a result")
    if result.get("isError", False) is not False:
        return _failed(preview, absent, _text_of(result))
    if result.get("resultType", "complete") != "complete" or not ("content" in result or "structuredContent" in result):
        return PreviewResult(unavailable=f"{preview.op} answered without content")
    if not _is_small(result):
        return PreviewResult(unavailable=f"{preview.op} answered with more than {MOST_VALUES:,} values")
    answer = _Answer(result)
    rows, _ = preview_rows(preview, answer.value)
    shown = [match.location for _, path in preview.render for match in find(answer.value, path)]
    return _bounded(preview.op, rows, answer.hidden(shown))


def _is_small(value: Json) -> bool:
    """Whether a value has so few others inside that looking at all of them takes no time."""
    count = 0
    stack = [value]
    while stack and count <= MOST_VALUES:
        node = stack.pop()
        if isinstance(node, dict | list):
            count += len(node)
            stack.extend(node.values() if isinstance(node, dict) else node)
    return count <= MOST_VALUES


def _failed(preview: PreviewDirective, absent: tuple[str, ...], text: str) -> PreviewResult:
    reason = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"
    if text and any(text.startswith(beginning) for beginning in absent):
        rows = (*(Row(label, missing=True) for label, _ in preview.render), Row(_SAYS, reason))
        return _bounded(preview.op, rows, 0)
    unavailable = f"{preview.op} failed: {reason}" if reason.strip() else f"{preview.op} failed and did not say why"
    return _checked(preview.op, PreviewResult(unavailable=unavailable))


def _text_of(result: JsonObject) -> str:
    """The text of an error: its first text block that is not blank."""
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _bounded(op: str, rows: tuple[Row, ...], hidden: int) -> PreviewResult:
    """The rows within the limits. A label says how much of a long value is shown."""
    kept: list[Row] = []
    left = LONGEST_PREVIEW
    for row in rows[:MOST_ROWS]:
        size = len(row.value)
        room = min(left, LONGEST_VALUE)
        label = row.label if size <= room else f"{row.label} (first {room:,} of {size:,} characters)"
        kept.append(Row(label, row.value[:room], row.missing, row.multiline))
        left -= min(size, room)
    hidden = min(hidden + len(rows[MOST_ROWS:]), _MOST_HIDDEN)
    return _checked(op, PreviewResult(tuple(kept), hidden=hidden))


def _checked(op: str, preview: PreviewResult) -> PreviewResult:
    """The preview, unless it has text that is not valid Unicode, which could be neither sent nor hashed."""
    texts = (preview.unavailable, *(row.value for row in preview.rows))
    if any(not text.isascii() and _SURROGATE.search(text) for text in texts):
        return PreviewResult(unavailable=f"the answer of {op} has text that is not valid Unicode")
    return preview


class _Answer:
    """A result with the JSON in its text blocks, and which of its values are the same."""

    def __init__(self, result: JsonObject) -> None:
        self._structured = result.get("structuredContent")
        self._mirrors: dict[int, Location] = {}
        self._parsed: set[int] = set()
        self._room = _JSON_LIMITS.size
        content = result.get("content")
        blocks = [self._block(index, block) for index, block in enumerate(content)] if isinstance(content, list) else []
        self.value: JsonObject = {**result, "content": blocks} if isinstance(content, list) else dict(result)

    def _block(self, index: int, block: Json) -> Json:
        text = block.get("text") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(text, str):
            return block
        found = _json(text) if len(text) <= self._room else ()
        self._room -= len(text) if found else 0
        mirrored = self._mirrored(text, *found)
        if mirrored is not None:
            self._mirrors[index] = mirrored
        if not found or "json" in block:
            return block
        self._parsed.add(index)
        return {**block, "json": found[0]}

    def _mirrored(self, *values: Json) -> Location | None:
        """Where the structured content has one of these values, None if it is not all that it has."""
        structured = self._structured
        if structured is None:
            return None
        if structured in values:
            return ("structuredContent",)
        if isinstance(structured, dict) and len(structured) == 1:
            key, inner = next(iter(structured.items()))
            return ("structuredContent", key) if inner in values else None
        return None

    def hidden(self, shown: Iterable[Location]) -> int:
        """How many values of the result are at none of these places. What only describes the result does not count."""
        places = [place for location in shown for place in self._places(location)]
        counted: JsonObject = {key: item for key, item in self.value.items() if key not in _ENVELOPE}
        content = counted.get("content")
        if isinstance(content, list):
            in_json = {place[1] for place in places if place[:1] == ("content",) and place[2:3] == ("json",)}
            in_json -= {place[1] for place in places if place[:1] == ("content",) and place[2:] == ("text",)}
            blocks = [self._counted(index, block, index in in_json) for index, block in enumerate(content)]
            counted["content"] = blocks
            places += [("content", index) for index, block in enumerate(blocks) if block == {}]
        return count_others(counted, places)

    def _places(self, location: Location) -> Iterator[Location]:
        """The place itself, and the places of the same values in the structured content."""
        yield location
        match location:
            case ("content",):
                yield from self._mirrors.values()
            case ("content", int(index)) | ("content", int(index), "text") if index in self._mirrors:
                yield self._mirrors[index]
            case ("content", int(index), "json", *rest) if index in self._mirrors:
                yield (*self._mirrors[index], *rest)

    def _counted(self, index: int, block: Json, in_json: bool) -> Json:
        """A block without what is counted elsewhere: the copy in the structured content, the text or the JSON in it."""
        if not isinstance(block, dict):
            return block
        left_out = set(_MEANINGLESS)
        if index in self._mirrors:
            left_out |= {"text", "json"} if index in self._parsed else {"text"}
        elif index in self._parsed:
            left_out.add("text" if in_json else "json")
        return {key: item for key, item in block.items() if key not in left_out}


def _json(text: str) -> tuple[Json, ...]:
    """The value of a text that is a JSON object or array, as a tuple of one; empty for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return ()
    try:
        return (read(text, _JSON_LIMITS),)
    except JsonError:
        return ()
