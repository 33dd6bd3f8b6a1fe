"""Every example of docs/python.md and of the README runs, with an operator who approves."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from aileron_tui.gated import errors, gated
from tests.gated.answered_gate import AnsweredGate, deny

DOCUMENT = Path(__file__).parents[2] / "docs" / "python.md"
README = Path(__file__).parents[2] / "README.md"


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)


EXAMPLES = python_blocks(DOCUMENT)


def run_all(gate: AnsweredGate) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in EXAMPLES:
        exec(compile(example, str(DOCUMENT), "exec"), names)
        gated.configure(program="examples", data=gate.data)


def test_the_examples_run(gate: AnsweredGate, capsys: pytest.CaptureFixture[str]) -> None:
    run_all(gate)
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["deleted old-idea", "dropped old-idea"]
    assert said[3:] == ["['archived a', 'archived b']", "published index", "moved a.txt to b.txt"]
    assert [request.prompt.action for request in gate.seen][:2] == ["delete_branch", "drop_branch"]


def test_the_example_of_the_readme_runs(gate: AnsweredGate, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = python_blocks(README)
    exec(compile(example, str(README), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "deleted old-idea\n"
    assert [request.prompt.action for request in gate.seen] == ["delete_branch"]


def test_a_denied_example_says_so(gate: AnsweredGate, capsys: pytest.CaptureFixture[str]) -> None:
    gate.operator = deny("not today")
    names: dict[str, Any] = {"__name__": "__main__", "gated": gated}
    exec(compile(EXAMPLES[2], str(DOCUMENT), "exec"), names)
    assert capsys.readouterr().out == "denied: not today\n"


def test_every_error_and_option_is_documented() -> None:
    text = DOCUMENT.read_text("utf-8")
    options = set(inspect.signature(type(gated).__call__).parameters) - {"self", "function"}
    kinds = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)}
    assert {name for name in options | (kinds - {"AileronError"}) if f"`{name}`" not in text} == set()
