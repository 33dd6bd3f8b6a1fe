"""Starts a gate that is broken on purpose, to see that the robot finds it: `python -m tests.robot.broken_gate NAME …`.

Each break is a change to the running program, made here and nowhere in the product.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from aileron_tui.cli import main
from aileron_tui.core.resolved_call import ResolvedCall
from aileron_tui.gate.decision_handler import DecisionHandler
from aileron_tui.sandbox import execution
from aileron_tui.sandbox.loaded_connectors import LoadedConnectors


def _overlay_inputs() -> None:
    """What the agent sent replaces what a step defines, when it runs and nowhere else."""
    run = execution.run

    def run_overlaid(connectors: LoadedConnectors, call: ResolvedCall) -> execution.Execution:
        steps = tuple(replace(step, inputs={**step.inputs, **call.args}) for step in call.steps)
        return run(connectors, replace(call, steps=steps))

    execution.run = run_overlaid


def _never_fetch_again() -> None:
    """A preview counts for ever, whatever has changed since."""
    DecisionHandler._is_stale = lambda *_: False  # type: ignore[method-assign]


BREAKS: Final[dict[str, Callable[[], Any]]] = {"overlay": _overlay_inputs, "never fetch again": _never_fetch_again}

if __name__ == "__main__":
    BREAKS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
