"""Put an agent behind the gate: show what changes in its settings, write that, and let the agent make one call.

`setup mcp` does the same for MCP: it gives a client the server of this program, or puts the proxy in front of a server.
"""

import argparse
import os
from importlib import import_module
from pathlib import Path

from aileron_tui.cli.exit_codes import USAGE
from aileron_tui.cli.output import write_error
from aileron_tui.core.agent_names import NAME_RULE, is_agent_name, is_reserved
from aileron_tui.doors.agent_programs import KINDS, own_command
from aileron_tui.doors.mcp_clients import CLIENTS
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.files.paths import paths

_MCP = "mcp"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    agents = parser.add_subparsers(dest="word", metavar="AGENT", required=True)
    for kind in KINDS.values():
        agent = agents.add_parser(kind.word, help=f"put {kind.title} behind the gate")
        agent.add_argument("--agent", metavar="NAME", default="", help="its name at the gate; default: the same word")
        _shared_arguments(agent)
    words = "give an MCP client the tools of this gate, or put an MCP server behind the gate"
    _mcp_arguments(agents.add_parser(_MCP, help=words, description=f"{words[0].upper()}{words[1:]}."))


def _shared_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", action="store_true", help="for this folder only, not for all of your projects")
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
    parser.add_argument("--no-check", action="store_true", help="do not try it afterwards")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--print", dest="prints", action="store_true", help="only print the settings; change nothing")
    what.add_argument("--undo", action="store_true", help="take back what setup changed in the settings")


def _mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", metavar="CLIENT", choices=list(CLIENTS), help=f"which client: {', '.join(CLIENTS)}")
    parser.add_argument("--name", metavar="NAME", default="", help="the server's name at the gate")
    parser.add_argument(
        "--agent", metavar="NAME", default="", help="the agent that asks; default: CLIENT-mcp or mcp-NAME"
    )
    parser.add_argument("--policy", metavar="FILE", default="", help="the policy file with the server's previews")
    parser.add_argument("--url", metavar="URL", default="", help="put the server at this URL behind the gate")
    parser.add_argument("--wrap", metavar="NAME", default="", help="put a server of the client behind the gate")
    parser.add_argument("server", metavar="COMMAND", nargs="*", help="after --: the command that starts the server")
    _shared_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 on failure, 2 if the options or names are not valid, 5 if there is nothing to undo."""
    if options.word == _MCP:
        code: int = import_module(f"{__name__}.mcp").run(options)
        return code
    name = options.agent or options.word
    if not is_agent_name(name) or is_reserved(name):
        write_error("not a valid name for an agent", repr(name), NAME_RULE)
        return USAGE
    here = Path.home(), Path.cwd()
    context = SetupContext(name, own_command(), *here, os.environ, paths().data.absolute(), options.project)
    step = "printing" if options.prints else "undoing" if options.undo else "writing"
    done: int = import_module(f"{__name__}.{step}").run(options, context)
    return done
