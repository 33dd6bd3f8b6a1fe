"""The MCP clients that `setup mcp` knows: where each keeps its servers, and what an entry looks like there."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.doors.setup_plan import TIMEOUT, SetupContext

_SHORT_HOLD: Final = 50
"""How many seconds a call may wait in a client whose timeout cannot be set: some give up after a minute."""

_MILLISECONDS: Final = TIMEOUT * 1000
_APPLICATIONS: Final = {
    "linux": (".config", "XDG_CONFIG_HOME"),
    "darwin": ("Library/Application Support", ""),
    "win32": ("AppData/Roaming", "APPDATA"),
}
"""Where programs with a window keep their settings, by system: the folder in the home, and the variable that wins."""


@dataclass(frozen=True, slots=True)
class McpClient:
    """One client. `servers` is where its settings list the servers by name; `entry` makes one from a command.

    `user` is the file for all projects of the user, relative to the home, and `variable` names another folder for it;
    `{applications}` stands for the system's own folder. `project` is the file in a project, "" if there is none. If
    there are several names, the first that exists counts, else the last one. `comments` says whether the client accepts
    comments in JSON. `program` is a program that shows that the client is installed. `hold` is how many seconds a call
    may wait before the client would give up. `after` is what the user does next, and `after_project` what else to know
    about the settings of a project.
    """

    word: str
    title: str
    servers: tuple[str, ...]
    user: tuple[str, ...]
    project: tuple[str, ...]
    entry: Callable[[tuple[str, ...]], JsonObject]
    variable: str = ""
    comments: bool = False
    hold: int = _SHORT_HOLD
    program: str = ""
    after: str = ""
    after_project: str = ""

    def path(self, context: SetupContext) -> Path:
        """The file with the servers, of the user or of the project."""
        if context.project:
            return _existing([context.folder / name for name in self.project])
        return _existing([_user_path(self, name, context) for name in self.user])

    def next_step(self, *, project: bool) -> str:
        """What the user does next, and should know."""
        return " ".join(filter(None, (self.after.format(title=self.title), self.after_project if project else "")))

    def place(self, name: str) -> tuple[str, ...]:
        """Where the entry with this name is in the file."""
        return (*self.servers, name)

    def is_found(self, context: SetupContext) -> bool:
        """Whether the client seems to be installed: its program, or the folder of its settings."""
        if self.program and shutil.which(self.program, path=context.env.get("PATH", "")):
            return True
        path = _existing([_user_path(self, name, context) for name in self.user])
        return path.exists() or (path.parent != context.home and path.parent.is_dir())


def _command(words: tuple[str, ...]) -> JsonObject:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: tuple[str, ...]) -> JsonObject:
    return {"type": "stdio", **_command(words)}


def _codex(words: tuple[str, ...]) -> JsonObject:
    return {**_command(words), "tool_timeout_sec": TIMEOUT}


def _gemini(words: tuple[str, ...]) -> JsonObject:
    return {**_command(words), "timeout": _MILLISECONDS}


def _opencode(words: tuple[str, ...]) -> JsonObject:
    return {"type": "local", "command": list(words), "enabled": True, "timeout": _MILLISECONDS}


_RESTART: Final = "Restart {title} to load it."

CLIENTS: Final = {
    client.word: client
    for client in (
        McpClient(
            "claude",
            "Claude Code",
            ("mcpServers",),
            (".claude.json",),
            (".mcp.json",),
            _typed,
            variable="CLAUDE_CONFIG_DIR",
            program="claude",
            hold=25 * 60,  # it gives up after 30 minutes without a sign of life
            after="Start a new session of Claude Code to load it.",
            after_project="It asks you once whether to trust `.mcp.json`.",
        ),
        McpClient(
            "claude-desktop",
            "Claude Desktop",
            ("mcpServers",),
            ("{applications}/Claude/claude_desktop_config.json",),
            (),
            _command,
            hold=_SHORT_HOLD,
            after=_RESTART,
        ),
        McpClient(
            "codex",
            "Codex",
            ("mcp_servers",),
            (".codex/config.toml",),
            (".codex/config.toml",),
            _codex,
            variable="CODEX_HOME",
            program="codex",
            hold=TIMEOUT - 60,
            after="Start a new session of Codex to load it.",
            after_project="It reads the settings of this folder only if you trust the folder.",
        ),
        McpClient(
            "gemini",
            "Gemini CLI",
            ("mcpServers",),
            (".gemini/settings.json",),
            (".gemini/settings.json",),
            _gemini,
            variable="GEMINI_CLI_HOME",
            comments=True,
            program="gemini",
            hold=TIMEOUT - 60,
            after=_RESTART,
        ),
        McpClient(
            "opencode",
            "opencode",
            ("mcp",),
            ("{applications}/opencode/opencode.jsonc", "{applications}/opencode/opencode.json"),
            ("opencode.jsonc", "opencode.json"),
            _opencode,
            comments=True,
            program="opencode",
            hold=TIMEOUT - 60,
            after=_RESTART,
        ),
        McpClient(
            "vscode",
            "VS Code",
            ("servers",),
            ("{applications}/Code/User/mcp.json",),
            (".vscode/mcp.json",),
            _typed,
            comments=True,
            program="code",
            hold=_SHORT_HOLD,
            after="Start the server in VS Code with the command `MCP: List Servers`.",
        ),
        McpClient(
            "cursor",
            "Cursor",
            ("mcpServers",),
            (".cursor/mcp.json",),
            (".cursor/mcp.json",),
            _command,
            program="cursor",
            hold=_SHORT_HOLD,
            after=_RESTART,
        ),
    )
}
"""The clients, by the word that is used for them in commands."""


def generic_entry(words: tuple[str, ...]) -> JsonObject:
    """An entry as most clients want it."""
    return _typed(words)


def _existing(paths: list[Path]) -> Path:
    return next((path for path in paths if path.exists()), paths[-1])


def _user_path(client: McpClient, name: str, context: SetupContext) -> Path:
    if "{applications}" in name:
        # opencode keeps its settings in ~/.config on every system
        system = "linux" if client.word == "opencode" else sys.platform
        folder, variable = _APPLICATIONS.get(system, _APPLICATIONS["linux"])
        named = context.env.get(variable, "") if variable else ""
        return Path(name.format(applications=named or context.home / folder))
    named = context.env.get(client.variable, "") if client.variable else ""
    if not named:
        return context.home / name
    inside = name if client.word == "gemini" else Path(name).name
    return Path(named).expanduser() / inside
