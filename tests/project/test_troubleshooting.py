"""docs/troubleshooting.md explains every check of `doctor`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
MODULES = sorted((ROOT / "aileron_tui" / "cli").glob("*_checks.py"))
ID = re.compile(r"(…|[a-z]+(\.NAME)*)(\.[a-z]+)?")
MAKERS = {"Check", "failed", "daemon", "gate", "_ledger"}
"""What is called with the id of a check."""


def pattern(text: ast.JoinedStr) -> str:
    """An id with `…` for the id it begins with, and `NAME` for other parts that differ."""
    found = ""
    for part in text.values:
        found += str(part.value) if isinstance(part, ast.Constant) else "NAME" if found else "…"
    return found


def ids(module: Path) -> Iterator[str]:
    """The ids of the checks of a module, as the page writes them."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.JoinedStr() if ID.fullmatch(pattern(node)) and "." in pattern(node):
                yield pattern(node)
            case ast.Call(func=ast.Name(id=maker), args=[ast.Constant(value=str(id_)), *_]) if maker in MAKERS:
                yield id_
            case ast.AnnAssign(target=ast.Name(id="_ID"), value=ast.Constant(value=str(id_))):
                yield id_


def explained() -> list[str]:
    return re.findall(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \|$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_every_check_of_doctor_is_explained(module: Path) -> None:
    found = set(ids(module))
    assert found
    assert found - set(explained()) == set(), "add a row to docs/troubleshooting.md"


def test_no_explained_check_is_gone_or_explained_twice() -> None:
    rows = explained()
    assert len(rows) == len(set(rows))
    assert set(rows) == {id_ for module in MODULES for id_ in ids(module)}
