"""Splits an action manifest at its `+++` lines and parses TOML. Errors have a line and a column."""

import re
from typing import Any, Final

import tomli

from aileron_tui.core.findings import Finding, TomlSource
from aileron_tui.core.toml_positions import Position, last_key
from aileron_tui.core.values import dataclass

_HUGE_NUMBER: Final = re.compile(r"0[xob][0-9A-Fa-f_]{3000}")
LONGEST_LINE: Final = 1024 * 1024
_WIDEST_CHARACTER: Final = 4
_OPENER: Final = re.compile(r"\+\+\+[^\S\n]*(?:\n|\Z)")
_CLOSER: Final = re.compile(r"\n[^\S\n]*\+\+\+[^\S\n]*(?=\n|\Z)")
_DECLARED_TWICE: Final = ("Cannot declare", "Cannot overwrite", "Cannot redefine", "Cannot mutate", "Duplicate")
_FRAME_FIX: Final = 'Start the file with a line "+++", then TOML, then a second line "+++".'


class UnreadableManifest(Exception):
    """A file that cannot be parsed; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class ManifestParts:
    """The TOML and the text of an action manifest."""

    source: TomlSource
    body: str


def decode(data: bytes | str, file: str) -> str:
    """Returns the text of a manifest file without its byte order mark."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8").removeprefix("\ufeff")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise UnreadableManifest(Finding("not-utf8", message, "Save the file as UTF-8.", file, line, column)) from None
    return text.removeprefix("\ufeff")


def split(text: str, file: str) -> ManifestParts:
    """Splits front matter and body. The second `+++` line ends the front matter, even inside a TOML string."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    if len(text) > LONGEST_LINE // _WIDEST_CHARACTER:
        _refuse_long_line(text, file)
    start = len(text) - len(text.lstrip())
    if start == len(text):
        raise UnreadableManifest(Finding("no-front-matter", "the file is empty", _FRAME_FIX, file))
    line = text.count("\n", 0, start) + 1
    opener = _OPENER.match(text, start)
    if opener is None:
        found = text[start:].split("\n", 1)[0].rstrip()
        shown = found if len(found) <= 40 else f"{found[:40]}… ({len(found)} characters)"
        message = f'expected "+++" at the start, found "{shown}"'
        raise UnreadableManifest(Finding("text-before-front-matter", message, _FRAME_FIX, file, line, 1))
    closer = _CLOSER.search(text, opener.end() - 1)
    if closer is None:
        message = 'the closing "+++" is missing'
        raise UnreadableManifest(Finding("unclosed-front-matter", message, _FRAME_FIX, file, line + 1, 1))
    toml, body = text[opener.end() : closer.start()], text[closer.end() + 1 :].removesuffix("\n")
    return ManifestParts(TomlSource(file, toml, line + 1), body)


def _refuse_long_line(text: str, file: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        size = len(line.encode("utf-8", "surrogatepass"))
        if size > LONGEST_LINE:
            message = f"the line has {size:,} bytes, but at most {LONGEST_LINE:,} are allowed"
            raise UnreadableManifest(Finding("line-too-long", message, "Split the line.", file, number, 1))


def tables(source: TomlSource) -> dict[str, Any]:
    """Parses the TOML 1.1 document of a source."""
    fix = "Correct the TOML here."
    try:
        if _HUGE_NUMBER.search(source.toml):
            raise ValueError  # Python reads such a number, but cannot write it
        return tomli.loads(source.toml)
    except tomli.TOMLDecodeError as error:
        message, place = f"invalid TOML: {error.msg[:1].lower()}{error.msg[1:]}", Position(error.lineno, error.colno)
        if error.msg.startswith(_DECLARED_TWICE):
            message, place = "invalid TOML: this is declared twice", last_key(error.doc[: error.pos])
            fix = "Keep one of them."
        line = source.first_line + place.line - 1
        raise UnreadableManifest(Finding("toml", message, fix, source.file, line, place.column)) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number is out of range"
        raise UnreadableManifest(
            Finding("toml", f"invalid TOML: {reason}", fix, source.file, source.first_line, 1)
        ) from None
