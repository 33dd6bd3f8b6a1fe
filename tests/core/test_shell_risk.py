"""The risk of shell commands, and what is warned about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.shell_parts import take_apart
from aileron_tui.core.shell_programs import PROGRAMS
from aileron_tui.core.shell_risk import command_risk, shell_warnings
from tests.core.shell_commands import HIGH, LOW, NORMAL
from tests.hostile import HOSTILE

FOLDER = "/srv/project"
LONGEST_REASON = 27


def level(command: str) -> RiskLevel:
    return command_risk(take_apart(command), FOLDER).level


def warnings(command: str) -> str:
    return "\n".join(shell_warnings(take_apart(command), FOLDER))


@pytest.mark.parametrize("command", LOW)
def test_reading_commands_are_of_low_risk(command: str) -> None:
    assert level(command) is RiskLevel.LOW


@pytest.mark.parametrize("command", NORMAL)
def test_ordinary_commands_are_of_normal_risk(command: str) -> None:
    assert level(command) is RiskLevel.NORMAL


@pytest.mark.parametrize("command", HIGH)
def test_dangerous_commands_are_of_high_risk(command: str) -> None:
    assert level(command) is RiskLevel.HIGH


@pytest.mark.parametrize("before", ["ls; ", "ls && ", "ls | ", "true || ", "ls &\n", "echo $(ls)\n"])
def test_a_part_is_as_dangerous_as_the_command_alone(before: str) -> None:
    assert [command for command in HIGH if level(before + command) is not RiskLevel.HIGH] == []


def test_reasons_fit_one_line_of_a_narrow_screen() -> None:
    reasons = {command: command_risk(take_apart(command), FOLDER).reason for command in (*LOW, *NORMAL, *HIGH)}
    assert {command for command, reason in reasons.items() if not 0 < len(reason) <= LONGEST_REASON} == set()


def test_every_reason_of_the_table_fits() -> None:
    assert all(len(program.reason) <= LONGEST_REASON for program in PROGRAMS.values())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sudo ls", "another user"),
        ("timeout 5 sudo ls", "another user"),
        ("ls | xargs sudo rm", "another user"),
        ("PATH=. ls", "it sets PATH"),
        ("env LD_PRELOAD=x ls", "it sets LD_PRELOAD"),
        ("export BASH_ENV=x", "it sets BASH_ENV"),
        ("cp x .git/hooks/post-commit", "git's own files"),
        ("cp x ~/.bash''rc", "start-up file"),
        ("echo x > .mcp.json", "settings of MCP servers"),
        ("echo x > /etc/hosts", "outside the folder"),
        ('echo x > "$F"', "unknown file"),
        ("echo a;;", "could not be taken apart"),
        ("cat <<E\n`id`\nE", "could not be taken apart"),
        ("ls\r\nid", "control characters"),
        ("ls\u00a0-la", "unusual blanks"),
        ("l\\\ns", "joins words"),
    ],
)
def test_what_is_easily_overlooked_is_warned_about(command: str, words: str) -> None:
    assert words in warnings(command)


@pytest.mark.parametrize("command", [*LOW, "make test", "git commit -m 'x'", "echo sudo", "cat .git/HEAD"])
def test_ordinary_commands_have_no_warning(command: str) -> None:
    assert warnings(command) == ""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_never_of_low_risk_unless_it_is_only_an_argument(text: str) -> None:
    if take_apart(text).problem:
        assert level(text) is RiskLevel.HIGH
    assert level(f"rm {text}") is RiskLevel.HIGH


@given(st.text(alphabet=st.sampled_from(list("rmls -;|&$(){}[]<>`'\"\\\n#!=*?~./ax0")), max_size=40))
def test_adding_a_command_never_lowers_the_risk(text: str) -> None:
    before = level(text)
    assert level(f"{text}\nrm x").rank >= before.rank or before is RiskLevel.HIGH


@given(st.text(max_size=60))
def test_any_text_has_a_risk(text: str) -> None:
    assert level(text) in RiskLevel
    assert isinstance(warnings(text), str)
