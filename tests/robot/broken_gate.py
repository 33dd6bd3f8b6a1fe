"""Starts a gate that is broken on purpose, to see that the robot finds it: `python -m tests.robot.broken_gate NAME …`.

Each break is a change to the running program, made here and nowhere in the product.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

from aileron_tui.cli import main
from aileron_tui.sandbox import execution


def _overlay_inputs() -> None:
    """Raw inputs of the call replace the inputs that a step defines, as an earlier version did."""
    own = execution.step_args
    execution.step_args = lambda step, args: {**own(step, args), **args}


BREAKS: Final[dict[str, Callable[[], Any]]] = {"overlay": _overlay_inputs}

if __name__ == "__main__":
    BREAKS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
