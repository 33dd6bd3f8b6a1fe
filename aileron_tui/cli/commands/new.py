"""Make the repository of a new connector, or add an action to one."""

import argparse
from pathlib import Path

from aileron_tui.cli.exit_codes import OK, USAGE
from aileron_tui.cli.output import counted, print_json, print_lines, write_error
from aileron_tui.core.new_action import NewInput
from aileron_tui.core.visible_text import inline
from aileron_tui.packages.new_action import ActionWishes, add_action
from aileron_tui.packages.new_repository import LANGUAGES, new_repository


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    what = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    connector = what.add_parser("connector", help="make the repository of a connector, with actions and tests")
    connector.add_argument("folder", metavar="DIR", type=Path, help="the folder to make; its name is the connector's")
    connector.add_argument("--language", choices=list(LANGUAGES), default="go", help="default: go")
    connector.add_argument("--name", default="", help="its full name, such as github://owner/repo; default: local://…")
    action = what.add_parser("action", help="add an action to the repository of a connector")
    action.add_argument("name", metavar="NAME", help="what agents call it, such as close-ticket")
    action.add_argument("--in", dest="folder", metavar="DIR", type=Path, default=Path(), help="default: this folder")
    action.add_argument("--connector", metavar="NAME", default="", help="the connector; required if there are several")
    action.add_argument("--op", default="", help="the op of the connector; default: after the name")
    action.add_argument("--intent", metavar="TEXT", default="", help="when to call it; default: after the name")
    action.add_argument(
        "--input",
        dest="inputs",
        metavar="NAME[:TYPE[:TEXT]]",
        action="append",
        default=[],
        help="an input, its type and its description; can be given several times; default type: string",
    )
    action.add_argument("--gated", action="store_true", help="ask a person first; without this, the op must only read")
    action.add_argument("--preview", metavar="OP", default="", help="the op that fetches what the person sees")
    action.add_argument(
        "--show",
        metavar="LABEL=FIELD",
        action="append",
        default=[],
        help="a field of the preview, such as Title=note.title; can be given several times",
    )
    for command in (connector, action):
        command.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if something cannot be made, 2 for usage."""
    if options.what == "connector":
        return _connector(options)
    if why := _misuse(options):
        write_error(why, "`aileron-tui new action --help` says more.")
        return USAGE
    return _action(options)


def _connector(options: argparse.Namespace) -> int:
    folder: Path = options.folder.expanduser()
    files = new_repository(folder, options.name, options.language)
    if options.json:
        print_json({"folder": str(folder), "files": [*files]})
        return OK
    place = inline(str(folder))
    print_lines(
        f"{place}: {counted(len(files), 'file')}",
        *(f"  {name}" for name in files),
        f"Next: `make -C {place} test` builds the connector and tries it; {place}/README.md says more.",
    )
    return OK


def _misuse(options: argparse.Namespace) -> str:
    if options.preview and not options.gated:
        return "--preview is only for gated actions: add --gated"
    if bool(options.preview) != bool(options.show):
        return "--preview and --show belong together: an op, and which of its fields to show"
    wrong = next((pair for pair in options.show if not all(pair.partition("=")[::2])), "")
    return f"--show {wrong}: expected LABEL=FIELD" if wrong else ""


def _action(options: argparse.Namespace) -> int:
    shown = tuple((label, path) for label, _, path in (pair.partition("=") for pair in options.show))
    inputs = tuple(_input(text) for text in options.inputs)
    wishes = ActionWishes(
        options.name,
        options.connector,
        options.op,
        options.intent,
        inputs,
        options.gated,
        options.preview,
        shown,
    )
    folder: Path = options.folder.expanduser()
    added = add_action(folder, wishes)
    if options.json:
        print_json({"file": added.file, "connector": added.connector, "pinned": added.pinned})
        return OK
    pinned = (
        f"pinned to {inline(added.connector)}"
        if added.pinned
        else f"not pinned: {inline(added.connector)} is not built"
    )
    print_lines(f"{inline(added.file)}: {pinned}", *(f"  ! {inline(each.message)}" for each in added.warnings))
    if not added.pinned:
        print_lines(f"  Build it, then set the pin with `aileron-tui pin {inline(str(folder))}`.")
    return OK


def _input(text: str) -> NewInput:
    name, _, rest = text.partition(":")
    kind, _, description = rest.partition(":")
    return NewInput(name, kind or "string", description or f"The {name.replace('_', ' ')}.")
