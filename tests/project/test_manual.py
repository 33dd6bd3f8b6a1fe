"""The manual page and the examples of `--help` agree with the parsers."""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli import exit_codes
from aileron_tui.cli.commands import COMMANDS
from aileron_tui.cli.commands.completion.command_table import command_parser, read_table
from aileron_tui.cli.examples import EXAMPLES
from tools import manpage

ROOT = Path(__file__).parents[2]
LINES = [(command, line) for command, rows in EXAMPLES.items() for line, _ in rows]


def test_the_manual_page_is_fresh() -> None:
    assert manpage.PAGE.read_text("utf-8") == manpage.page(), "run `make manual`"


def test_the_manual_page_has_every_command_option_and_exit_code() -> None:
    text = manpage.page().replace("\\-", "-")
    for command in read_table()[1:]:
        assert f".SS {' '.join(command.words)}\n" in text
        for option in command.options:
            assert "--help" in option.names or f"\\fB{option.names[-1]}\\fR" in text
    codes = {str(code) for name, code in vars(exit_codes).items() if name.isupper()}
    assert {code for code, _ in manpage._EXIT_CODES} == codes


def test_troff_reads_the_manual_page_without_a_warning() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    words = [groff, "-man", "-Tutf8", "-ww", "-z", str(manpage.PAGE)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize(("command", "line"), LINES)
def test_an_example_is_valid_and_belongs_to_its_command(command: str, line: str) -> None:
    words = shlex.split(re.sub(r"^source <\((.*)\)$|^(.*) \| source$", r"\1\2", line))
    assert words.pop(0) == "aileron-tui"
    if command:
        assert words.pop(0) == command
    command_parser(command or "console").parse_args(words)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_ends_with_the_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    printed = capsys.readouterr().out.partition("\nexamples:\n")[2]
    assert "examples:" not in printed
    assert all(f"  {line}\n      {meaning}\n" in printed for line, meaning in EXAMPLES[command])


def test_every_extra_is_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].keys() - {"dev"}
    table = re.findall(r"^\| `([a-z]+)` \| .+ \|$", (ROOT / "docs" / "start.md").read_text(), re.MULTILINE)
    assert set(table) == extras, "add a row to docs/start.md"
