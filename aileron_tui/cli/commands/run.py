"""Call an action as an agent does; the result is JSON on standard output."""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Final

from aileron_tui.cli import FAILED, OK, USAGE, action_inputs
from aileron_tui.cli.exit_codes import DENIED, UNANSWERED, WAITING
from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.jsontext import JsonError, JsonObject, read
from aileron_tui.core.prompt import Asker
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.gate_client import LONGEST_WAIT, AgentClient
from aileron_tui.runtime.gate_discovery import FoundGate, agent_token, discover

SESSION_VARIABLE: Final = "AILERON_SESSION_ID"
TOKEN_VARIABLE: Final = "AILERON_TOKEN"  # noqa: S105  # the name of a variable
URL_VARIABLE: Final = "AILERON_API_URL"

_POLL_SECONDS: Final = 1.0
_LONGEST_NAME: Final = 200


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("action", metavar="ACTION", help="what to call")
    action_inputs.arguments(parser)
    parser.add_argument("--wait", metavar="SECONDS", type=_seconds, default=0, help="how long to wait for the end")
    parser.add_argument("--agent", metavar="NAME", default="", help="how the caller calls itself")
    parser.add_argument("--url", default="", help="the gate to talk to; else the one that runs on this home")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="the agent token of a gate elsewhere")


def run(options: argparse.Namespace) -> int:
    """0 executed, 1 failed, 2 usage, 3 denied, 4 nobody answered, 75 still waiting."""
    found = discover(options.url)
    if options.token_file:
        found = FoundGate(found.url, found.instance, options.token_file)
    with AgentClient(found, _inherited(found) or agent_token(found)) as client:
        try:
            args = _arguments(client, options)
        except action_inputs.Misused as error:
            sys.stderr.write(f"error: {inline(str(error))}\n")
            return USAGE
        answer = _waited(client, options, args)
    answer = _plain(answer)
    sys.stdout.write(json.dumps(answer, indent=2) + "\n")
    return _code(answer)


def _inherited(found: FoundGate) -> str:
    """The token of the environment, for a gate that was named; not if the environment says that it is for another."""
    if found.token_file is not None:
        return ""
    meant = os.environ.get(URL_VARIABLE, "")
    try:
        ours = not meant or read_address(meant).meets(read_address(found.url))
    except BadAddress:
        ours = False
    return os.environ.get(TOKEN_VARIABLE, "") if ours else ""


def _waited(client: AgentClient, options: argparse.Namespace, args: JsonObject) -> JsonObject:
    """The answer of the call, or of asking for it until the time is over."""
    end = time.monotonic() + options.wait
    asker = Asker(options.agent[:_LONGEST_NAME], os.environ.get(SESSION_VARIABLE, "")[:_LONGEST_NAME], _folder())
    answer = client.run(options.action, args, asker=asker, wait=min(options.wait, LONGEST_WAIT))
    id_ = answer.get("approval_id")
    while isinstance(id_, str) and _open(answer) and time.monotonic() < end:
        time.sleep(min(_POLL_SECONDS, max(0.0, end - time.monotonic())))
        answer = {"approval_id": id_, **client.result(id_)}
    return answer


def _open(answer: JsonObject) -> bool:
    return answer.get("status") in ("pending_approval", "running")


def _plain(answer: JsonObject) -> JsonObject:
    """The same keys for every end: `status`, and `result` or `failure` as what they are instead of text."""
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


def _code(answer: JsonObject) -> int:
    match answer:
        case {"status": "completed"}:
            return OK
        case {"status": "pending_approval" | "running"}:
            return WAITING
        case {"status": "denied"}:
            return DENIED
        case {"failure": {"error": {"class": "approval_timeout"}}}:
            return UNANSWERED
        case _:
            return FAILED


def _arguments(client: AgentClient, options: argparse.Namespace) -> JsonObject:
    types = _types(client.action(options.action)) if options.arg else {}
    return action_inputs.given(options.action, types, options)


def _types(action: JsonObject) -> dict[str, str]:
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
        raise argparse.ArgumentTypeError("expected a whole number of seconds")
    return int(text)
