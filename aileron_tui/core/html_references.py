"""A note about text that a service sent HTML-escaped, such as `&#39;` for an apostrophe.

The text is shown as it was received. To decode it silently would be wrong whenever somebody really wrote `&#39;`.
"""

import re
from itertools import islice
from typing import Final

from aileron_tui.core.visible_text import inline

_REFERENCE: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LONGEST_EXPLAINED: Final = 2000
_MOST_EXPLAINED: Final = 3
_MOST_EXAMINED: Final = 1000
_NOTE: Final = "looks HTML-escaped, shown as received"


def html_note(text: str) -> str:
    """The note about a value, or "" if nothing in it is escaped. In a short one it says what the references mean."""
    if "&" not in text:
        return ""
    meanings: dict[str, str] = {}
    for found in islice(_REFERENCE.finditer(text), _MOST_EXAMINED):
        if found[0] in meanings or not (meaning := _meaning(found[0])):
            continue
        if len(text) > _LONGEST_EXPLAINED:
            return _NOTE
        meanings[found[0]] = meaning
        if len(meanings) > _MOST_EXPLAINED:
            break
    if not meanings:
        return ""
    listed = [f"{reference} would be {meaning}" for reference, meaning in meanings.items()]
    more = ", and so on" if len(listed) > _MOST_EXPLAINED else ""
    return f"{_NOTE}: {', '.join(listed[:_MOST_EXPLAINED])}{more}"


def _meaning(reference: str) -> str:
    """What a reference stands for, or "" if it is not one."""
    from html import unescape  # noqa: PLC0415  # few values need its table

    meaning = unescape(reference)
    if meaning == reference:
        return ""
    return "a space" if meaning == " " else inline(meaning)
