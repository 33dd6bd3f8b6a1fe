"""What both kinds of `setup mcp` show and try: the change to a client's settings, and the server that it starts."""

import time
from collections.abc import Mapping
from pathlib import Path

from aileron_tui.cli.commands.setup.settings_text import diff_lines, said_yes, tell
from aileron_tui.cli.confirmation import NotDecided
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.output import counted, print_lines, write_error
from aileron_tui.core.errors import AileronError
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.mcp_clients import McpClient
from aileron_tui.doors.mcp_entries import ServerStart
from aileron_tui.doors.mcp_listing import listed_tools
from aileron_tui.doors.mcp_setup import McpName
from aileron_tui.doors.settings_file import PlannedFile
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import SetupRecord, read_records


def chosen_file(file: PlannedFile, client: McpClient, data: Path) -> list[PlannedFile]:
    """The file, if something is to be written. Raises NotDecided if the user does not want that."""
    if not file.differs:
        return []
    tell("", f"What changes in the settings of {client.title}:")
    if file.link:
        tell(f"{inline(str(file.link))} is a symbolic link to {inline(str(file.path))}, which is changed.")
    tell("", *diff_lines(str(file.path), file.before, file.after), "")
    if any(record.word == client.word for record in read_records(data)):
        tell(f"- The hooks of {client.title} ask the gate as well, so you are asked twice about each call.")
    tell(f"- What {client.title} does without this server does not pass the gate.")
    tell("- Any program that runs as you can change these settings. `aileron-tui doctor` tells you if one did.")
    if not said_yes("Write these settings?"):
        raise NotDecided("nothing was changed")
    return [file]


def mcp_record(name: McpName, context: SetupContext) -> SetupRecord:
    """The record of a setup, without its files."""
    folder = str(context.folder) if context.project else ""
    return SetupRecord(name.word, context.agent, folder, context.command, "", "", timestamp(utc_now()), ())


def tried(start: ServerStart, expected: Mapping[str, str]) -> int:
    """Starts what the client would start, and lists its tools. `expected` are the hashes of those it must have.

    Returns 0 if it answered, 1 if not.
    """
    tell("", "Starting it as the client would …")
    began = time.monotonic()
    try:
        found = listed_tools(start)
    except AileronError as error:
        write_error(error.title, error.detail, "Run `aileron-tui doctor`, or take the setup back with --undo.")
        return FAILED
    hashes = {tool.name: tool.hash for tool in found}
    if expected and hashes != dict(expected):
        other = sorted(set(hashes.items()) ^ set(expected.items()))
        detail = f"for example {other[0][0]}" if other else ""
        write_error("other tools were listed through the proxy than without it", detail, "Run setup again.")
        return FAILED
    seconds = time.monotonic() - began
    print_lines(f"✓ It answered and listed {counted(len(hashes), 'tool')} ({seconds:.1f} s).")
    return OK
