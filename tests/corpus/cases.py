"""Reads the corpus: for each kind of manifest a valid base file, and text files with cases that change it.

A case file looks like this:

    == an unknown type
    - type = "string"
    + type = "text"  #! input-type

    == a whole file, not a changed base
    :: whole crlf
    +++
    …

- `- ` removes a line of the base, `+ ` adds one; a line with two spaces in front is context. The lines of a hunk occur
  together in the base, exactly once. `~ ` keeps a line of the base and adds the mark at its end.
- A mark says what must be reported on its line: `#! rule, rule` for errors, `#? rule` for warnings. Nothing else may be
  reported. Marks stay in the manifest, where they are TOML comments.
- `!! rule` is an error of the whole file, `!! rule @ 3` one on a line that cannot have a mark; `??` is a warning.
- `::` sets options: `whole` (the text is the file), `crlf`, `bom`, `escapes` (`\\xff` and the like are bytes).
- `-- path` starts another file of a case (bundles only); a path of the base is changed, another one is added.
- An empty line ends a hunk; empty lines at the end of a case are ignored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
_MARK: Final = re.compile(r"#([!?]) ([a-z0-9-]+(?:, [a-z0-9-]+)*)$")
_REMARK: Final = re.compile(r"(!!|\?\?) ([a-z0-9-]+)(?: @ ([0-9]+))?")
_SEVERITIES: Final = {"!": "error", "?": "warning"}

Expected = tuple[str, int, str, str]


@dataclass
class Case:
    """Files by name, and their expected findings: file, line, rule, severity, sorted."""

    id: str
    files: dict[str, bytes] = field(default_factory=dict)
    expected: list[Expected] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether it has no errors."""
        return all(severity == "warning" for *_, severity in self.expected)


def cases(kind: str) -> list[Case]:
    """Returns all cases of a folder of the corpus."""
    found = [case for file in sorted((HERE / kind).glob("*.txt")) for case in _read(file)]
    ids = [case.id for case in found]
    assert len(ids) == len(set(ids)), "two cases share a name"
    return found


def base(kind: str) -> dict[str, str]:
    """Returns the valid files that the cases of a kind change."""
    folder = HERE / kind / "base"
    if folder.is_dir():
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_text() for path in files}
    (file,) = (HERE / kind).glob("base.*")
    return {file.name: file.read_text()}


def _read(file: Path) -> Iterator[Case]:
    originals = base(file.parent.name)
    for part in re.split(r"^== ", file.read_text(), flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        case = Case(f"{file.stem}: {name.strip()}", {path: original.encode() for path, original in originals.items()})
        path = next(iter(originals)) if len(originals) == 1 else ""
        for piece in re.split(r"^(?=-- )", text, flags=re.MULTILINE):
            if piece.startswith("-- "):
                heading, _, piece = piece.partition("\n")  # noqa: PLW2901  # what is left is the piece
                path = heading.removeprefix("-- ").strip()
            if path:
                _change(case, path, originals.get(path), piece.rstrip("\n").split("\n"))
        case.files = dict(sorted(case.files.items()))
        for path, data in case.files.items():
            case.expected += _marks(path, data.decode("utf-8", "replace"))
        case.expected.sort()
        yield case


def _change(case: Case, path: str, original: str | None, lines: list[str]) -> None:
    options: set[str] = {"whole"} if original is None else set()
    while lines and lines[0].startswith(("!!", "??", "::")):
        line = lines.pop(0)
        if line.startswith("::"):
            options.update(line.split()[1:])
        else:
            remark = _REMARK.fullmatch(line)
            assert remark, f"{case.id}: {line}"
            case.expected.append((path, int(remark[3] or 0), remark[2], _SEVERITIES[remark[1][0]]))
    whole = "".join(f"{line}\n" for line in lines)
    text = whole if "whole" in options or original is None else _patched(case.id, original, lines)
    if "crlf" in options:
        text = text.replace("\n", "\r\n")
    if "bom" in options:
        text = f"\ufeff{text}"
    data = text.encode()
    if "escapes" in options:
        data = re.sub(rb"\\x([0-9a-f]{2})", lambda code: bytes.fromhex(code[1].decode()), data)
    case.files[path] = data


def _patched(name: str, original: str, lines: list[str]) -> str:
    text = original.split("\n")
    hunk: list[str] = []
    for line in [*lines, ""]:
        if line:
            hunk.append(line)
            continue
        if hunk:
            _apply(name, text, hunk)
        hunk = []
    return "\n".join(text)


def _apply(name: str, text: list[str], hunk: list[str]) -> None:
    old: list[str] = []
    new: list[str] = []
    for line in hunk:
        sign, content = f"{line:2}"[:2], line[2:]
        assert sign in ("- ", "+ ", "~ ", "  "), f"{name}: {line}"
        if sign == "~ ":
            old.append(_MARK.sub("", content).rstrip())
        elif sign != "+ ":
            old.append(content)
        if sign != "- ":
            new.append(content)
    places = [at for at in range(len(text)) if old and text[at : at + len(old)] == old]
    assert len(places) == 1, f"{name}: {len(places)} places for {old}"
    text[places[0] : places[0] + len(old)] = new


def _marks(path: str, text: str) -> Iterator[Expected]:
    for number, line in enumerate(text.split("\n"), start=1):
        if mark := _MARK.search(line.rstrip("\r")):
            for rule in mark[2].split(", "):
                yield path, number, rule, _SEVERITIES[mark[1]]
