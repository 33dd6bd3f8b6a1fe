"""The completion scripts: complete, harmless, and working in the shells that are installed here."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aileron_tui import cli
from aileron_tui.cli.commands import COMMANDS
from aileron_tui.cli.commands.completion.command_table import read_table
from aileron_tui.cli.commands.completion.shell_scripts import SHELLS, script

TABLE = read_table()


def run_shell(shell: str, *words: str, stdin: str = "") -> str:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([program, *words], input=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def bash_completes(tmp_path: Path, *words: str) -> list[str]:
    """What bash offers after these words; the last one is being typed."""
    file = tmp_path / "completion.bash"
    file.write_text(script("bash", TABLE))
    line = " ".join(f"'{word}'" for word in ("aileron-tui", *words))
    call = f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _aileron_tui; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return run_shell("bash", "--norc", "-c", f"source {file}; {call}").split()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    assert capsys.readouterr().out == script(shell, TABLE)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_every_option_is_in_the_script(shell: str) -> None:
    text = script(shell, TABLE)
    assert {command.words[0] for command in TABLE if command.words} == set(COMMANDS)
    for command in TABLE:
        for name in (name for option in command.options for name in option.names if name.startswith("--")):
            assert re.search(rf"{'-l ' if shell == 'fish' else '--'}{name[2:]}\b", text), name
        for name, _ in command.subcommands:
            assert re.search(rf"\b{name}\b", text), name


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_the_script(shell: str, tmp_path: Path) -> None:
    file = tmp_path / f"completion.{shell}"
    file.write_text(script(shell, TABLE))
    run_shell(shell, "-n", str(file))


def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    assert bash_completes(tmp_path, "hist") == ["history"]
    assert set(bash_completes(tmp_path, "")) >= set(COMMANDS) | {"--url", "--theme"}
    assert bash_completes(tmp_path, "history", "ver") == ["verify"]
    assert bash_completes(tmp_path, "history", "verify", "--aga") == ["--against"]
    assert bash_completes(tmp_path, "history", "export", "--format", "") == ["jsonl", "csv", "ocsf"]
    assert bash_completes(tmp_path, "setup", "mcp", "--client", "cl") == ["claude", "claude-desktop"]
    assert bash_completes(tmp_path, "completion", "")[:3] == ["bash", "zsh", "fish"]
    assert bash_completes(tmp_path, "run", "--token-file", "") == [], "files are completed by bash itself"


def test_what_is_typed_is_never_run(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    assert bash_completes(tmp_path, f"$(touch {touched})", "`id`", "hi") == ["history"]
    assert not touched.exists()


def test_fish_completes_commands_and_choices(tmp_path: Path) -> None:
    file = tmp_path / "completion.fish"
    file.write_text(script("fish", TABLE))

    def completes(line: str) -> list[str]:
        offered = run_shell("fish", "--no-config", "-c", f"source {file}; complete -C '{line}'")
        return [row.split("\t")[0] for row in offered.splitlines()]

    assert completes("aileron-tui hist") == ["history"]
    assert completes("aileron-tui history ver") == ["verify"]
    assert completes("aileron-tui history export --format ") == ["csv", "jsonl", "ocsf"]


def test_zsh_defines_the_completion(tmp_path: Path) -> None:
    file = tmp_path / "completion.zsh"
    file.write_text(script("zsh", TABLE))
    said = run_shell(
        "zsh", "-f", "-c", f"autoload -U compinit; compinit -D -u; source {file}; print $_comps[aileron-tui]"
    )
    assert said == "_aileron_tui\n"
