"""What the documents say is true."""

import re
import subprocess
from pathlib import Path

import pytest

from aileron_tui import __version__
from aileron_tui.cli import COMMANDS

ROOT = Path(__file__).parents[2]


def test_the_readme_names_only_what_exists() -> None:
    readme = (ROOT / "README.md").read_text()
    for target in re.findall(r"make ([a-z-]+)", readme):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
    for command in re.findall(r"^\s*aileron-tui ([a-z]+)", readme, re.MULTILINE):
        assert command in COMMANDS
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (ROOT / link).exists(), link


def test_the_changelog_knows_this_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_command_is_a_module_with_help() -> None:
    for command, words in COMMANDS.items():
        assert (ROOT / "aileron_tui" / "cli" / "commands" / f"{command}.py").exists()
        assert words


@pytest.mark.parametrize("pattern", [r"https?://[^\s]*(?:simple|index)", r"--index-url", r"--find-links"])
def test_the_lock_names_no_registry_and_hashes_everything(pattern: str) -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert not re.search(pattern, lock)
    blocks = re.split(r"^(?=[A-Za-z0-9._-]+==)", lock, flags=re.MULTILINE)[1:]
    assert len(blocks) > 30
    assert all("--hash=sha256:" in block for block in blocks)


def test_no_file_names_a_home_folder() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    if not files:
        pytest.skip("not a git checkout")
    pattern = re.compile(rb"(?<![~\\w])/(?:root|work|Users)/[a-z]")
    guilty = [
        str(path) for path in files if path.is_file() and path.suffix != ".wasm" and pattern.search(path.read_bytes())
    ]
    assert guilty == []
