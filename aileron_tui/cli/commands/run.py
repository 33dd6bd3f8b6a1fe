"""Call an action as an agent does, and print the result as JSON.

It exits with 0 if it ran, 1 if it failed, 2 if the inputs are wrong, 3 if it was denied, 4 if nobody answered, 6 if
nobody knows whether it ran, and 75 if it has not ended.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Final

from aileron_tui.cli import action_inputs, agent_calls
from aileron_tui.cli.agent_calls import exit_code, is_unfinished, normalized, say_waiting, wait_for_result
from aileron_tui.cli.exit_codes import USAGE
from aileron_tui.cli.output import print_json, write_error
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.runtime.gate_client import LONGEST_WAIT, AgentClient

SESSION_VARIABLE: Final = "AILERON_SESSION_ID"

_LONGEST_NAME: Final = 200


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("action", metavar="ACTION", help="the action to call")
    action_inputs.arguments(parser)
    agent_calls.arguments(parser)
    parser.add_argument(
        "--agent", metavar="NAME", default="", help="what the agent calls itself; the prompt marks it as a claim"
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0 if done, 1 failed, 2 wrong usage, 3 denied, 4 nobody answered, 6 outcome unknown, 75 still waiting."""
    with agent_calls.open_client(options) as client:
        try:
            args = _inputs(client, options)
        except action_inputs.InvalidInputs as error:
            write_error(str(error))
            return USAGE
        answer = normalized(_call(client, options, args))
    print_json(answer)
    id_ = answer.get("approval_id")
    if is_unfinished(answer) and isinstance(id_, str):
        say_waiting("Still waiting.", id_, options)
    return exit_code(answer)


def _call(client: AgentClient, options: argparse.Namespace, args: JsonObject) -> JsonObject:
    """Calls the action and polls for the result until the time is over."""
    end = time.monotonic() + options.wait
    session = os.environ.get(SESSION_VARIABLE, "")[:_LONGEST_NAME]
    asker = Asker(says=options.agent[:_LONGEST_NAME], session=session, folder=_folder())
    answer = client.run(options.action, args, asker=asker, wait=min(options.wait, LONGEST_WAIT))
    id_ = answer.get("approval_id")
    return wait_for_result(client, id_, answer, end) if isinstance(id_, str) else answer


def _inputs(client: AgentClient, options: argparse.Namespace) -> JsonObject:
    types = _input_types(client.action(options.action)) if options.arg else {}
    return action_inputs.read_inputs(options.action, types, options)


def _input_types(action: JsonObject) -> dict[str, str]:
    declared = action.get("inputs")
    found: dict[str, str] = {}
    for field in declared if isinstance(declared, list) else ():
        match field:
            case {"name": str(name), "type": str(type_)}:
                found[name] = type_
    return found


def _folder() -> str:
    try:
        folder = str(Path.cwd())
    except OSError:
        return ""
    return folder if len(folder) <= _LONGEST_NAME else ""
