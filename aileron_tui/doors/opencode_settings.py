"""The settings of opencode: it asks before everything, and its server hands the questions to the console."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.doors.settings_findings import Finding, SettingsFault, at, project_folders, read_json
from aileron_tui.doors.setup_plan import FilePlan, SetupContext, SetupPlan

WORD: Final = "opencode"
URL: Final = "http://127.0.0.1:4096"

_FILES: Final = ("opencode.jsonc", "opencode.json")
_OPEN: Final = (
    "opencode runs everything if its configuration is lost, and plugins can change a call after it was approved.",
    "Anybody who reaches its server can answer: set OPENCODE_SERVER_PASSWORD if others use this machine.",
    "Any program that runs as you can change these settings. `aileron-tui doctor` tells you if one did.",
)
_STEPS: Final = (
    "Add this to the configuration of aileron-tui:",
    "",
    "    [[sources]]",
    '    name = "opencode"',
    '    kind = "opencode"',
    f'    url = "{URL}"',
    "",
    "If it has no other [[sources]], add one with the kind gate too, or the console no longer opens the gate.",
    "Start opencode with `opencode serve --port 4096`, and work in it with `opencode attach http://127.0.0.1:4096`.",
)


def settings_path(context: SetupContext) -> Path:
    """The configuration of the user or of the project: the file that is there, else a new one."""
    folder = context.folder if context.project else _user_folder(context)
    return next((folder / name for name in _FILES if (folder / name).exists()), folder / _FILES[1])


def plan(context: SetupContext) -> SetupPlan:
    """What is written for opencode."""
    path = settings_path(context)
    current = at(read_json(path, comments=True), "permission")
    wanted = asking_permission(current)
    reasons: tuple[str, ...] = ()
    if current is not None and current != wanted:
        reasons = ("Your permissions are replaced, because they let calls run without asking; what you deny stays.",)
    return SetupPlan(
        (FilePlan(path, (Wanted("set", ("permission",), wanted),), comments=True),), reasons, _OPEN, _STEPS
    )


def asking_permission(current: Json) -> JsonObject | str:
    """Permissions that ask for everything, except for what is denied now."""
    if current == "deny":
        return "deny"
    asking: JsonObject = {"*": "ask"}
    for tool, value in current.items() if isinstance(current, dict) else ():
        if value == "deny":
            asking[tool] = "deny"
        elif isinstance(value, dict) and (denied := {key: it for key, it in value.items() if it == "deny"}):
            asking[tool] = {"*": "ask", **denied}
    return asking


def findings(context: SetupContext) -> Iterator[Finding]:
    """What around opencode weakens the gate."""
    folders = project_folders(context.folder, context.home)
    places = [folder / part for folder in folders for part in ("", ".opencode")]
    for path in (folder / name for folder in (_user_folder(context), *places) for name in _FILES):
        try:
            settings = read_json(path, comments=True)
        except SettingsFault as error:
            yield Finding(f"{error}", error.hint)
            continue
        if path != settings_path(context) and "allow" in _answers(at(settings, "permission")):
            yield Finding(f"{path} lets calls run without asking", "Remove `allow` from its permission.")
        for group in ("agent", "mode"):
            agents = at(settings, group)
            for name, agent in agents.items() if isinstance(agents, dict) else ():
                if "allow" in _answers(at(agent, "permission")):
                    words = f"{path} lets the agent {name} run calls without asking"
                    yield Finding(words, "Remove `allow` from its permission.")
    for name in ("OPENCODE_PERMISSION", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"):
        if context.env.get(name):
            yield Finding(f"{name} is set, and may replace the permissions", f"Unset {name}.")


def _answers(permission: Json) -> set[str]:
    """Every answer that a permission gives to something."""
    if isinstance(permission, dict):
        return {answer for value in permission.values() for answer in _answers(value)}
    return {permission} if isinstance(permission, str) else set()


def _user_folder(context: SetupContext) -> Path:
    named = context.env.get("XDG_CONFIG_HOME")
    return (Path(named) if named else context.home / ".config") / "opencode"
