"""The entries of MCP servers in the settings of clients: reading one, and putting a proxy in front of it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aileron_tui.core.json_edit import JsonTextError, parse
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.core.toml_edit import TomlTextError, read
from aileron_tui.core.values import dataclass
from aileron_tui.doors.agent_programs import ENV
from aileron_tui.doors.mcp_clients import McpClient
from aileron_tui.doors.settings_findings import SettingsFault, at, texts

_VARIABLES: Final = {
    "claude": r"\$\{(?P<name>NAME)(?::-(?P<default>[^}]*))?\}",
    "gemini": r"\$(?P<brace>\{)?(?P<name>NAME)(?(brace)\})",
    "opencode": r"\{env:(?P<name>NAME)\}",
    "vscode": r"\$\{env:(?P<name>NAME)\}",
    "cursor": r"\$\{env:(?P<name>NAME)\}",
}
"""How entries refer to variables, by client. The others take everything as it is written."""

_OTHER: Final = re.compile(r"\$?\{[^{}]*:[^{}]*\}|\$\{[^{}]*\}?")
"""What a client may fill in from elsewhere, such as a question to its user."""

_ENVIRONMENTS: Final = ("env", "environment")
_URLS: Final = ("httpUrl", "url", "serverUrl", "tcp")
_SECRETS: Final = ("headers", "http_headers", "env_http_headers", "headersHelper", "oauth", "bearer_token_env_var")


@dataclass(frozen=True, slots=True)
class ServerStart:
    """How a server is started or reached. It has a command, with variables and perhaps a folder, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] | None = None
    folder: str = ""


def entries(client: McpClient, path: Path, text: str | None) -> JsonObject:
    """The servers in the text of a file, by name. Raises SettingsFault."""
    settings: Json = {}
    try:
        if text and text.strip():
            settings = read(text) if path.suffix == ".toml" else parse(text, comments=client.comments).value
    except (TomlTextError, JsonTextError) as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        detail = error.detail if isinstance(error, TomlTextError) else f"line {error.line}: {error.title}"
        raise SettingsFault(f"{path} is not valid {kind}", detail, "Fix it, then try again.") from None
    listed = at(settings, *client.servers)
    if not isinstance(settings, dict) or not isinstance(listed, dict | None):
        what = "it" if not isinstance(settings, dict) else ".".join(client.servers)
        raise SettingsFault(f"{path} is not valid", f"{what} is not an object", "Fix it, then try again.")
    return listed or {}


def is_own(entry: Json) -> bool:
    """Whether a setup may have written an entry, in whatever version of aileron-tui."""
    words = start_words(entry)
    if words[:2] == (ENV, "-i"):
        words = words[2:]
    match words:
        case (program, "mcp" | "mcp-proxy", *_) if Path(program).name == "aileron-tui":
            return True
        case (_, "-I", "-m", "aileron_tui", "mcp" | "mcp-proxy", *_):
            return True
    return False


def start_words(entry: Json) -> tuple[str, ...]:
    """The words that an entry starts its server with, () if it has none."""
    command = at(entry, "command")
    if isinstance(command, list):
        return tuple(texts(command)) if len(texts(command)) == len(command) else ()
    args = at(entry, "args")
    listed = texts(args)
    if not isinstance(command, str) or not command or (args is not None and args != listed):
        return ()
    return (command, *listed)


def existing_start(client: McpClient, name: str, listed: JsonObject, env: Mapping[str, str]) -> ServerStart:
    """How the server of an entry is started, with its variables filled in. Raises SettingsFault."""
    if name not in listed:
        known = ", ".join(sorted(listed)) or "none"
        hint = (
            f"Set up a new one by its command: `aileron-tui setup mcp --client {client.word} --name NAME -- COMMAND …`."
        )
        raise SettingsFault(f"{client.title} has no MCP server named {name}", f"it has: {known}", hint)
    entry = listed[name]
    if is_own(entry):
        hint = "Take that back with --undo first."
        raise SettingsFault(f"the server {name} of {client.title} already goes through aileron-tui", hint=hint)
    for key in _SECRETS:
        if at(entry, key):
            hint = "Put a server without it behind the gate, or give the proxy a command that adds it."
            raise SettingsFault(f"the server {name} needs {key}, which the proxy cannot send", hint=hint)
    given = next((value for key in _ENVIRONMENTS if isinstance(value := at(entry, key), dict)), {})
    words, url, folder = start_words(entry), _url(entry), at(entry, "cwd")
    if not words and not url:
        hint = "Fix it, then try again."
        raise SettingsFault(f"the server {name} of {client.title} has no command and no URL", hint=hint)
    if words and (other := next((key for key in _URLS if at(entry, key)), "")):
        hint = f"Remove {other} or the command from its entry, then try again."
        detail = f"it also has {other}, and {client.title} might go there without the gate"
        raise SettingsFault(f"the server {name} of {client.title} has a command", detail, hint)
    filled = _Filled(name, client, env)
    return ServerStart(
        tuple(map(filled.text, words)),
        "" if words else filled.text(url),
        {key: filled.text(str(value)) for key, value in given.items()},
        filled.text(folder) if isinstance(folder, str) else "",
    )


def filled_words(client: McpClient, words: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    """Words of an entry with the values of their variables. Raises SettingsFault if one is not known here."""
    return tuple(map(_Filled("", client, env).text, words))


def new_entry(client: McpClient, name: str, words: tuple[str, ...]) -> tuple[Wanted, ...]:
    """What a client's settings are to have for a new server."""
    return (Wanted("set", client.place(name), client.entry(words)),)


def wrapped_entry(client: McpClient, name: str, entry: Json, proxy: tuple[str, ...]) -> tuple[Wanted, ...]:
    """What is to be changed in an entry so that its server is started by the proxy. Everything else in it stays."""
    words = start_words(entry)
    if not words:
        return new_entry(client, name, (*proxy, "--url", _url(entry)))
    made = client.entry((*proxy, "--", *words))
    kept = [key for key in made if key in ("command", "args", "timeout", "tool_timeout_sec")]
    return tuple(Wanted("set", (*client.place(name), key), made[key]) for key in kept)


def _url(entry: Json) -> str:
    found = next((value for key in ("url", "httpUrl", "serverUrl") if isinstance(value := at(entry, key), str)), "")
    return str(found)


@dataclass(frozen=True, slots=True)
class _Filled:
    """Fills in the variables of an entry, as its client would."""

    name: str
    client: McpClient
    env: Mapping[str, str]

    def text(self, text: str) -> str:
        """The text with the values of variables. Raises SettingsFault if one is not known here."""
        if (pattern := _VARIABLES.get(self.client.word)) is None:
            return text
        variable = re.compile(pattern.replace("NAME", "[A-Za-z_][A-Za-z0-9_]*"))
        if odd := _OTHER.search(variable.sub("", text)):
            hint = "Write the value itself there, or use --name and the command."
            raise SettingsFault(f"only {self.client.title} can start the server {self.name}", f"it has {odd[0]}", hint)
        return variable.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        name = found["name"]
        value: str | None = self.env.get(name, found.groupdict().get("default"))
        if value is None:
            hint = f"Set {name} here too, then try again."
            raise SettingsFault(f"the server {self.name} needs the variable {name}", "it is not set here", hint)
        return value
