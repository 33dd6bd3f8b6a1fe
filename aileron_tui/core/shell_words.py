"""Words of a shell command, as far as they are known before it runs."""

import re
from typing import Final

from aileron_tui.core.values import dataclass

_SPECIAL: Final = re.compile(r"""(?<!\\)(?:\\\\)*[|&;()<>$`"'\s]""")
_BRACES: Final = re.compile(r"(?<!\\)(?:\\\\)*\{(?!\})")
_PATTERN: Final = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES: Final = re.compile(r'\\([\\"$`])|\\\n')


class UnknownSyntax(Exception):
    """Shell syntax that is not taken apart; the message says why, if there is more to say."""


@dataclass(frozen=True, slots=True)
class ShellWord:
    """A word. If it is not known, `text` is only what it begins with, and it may become several words.

    `is_one` means that it stays one word whatever it is. `has_pattern` means that the shell may replace it with names
    of files.
    """

    text: str
    is_known: bool = True
    is_one: bool = False
    has_pattern: bool = False

    @property
    def may_be_option(self) -> bool:
        """Whether a program may read the word, or one that it becomes, as an option."""
        return self.text.startswith("-") if self.is_known else not (self.is_one and self.text[:1] not in ("", "-"))


def plain_text(text: str) -> ShellWord:
    """The word that is written without quotes."""
    if _SPECIAL.search(text) or text.startswith("#"):
        raise UnknownSyntax
    if _BRACES.search(text):  # `{}` stays as it is
        return ShellWord("", is_known=False)
    return ShellWord(_ESCAPED.sub(r"\1", text), has_pattern=bool(_PATTERN.search(text)))


def quoted_text(text: str) -> str:
    """What is between double quotes that have no expansion in them."""
    return _ESCAPED_IN_QUOTES.sub(lambda found: found[1] or "", text)
