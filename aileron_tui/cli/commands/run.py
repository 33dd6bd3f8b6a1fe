"""Call an action as an agent does, and print the result as JSON."""

import argparse
import os
import time
from pathlib import Path
from typing import Final

from aileron_tui.cli import action_inputs
from aileron_tui.cli.exit_codes import DENIED, FAILED, OK, OUTCOME_UNKNOWN, UNANSWERED, USAGE, WAITING
from aileron_tui.cli.output import print_json, write_error
from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.jsontext import JsonError, JsonObject, read
from aileron_tui.core.prompt import Asker
from aileron_tui.runtime.gate_client import LONGEST_WAIT, AgentClient
from aileron_tui.runtime.gate_discovery import FoundGate, agent_token, discover

SESSION_VARIABLE: Final = "AILERON_SESSION_ID"
TOKEN_VARIABLE: Final = "AILERON_TOKEN"  # noqa: S105  # the name of a variable
URL_VARIABLE: Final = "AILERON_API_URL"

_POLL_SECONDS: Final = 1.0
_LONGEST_NAME: Final = 200


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("action", metavar="ACTION", help="the action to call")
    action_inputs.arguments(parser)
    parser.add_argument(
        "--wait", metavar="SECONDS", type=_seconds, default=0, help="how long to wait for the result; default: 0"
    )
    parser.add_argument(
        "--agent", metavar="NAME", default="", help="what the agent calls itself; the prompt marks it as a claim"
    )
    parser.add_argument("--url", default="", help="the gate to call; default: the gate of this home")
    parser.add_argument(
        "--token-file", metavar="FILE", type=Path, help="the agent's token file; default: that of the agent `default`"
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0 if done, 1 failed, 2 wrong usage, 3 denied, 4 nobody answered, 6 outcome unknown, 75 still waiting."""
    found = discover(options.url)
    if options.token_file:
        found = FoundGate(found.url, found.instance, options.token_file)
    with AgentClient(found, _environment_token(found) or agent_token(found)) as client:
        try:
            args = _inputs(client, options)
        except action_inputs.InvalidInputs as error:
            write_error(str(error))
            return USAGE
        answer = _call(client, options, args)
    answer = _normalized(answer)
    print_json(answer)
    return _exit_code(answer)


def _environment_token(found: FoundGate) -> str:
    """The token in the environment, for a gate given by --url, unless the environment names another address for it."""
    if found.token_file is not None:
        return ""
    address = os.environ.get(URL_VARIABLE, "")
    try:
        same = not address or read_address(address).matches(read_address(found.url))
    except BadAddress:
        same = False
    return os.environ.get(TOKEN_VARIABLE, "") if same else ""


def _call(client: AgentClient, options: argparse.Namespace, args: JsonObject) -> JsonObject:
    """Calls the action and polls for the result until the time is over."""
    end = time.monotonic() + options.wait
    session = os.environ.get(SESSION_VARIABLE, "")[:_LONGEST_NAME]
    asker = Asker(says=options.agent[:_LONGEST_NAME], session=session, folder=_folder())
    answer = client.run(options.action, args, asker=asker, wait=min(options.wait, LONGEST_WAIT))
    id_ = answer.get("approval_id")
    while isinstance(id_, str) and _unfinished(answer) and time.monotonic() < end:
        time.sleep(min(_POLL_SECONDS, max(0.0, end - time.monotonic())))
        answer = {"approval_id": id_, **client.result(id_)}
    return answer


def _unfinished(answer: JsonObject) -> bool:
    return answer.get("status") in ("pending_approval", "running")


def _normalized(answer: JsonObject) -> JsonObject:
    """The same keys for every outcome: `status`, and `result` or `failure` as JSON instead of text."""
    if "status" not in answer:
        failed = "error" in answer
        answer = {"status": "failed", "failure": answer} if failed else {"status": "completed", **answer}
    result = answer.get("result")
    if isinstance(result, str):
        try:
            return answer | {"result": read(result)}
        except JsonError:
            return answer
    return answer


def _exit_code(answer: JsonObject) -> int:
    match answer:
        case {"status": "completed"}:
            return OK
        case {"status": "pending_approval" | "running"}:
            return WAITING
        case {"status": "denied"}:
            return DENIED
        case {"failure": {"error": {"class": "approval_timeout"}}}:
            return UNANSWERED
        case {"failure": {"error": {"class": "outcome_unknown"}}}:
            return OUTCOME_UNKNOWN
        case _:
            return FAILED


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


def _seconds(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise argparse.ArgumentTypeError("must be a whole number of seconds")
    return int(text)
