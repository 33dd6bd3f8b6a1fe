"""Put an agent behind the gate: show what changes in its settings, write that, and let the agent make one call."""

import argparse
import os
from importlib import import_module
from pathlib import Path

from aileron_tui.cli.exit_codes import USAGE
from aileron_tui.cli.output import write_error
from aileron_tui.core.agent_names import NAME_RULE, is_agent_name, is_reserved
from aileron_tui.doors.agent_programs import KINDS, own_command
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.files.paths import paths


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("word", metavar="AGENT", choices=list(KINDS), help=f"which agent: {', '.join(KINDS)}")
    parser.add_argument("--project", action="store_true", help="for this folder only, not for all of your projects")
    parser.add_argument("--agent", metavar="NAME", default="", help="its name at the gate; default: the same word")
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; required if there are several")
    parser.add_argument("--no-check", action="store_true", help="do not let the agent make a call afterwards")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--print", dest="prints", action="store_true", help="only print the settings; change nothing")
    what.add_argument("--undo", action="store_true", help="take back what setup changed in the settings")


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 on failure, 2 if the name is not valid, 5 if there is nothing to undo."""
    name = options.agent or options.word
    if not is_agent_name(name) or is_reserved(name):
        write_error("not a valid name for an agent", repr(name), NAME_RULE)
        return USAGE
    here = Path.home(), Path.cwd()
    context = SetupContext(name, own_command(), *here, os.environ, paths().data.absolute(), options.project)
    step = "printing" if options.prints else "undoing" if options.undo else "writing"
    code: int = import_module(f"{__name__}.{step}").run(options, context)
    return code
