"""Every path that the developer documents name exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH = re.compile(r"`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/?)`")
ENDINGS = (".py", ".md", ".toml", ".lock", "/")
IN_THE_HOME = {"config.toml"}


def named_paths(text: str) -> list[str]:
    """What looks like a path, in the project or in the package."""
    return [path for path in PATH.findall(text) if ("/" in path or path.endswith(ENDINGS)) and path not in IN_THE_HOME]


def missing(text: str) -> list[str]:
    places = {path: (ROOT / path, ROOT / "aileron_tui" / path) for path in named_paths(text)}
    return [path for path, tried in places.items() if not any(place.exists() for place in tried)]


@pytest.mark.parametrize(
    ("document", "least"), [("CONTRIBUTING.md", 40), ("docs/architecture.md", 70), ("docs/glossary.md", 1)]
)
def test_every_path_exists(document: str, least: int) -> None:
    text = (ROOT / document).read_text()
    assert len(named_paths(text)) >= least
    assert missing(text) == []


def test_a_path_that_does_not_exist_is_found() -> None:
    assert missing("`core/prompt.py`, `core/no_such_module.py`, `tests/nowhere`") == [
        "core/no_such_module.py",
        "tests/nowhere",
    ]
