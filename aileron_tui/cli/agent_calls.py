"""What the commands of the agent's side share: which gate and token they use, waiting for results, and exit codes."""

import argparse
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Final

from aileron_tui.cli.exit_codes import DENIED, FAILED, OK, OUTCOME_UNKNOWN, UNANSWERED, WAITING
from aileron_tui.cli.output import write
from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.jsontext import JsonError, JsonObject, read
from aileron_tui.core.visible_text import inline
from aileron_tui.runtime.gate_client import LONGEST_WAIT, AgentClient
from aileron_tui.runtime.gate_discovery import FoundGate, agent_token, discover

TOKEN_VARIABLE: Final = "AILERON_TOKEN"  # noqa: S105  # the name of a variable
URL_VARIABLE: Final = "AILERON_API_URL"

_SHORTEST_POLL: Final = 1.0
_HINTED_WAIT: Final = 60


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments that these commands share."""
    parser.add_argument(
        "--wait", metavar="SECONDS", type=_seconds, default=0, help="how long to wait for the result; default: 0"
    )
    parser.add_argument("--url", default="", help="the gate to call; default: the gate of this home")
    parser.add_argument(
        "--token-file", metavar="FILE", type=Path, help="the agent's token file; default: that of the agent `default`"
    )


def open_client(options: argparse.Namespace) -> AgentClient:
    """Returns a client for the gate and the agent that the options name."""
    found = discover(options.url)
    if options.token_file:
        found = FoundGate(found.url, found.instance, options.token_file)
    return AgentClient(found, _environment_token(found) or agent_token(found))


def wait_for_result(client: AgentClient, id_: str, answer: JsonObject, end: float) -> JsonObject:
    """Polls until a call has ended or the time is over; returns the last answer.

    The gate holds each poll. One that does not is asked once a second.
    """
    while is_unfinished(answer) and (left := end - time.monotonic()) > 0:
        asked_at = time.monotonic()
        answer = {"approval_id": id_, **client.result(id_, wait=max(1, min(int(left), LONGEST_WAIT)))}
        if is_unfinished(answer):
            time.sleep(max(0.0, min(_SHORTEST_POLL, left) - (time.monotonic() - asked_at)))
    return answer


def is_unfinished(answer: JsonObject) -> bool:
    """Whether a call has not ended yet."""
    return answer.get("status") in ("pending_approval", "running")


def normalized(answer: JsonObject) -> JsonObject:
    """The same keys for every outcome: `status`, and `result` or `failure` as JSON instead of text."""
    if "status" not in answer:
        failed = "error" in answer
        answer = {"status": "failed", "failure": answer} if failed else {"status": "completed", **answer}
    result = answer.get("result")
    answer = {name: value for name, value in answer.items() if name != "output"}
    if isinstance(result, str):
        try:
            return answer | {"result": read(result)}
        except JsonError:
            return answer
    return answer


def exit_code(answer: JsonObject) -> int:
    """The exit code for an answer: 0 if done or allowed, otherwise what became of the call."""
    match answer:
        case {"status": "completed" | "allowed"}:
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


def say_waiting(state: str, id_: str, options: argparse.Namespace) -> None:
    """Says on standard error how to get the result of a call that has not ended."""
    write(sys.stderr, f"{state} Get the result with:")
    sys.stderr.write(f"{inline(_result_command(id_, options))}\n")  # not wrapped, so that it can be copied


def _result_command(id_: str, options: argparse.Namespace) -> str:
    """The command that waits for a result, with the same gate and token."""
    words = ["aileron-tui", "result", id_, "--wait", str(_HINTED_WAIT)]
    words += ["--url", options.url] if options.url else []
    words += ["--token-file", str(options.token_file)] if options.token_file else []
    return shlex.join(words)


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


def _seconds(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise argparse.ArgumentTypeError("must be a whole number of seconds")
    return int(text)
