"""Make, list, explain and end rules. A rule answers calls without asking, as far as its words say and until its end."""

import argparse
from datetime import datetime
from importlib import import_module

from aileron_tui.cli import source_options
from aileron_tui.cli.exit_codes import NOT_FOUND
from aileron_tui.cli.output import print_error
from aileron_tui.core.rule import RuleReach, RuleVerdict
from aileron_tui.core.time_spans import read_end, read_span, read_time
from aileron_tui.core.times import utc_now
from aileron_tui.signing.errors import NoRule


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the rules in force, how often they were used, and when they end")
    listing.add_argument("--all", action="store_true", help="also list rules that have ended")
    add = commands.add_parser("add", help="make a rule", description=_ADD)
    _add_arguments(add)
    end = commands.add_parser("end", help="end a rule before its time")
    end.add_argument("id", metavar="RULE", help="the rule's id, or enough of its beginning")
    end.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
    explain = commands.add_parser("explain", help="say which rule answered or would answer a request, and why")
    explain.add_argument("id", metavar="REQUEST", help="the request's id")
    replay = commands.add_parser("replay", help="say what a rule would have answered in the past")
    replay.add_argument("id", metavar="RULE", nargs="?", default="", help="a rule; default: all rules in force")
    replay.add_argument(
        "--since", metavar="WHEN", type=_since, help="a date, a time, or how long ago: 30m, 12h, 7d, 2w"
    )
    replay.add_argument("--agent", metavar="NAME", help="instead of a rule: the calls of this agent …")
    replay.add_argument("--action", metavar="NAME", help="… to this action …")
    replay.add_argument("--args", metavar="JSON", help="… with exactly these inputs; default: any inputs")
    for command in (listing, add, end, explain, replay):
        command.add_argument("--json", action="store_true", help="print JSON")


_REACH = "how far it goes; default: as narrow as possible"
_DEFINITION = "only while that tool is defined like this: sha256:…, or `pinned` for the definition that is pinned now"
_ADD = (
    "Makes a rule. A rule that allows something is made from a waiting request (--from), so that you see what it "
    "covers. A rule that denies or asks can also name an agent and an action. A rule for a tool can name the tool: "
    "without more it allows only calls that read, with --folder also others in that folder, and with --command exactly "
    "that command."
)


def _add_arguments(add: argparse.ArgumentParser) -> None:
    add.add_argument("verdict", choices=[verdict.value for verdict in RuleVerdict], help="what the rule answers")
    add.add_argument("--from", dest="request", metavar="REQUEST", default="", help="the waiting request to start from")
    add.add_argument("--reach", choices=[reach.value for reach in RuleReach], default="", help=_REACH)
    add.add_argument("--agent", metavar="NAME", default="", help="the agent; not with --from")
    add.add_argument("--action", metavar="NAME", default="", help="the action; not with --from")
    add.add_argument("--tool", metavar="NAME", default="", help="the tool, such as Read or Bash; not with --from")
    add.add_argument("--server", metavar="NAME", default="", help="the MCP server of the tool")
    add.add_argument("--definition", metavar="HASH", default="", help=_DEFINITION)
    add.add_argument("--folder", metavar="DIR", default="", help="the folder where the agent works; only with --tool")
    add.add_argument("--command", dest="shell", metavar="TEXT", default="", help="exactly this command in that folder")
    add.add_argument("--args", metavar="JSON", help="exactly these inputs; not with --from")
    ends = add.add_mutually_exclusive_group(required=True)
    ends.add_argument("--for", dest="ends", metavar="SPAN", type=_span_from_now, help="how long: 30m, 8h, 2d")
    ends.add_argument("--until", dest="ends", metavar="WHEN", type=_until, help="until a time, or the end of a day")
    for name, words in (("match", "must match"), ("not-match", "must not match")):
        text = f"a call that the rule {words}, as JSON with agent, action or args; can be repeated"
        add.add_argument(f"--{name}", metavar="JSON", action="append", default=[], help=text)
    source_options.arguments(add)


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 on failure, 5 if there is no such rule or request."""
    try:
        code: int = import_module(f"{__name__}.{options.command}").run(options)
    except NoRule as error:
        print_error(error)
        return NOT_FOUND
    return code


def _span_from_now(text: str) -> datetime:
    span = read_span(text)
    if not span:
        raise argparse.ArgumentTypeError(f"{text!r} is not a span such as 30m, 8h or 2d")
    try:
        return utc_now() + span
    except OverflowError:
        raise argparse.ArgumentTypeError(f"{text!r} is too long") from None


def _until(text: str) -> datetime:
    try:
        return read_end(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a date or time such as 2026-05-20 or 2026-05-20T18:00"
        ) from None


def _since(text: str) -> datetime:
    try:
        return read_time(text, utc_now())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date, a time or a span such as 7d") from None
