"""Fetch the result of a call as an agent does, by the id that the gate gave it.

For a tool call this is the answer. An approval is handed over once, to whoever fetches it first.

It exits with 0 if the call ran or is allowed, 1 if it failed, 3 if it was denied, 4 if nobody answered, 5 if there is
no such request, 6 if nobody knows whether it ran, and 75 if it has not ended.
"""

import argparse
import re
import sys
import time
from typing import Final

from aileron_tui.cli import agent_calls
from aileron_tui.cli.agent_calls import exit_code, is_unfinished, normalized, say_waiting, wait_for_result
from aileron_tui.cli.exit_codes import NOT_FOUND
from aileron_tui.cli.output import print_error, print_json, print_lines, write, write_error
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.errors import NotFound

_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("id", metavar="ID", help="the id of the request, such as act-…; only requests of this agent")
    agent_calls.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, whatever the outcome")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if done, 1 failed, 3 denied, 4 nobody answered, 5 not found, 6 outcome unknown, 75 still waiting."""
    if not _ID.fullmatch(options.id):
        write_error(f"no request with id {options.id}")
        return NOT_FOUND
    end = time.monotonic() + options.wait
    with agent_calls.open_client(options) as client:
        try:
            answer = {"approval_id": options.id, **client.result(options.id, wait=options.wait)}
            answer = normalized(wait_for_result(client, options.id, answer, end))
        except NotFound as error:
            print_error(error)
            return NOT_FOUND
    if options.json:
        print_json(answer)
    else:
        _print(answer, options)
    return exit_code(answer)


def _print(answer: JsonObject, options: argparse.Namespace) -> None:
    """Prints what the call returned, or says on standard error why there is nothing."""
    if is_unfinished(answer):
        state = "It was approved and is running." if answer["status"] == "running" else "Still waiting for approval."
        say_waiting(state, options.id, options)
        return
    match answer:
        case {"status": "completed", "result": result}:
            _print_value(result)
        case {"status": "allowed", "input": value}:
            _print_value(value)
        case {"status": "denied", "reason": reason}:
            write(sys.stderr, f"Denied: {inline(str(reason))}")
        case {"status": "denied"}:
            write(sys.stderr, "Denied.")
        case {"failure": {"error": {"message": message}}}:
            write_error(str(message))
        case _:
            print_json(answer)


def _print_value(value: Json) -> None:
    if isinstance(value, str):
        print_lines(*map(inline, value.removesuffix("\n").split("\n")))
    else:
        print_json(value)
