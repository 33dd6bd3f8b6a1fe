"""Draws `screenshots/agents.svg`: the console and the real Claude Code side by side in one window of tmux.

`python -m tools.agent_picture` needs tmux, and npm for an agent that `make agents` has not installed yet. Ids and times
differ from picture to picture.
"""

import io
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from aileron_tui.doors.scripted_replies import ScriptedCall
from tests.agents.agent_lab import AgentLab, until
from tests.agents.claude_screen import claude_on_screen
from tests.agents.programs import program
from tests.agents.tmux_window import TmuxWindow

PICTURE: Final = Path(__file__).parents[1] / "screenshots" / "agents.svg"
_LEFT, _RIGHT, _HIGH = 84, 66, 40
_PROJECT: Final = Path(tempfile.gettempdir()) / "web-shop"
_FILE: Final = 'def total(prices):\n    """The sum of all prices."""\n    return sum(prices)\n'
_READ: Final = ScriptedCall(tool="Read", input={"file_path": str(_PROJECT / "cart.py")})
_EDIT: Final = ScriptedCall(
    tool="Edit",
    input={
        "file_path": str(_PROJECT / "cart.py"),
        "old_string": "    return sum(prices)",
        "new_string": "    return round(sum(prices), 2)",
    },
)


def main() -> int:
    """Draws the picture."""
    root = Path(tempfile.mkdtemp(prefix="agent-picture-"))
    lab = AgentLab("claude", program("claude"), root / "claude")
    _PROJECT.mkdir()
    try:
        (_PROJECT / "cart.py").write_text(_FILE)
        lab.set_up()
        lab.start_gate()
        with TmuxWindow((_LEFT + 1 + _RIGHT, _HIGH)) as window:
            own = [sys.executable, "-m", "aileron_tui"]
            window.start(own, lab.env | {"COLORTERM": "truecolor"}, root)
            window.until("waiting")
            with claude_on_screen(lab, _PROJECT, window, _READ, _EDIT, columns=_RIGHT):
                window.type("Round the total to cents.", pane=1)
                until(lambda: lab.request_in(_PROJECT), "the call at the gate")
                window.until("Edit")
                window.until("Waiting for approval", pane=1)
                time.sleep(3)  # until the console has shown the whole prompt
                lines = [*zip(*(_lines(window, pane) for pane in (0, 1)), strict=True)]
    finally:
        lab.close()
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(_PROJECT, ignore_errors=True)
    PICTURE.write_text(_svg(lines))
    return 0


def _lines(window: TmuxWindow, pane: int) -> list[Text]:
    """The lines of a pane, each as wide as the pane."""
    width = (_LEFT, _RIGHT)[pane]
    lines = [*AnsiDecoder().decode(window.styled_text(pane))][:_HIGH]  # a style goes on in the next line
    for line in lines:
        line.pad_right(max(0, width - cell_len(line.plain)))
    return lines


def _svg(lines: list[tuple[Text, Text]]) -> str:
    console = Console(record=True, width=_LEFT + 1 + _RIGHT, file=io.StringIO(), color_system="truecolor")
    for left, right in lines:
        console.print(Text.assemble(left, ("│", "grey35"), right), soft_wrap=True)
    return console.export_svg(title="aileron-tui and Claude Code", unique_id="agents")


if __name__ == "__main__":
    sys.exit(main())
