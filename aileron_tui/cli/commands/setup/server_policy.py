"""The policy of an MCP server that is set up: the user's own, or a copy of one that ships with the program."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from aileron_tui.cli.commands.setup.settings_text import said_yes, tell
from aileron_tui.cli.output import print_lines
from aileron_tui.core.mcp_policy_check import check_policy
from aileron_tui.core.mcp_tools import PinnedTool
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import block, inline
from aileron_tui.doors.known_servers import KnownServer
from aileron_tui.doors.settings_file import write
from aileron_tui.doors.settings_findings import read_text
from aileron_tui.files.policy_files import load_policy, policy_path, read_policy_file, shipped_policy


@dataclass(frozen=True, slots=True)
class ServerPolicy:
    """The policy file of a server, "" if it has none. `shipped` is the file that it is to be a copy of."""

    path: str = ""
    shipped: Path | None = None


def chosen_policy(options: argparse.Namespace, pinned: KnownServer | None, command: tuple[str, ...]) -> ServerPolicy:
    """The policy that is given, or else used already, or else in its place, or else offered. Raises InvalidPolicy."""
    own = policy_path(options.name)
    if options.policy or (pinned and pinned.policy):
        path = Path(options.policy).absolute() if options.policy else Path(pinned.policy if pinned else "")
    elif own.exists():
        path = own
    elif shipped := None if pinned else shipped_policy(command):
        return ServerPolicy(str(own), shipped)
    else:
        return ServerPolicy()
    load_policy(path)
    return ServerPolicy(str(path))


def accepted_policy(policy: ServerPolicy, tools: Iterable[PinnedTool]) -> ServerPolicy:
    """Says what is wrong with a policy for these tools, and asks about one that is offered."""
    if not policy.path:
        return policy
    reading = read_policy_file(str(policy.shipped or policy.path))
    for found in check_policy(reading, {tool.name: tool.definition for tool in tools}):
        tell(f"! {inline(found.file)}:{found.line}: {inline(found.message)}", f"    → {inline(found.fix)}")
    if policy.shipped is None:
        return policy
    tell("", "A policy for this server ships with aileron-tui, so that you are shown what a call would change:")
    tell(*(f"  | {line}" for line in block((read_text(policy.shipped) or "").rstrip())))
    return policy if said_yes(f"Use a copy of it, {inline(policy.path)}?") else ServerPolicy()


def copy_policy(policy: ServerPolicy) -> ServerPolicy:
    """Copies a policy that ships with the program to where the user can edit it."""
    if policy.shipped is None:
        return policy
    write(Path(policy.path), read_text(policy.shipped) or "", None)
    print_lines(f"wrote {inline(policy.path)}")
    return replace(policy, shipped=None)
