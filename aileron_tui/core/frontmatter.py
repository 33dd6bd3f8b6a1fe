"""The `+++` framing of an action manifest, and TOML text to tables, with the line of what is wrong."""

from dataclasses import dataclass
from typing import Any, Final

import tomli

from aileron_tui.core.findings import Finding, Source

LONGEST_LINE: Final = 1024 * 1024
_DELIMITER: Final = "+++"
_MEND: Final = 'Start the file with a line "+++", then TOML, then a second line "+++".'


class Unreadable(Exception):
    """The file has no tables to look at; carries the one finding that says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Framed:
    """The two parts of an action manifest."""

    source: Source
    body: str


def decode(data: bytes | str, file: str) -> str:
    """The text of a manifest file; a byte order mark is dropped."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        column = error.start - error.object.rfind(b"\n", 0, error.start)
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise Unreadable(Finding("not-utf8", message, "Save the file as UTF-8.", file, line, column)) from None
    return text.removeprefix("\ufeff")


def split(text: str, file: str) -> Framed:
    """Front matter and body. The second delimiter ends the front matter even inside a TOML string."""
    lines = text.split("\n")
    if len(text) > LONGEST_LINE:
        _refuse_long_line(lines, file)
    opener = 0
    for line in lines:
        trimmed = line.strip()
        if trimmed:
            break
        opener += 1
    else:
        raise Unreadable(Finding("no-front-matter", "the file is empty", _MEND, file))
    if trimmed != _DELIMITER:
        shown = trimmed if len(trimmed) <= 40 else f"{trimmed[:40]}… ({len(trimmed)} characters)"
        message = f'expected "+++" at the start, found "{shown}"'
        raise Unreadable(Finding("text-before-front-matter", message, _MEND, file, opener + 1, 1))
    for closer in range(opener + 1, len(lines)):
        if _DELIMITER in lines[closer] and lines[closer].strip() == _DELIMITER:
            break
    else:
        message = 'the closing "+++" is missing'
        raise Unreadable(Finding("unclosed-front-matter", message, _MEND, file, opener + 2, 1))
    rest = lines[closer + 1 :]
    body = "\n".join(rest).replace("\r\n", "\n").removesuffix("\r") if rest else ""
    return Framed(Source(file, "\n".join(lines[opener + 1 : closer]), opener + 2), body.removesuffix("\n"))


def _refuse_long_line(lines: list[str], file: str) -> None:
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            message = f"the line has {len(line):,} characters; {LONGEST_LINE:,} are allowed"
            raise Unreadable(Finding("line-too-long", message, "Break the line.", file, number, 1))


def tables(source: Source) -> dict[str, Any]:
    """The TOML 1.1 document of a source."""
    mend = "Mend the TOML at this place."
    try:
        return tomli.loads(source.toml)
    except tomli.TOMLDecodeError as error:
        message = f"not TOML: {error.msg[:1].lower()}{error.msg[1:]}"
        line = source.first_line + error.lineno - 1
        raise Unreadable(Finding("toml", message, mend, source.file, line, error.colno)) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number is out of range"
        raise Unreadable(Finding("toml", f"not TOML: {reason}", mend, source.file, source.first_line)) from None
