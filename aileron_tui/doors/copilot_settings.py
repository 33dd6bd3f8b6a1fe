"""The settings of Copilot CLI: a hooks file of its own.

Only the hook's explicit answer allows a call, unless Copilot is started with `--allow-all-tools` or its like. Without
those, whatever fails is refused, or asked by Copilot itself.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.doors.agent_programs import shell_words
from aileron_tui.doors.settings_findings import Finding, SettingsFault, at, project_folders, read_json, texts
from aileron_tui.doors.setup_plan import REPORT_SECONDS, TIMEOUT, FilePlan, SetupContext, SetupPlan, is_own_command

WORD: Final = "copilot"
ASKING: Final = "preToolUse"
SESSION: Final = ("userPromptSubmitted", "sessionStart", "sessionEnd")

_FILE: Final = "aileron-tui.json"
_OPEN: Final = (
    "With `--allow-all-tools` or `--allow-tool`, a hook that is too slow or answers garbage lets the call run.",
    "Any program that runs as you can change these settings. `aileron-tui doctor` tells you if one did.",
)


def copilot_folder(context: SetupContext) -> Path:
    """The folder with the user's settings of Copilot."""
    named = context.env.get("COPILOT_HOME")
    return Path(named).expanduser() if named else context.home / ".copilot"


def settings_path(context: SetupContext) -> Path:
    """The hooks file of the user, or of the project."""
    folder = context.folder / ".github" if context.project else copilot_folder(context)
    return folder / "hooks" / _FILE


def plan(context: SetupContext) -> SetupPlan:
    """What is written for Copilot."""
    wanted = [Wanted("set", ("version",), 1)]
    wanted += [Wanted("item", ("hooks", event), handler) for event, handler in hook_groups(context)]
    steps = ("Copilot loads hooks of a project only in folders that it trusts.",) if context.project else ()
    return SetupPlan((FilePlan(settings_path(context), tuple(wanted), stale=is_own),), (), _OPEN, steps)


def hook_groups(context: SetupContext) -> Iterator[tuple[str, JsonObject]]:
    """The handlers to add, by event. Copilot has no groups, and a hook without a matcher is for all tools."""
    handler: JsonObject = {"type": "command", "bash": shell_words(context.hook(WORD))}
    yield ASKING, handler | {"timeoutSec": TIMEOUT}
    for event in SESSION:
        yield event, handler | {"timeoutSec": REPORT_SECONDS}


def is_own(handler: Json) -> bool:
    """Whether a handler was written by a setup."""
    return is_own_command(str(at(handler, "bash")).split(), WORD)


def findings(context: SetupContext) -> Iterator[Finding]:
    """What around Copilot weakens the gate."""
    user = copilot_folder(context)
    folders = [folder / ".github" for folder in project_folders(context.folder, context.home)]
    files = [path for folder in (user, *folders) for path in sorted((folder / "hooks").glob("*.json"))]
    for path in (*files, user / "config.json", user / "settings.json"):
        try:
            settings = read_json(path, comments=path.parent == user)
        except SettingsFault as error:
            yield Finding(f"{error}", error.hint)
            continue
        if at(settings, "disableAllHooks") is True:
            yield Finding(f"{path} switches all hooks off (disableAllHooks)", "Remove it.", switches_off=True)
        if allowed := texts(at(settings, "allowedTools")) + texts(at(settings, "allow_tools")):
            yield Finding(f"{path} lets tools run if the hook fails: {', '.join(allowed)}", "Remove them.")
        listed = at(settings, "hooks", ASKING)
        for handler in listed if isinstance(listed, list) else ():
            if not context.is_hook_line(at(handler, "bash"), WORD):
                words = f"{path} has another {ASKING} hook, which could change a call after it was approved"
                yield Finding(f"{words}: {at(handler, 'bash')}", "Check what it does.")
