"""The settings of Gemini CLI: a hook before each tool. Gemini asks by itself too, unless a policy says not to.

If a hook fails, Gemini goes on to its own question, so without the policy nothing runs unasked.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.doors.agent_programs import shell_words
from aileron_tui.doors.settings_environment import environment_findings, file_names
from aileron_tui.doors.settings_findings import (
    Finding,
    SettingsFault,
    at,
    handlers,
    project_folders,
    read_json,
    system_folder,
    texts,
)
from aileron_tui.doors.setup_plan import REPORT_SECONDS, TIMEOUT, FilePlan, SetupContext, SetupPlan, is_own_command

WORD: Final = "gemini"
ASKING: Final = "BeforeTool"
SESSION: Final = ("BeforeAgent", "SessionStart", "SessionEnd")

POLICY: Final = """\
# Written by aileron-tui: every call is asked there, so Gemini does not ask again.
# If the hook of aileron-tui is killed or missing, calls run without anybody being asked.
# Remove this file to be asked by Gemini too.

[[rule]]
toolName = "*"
decision = "allow"
priority = 998
allowRedirection = true
"""
_QUESTION: Final = (
    "Gemini asks by itself as well, so you answer twice. The policy below stops that, but then a hook that is killed "
    "or missing lets the call run. Write the policy?"
)
_OPEN: Final = (
    "If the hook is killed or missing, Gemini asks you itself; with the policy, or in yolo mode, the call runs.",
    "A `.env` file of a folder that Gemini trusts can set LD_PRELOAD: a file there then answers instead of the hook.",
    "Any program that runs as you can change these settings. `aileron-tui doctor` tells you if one did.",
)


def gemini_folder(context: SetupContext) -> Path:
    """The folder with the user's settings of Gemini."""
    named = context.env.get("GEMINI_CLI_HOME")
    return (Path(named).expanduser() if named else context.home) / ".gemini"


def settings_path(context: SetupContext) -> Path:
    """The settings of the user, or of the project."""
    return (context.folder / ".gemini" if context.project else gemini_folder(context)) / "settings.json"


def plan(context: SetupContext) -> SetupPlan:
    """What is written for Gemini."""
    path = settings_path(context)
    current = read_json(path, comments=True)
    wanted, reasons = (
        [
            Wanted("set", ("security", "disableYoloMode"), True),
            Wanted("replace", ("hooksConfig", "enabled"), True),
            Wanted("replace", ("tools", "allowed"), []),
            Wanted("replace", ("general", "defaultApprovalMode"), "default", ("auto_edit", "yolo")),
        ],
        [],
    )
    if at(current, "hooksConfig", "enabled") is False:
        reasons.append("hooksConfig.enabled is turned on, because without it Gemini runs no hooks.")
    if allowed := texts(at(current, "tools", "allowed")):
        listed = ", ".join(allowed)
        reasons.append(
            f"These tools are no longer allowed by Gemini, because they would run if the hook fails: {listed}"
        )
    if at(current, "general", "defaultApprovalMode") == "auto_edit":
        reasons.append("The approval mode auto_edit is replaced, because it changes files without asking.")
    wanted += [Wanted("item", ("hooks", event), group) for event, group in hook_groups(context)]
    policy = FilePlan(gemini_folder(context) / "policies" / "aileron-tui.toml", text=POLICY, question=_QUESTION)
    return SetupPlan((FilePlan(path, tuple(wanted), comments=True, stale=is_own), policy), tuple(reasons), _OPEN)


def hook_groups(context: SetupContext) -> Iterator[tuple[str, JsonObject]]:
    """The groups of hooks to add, by event. Timeouts are in milliseconds."""
    handler: JsonObject = {"type": "command", "name": "aileron-tui", "command": shell_words(context.hook(WORD))}
    yield ASKING, {"matcher": "*", "hooks": [handler | {"timeout": TIMEOUT * 1000}]}
    for event in SESSION:
        yield event, {"hooks": [handler | {"timeout": REPORT_SECONDS * 1000}]}


def is_own(group: Json) -> bool:
    """Whether a group of hooks was written by a setup."""
    listed = at(group, "hooks")
    return isinstance(listed, list) and bool(listed) and all(map(is_own_handler, listed))


def is_own_handler(handler: Json) -> bool:
    """Whether a handler is a hook of ours."""
    return is_own_command(str(at(handler, "command")).split(), WORD)


def findings(context: SetupContext) -> Iterator[Finding]:
    """What around Gemini weakens the gate."""
    user = gemini_folder(context)
    folders = [folder / ".gemini" for folder in project_folders(context.folder, context.home)]
    system = system_folder("/etc/gemini-cli", "/Library/Application Support/GeminiCli")
    for folder in dict.fromkeys((user, *folders, system)):
        path = folder / "settings.json"
        try:
            settings = read_json(path, comments=True)
        except SettingsFault as error:
            yield Finding(f"{error}", error.hint)
            continue
        if settings is None:
            continue
        own = path == settings_path(context)  # what setup itself changes is shown by its plan
        if at(settings, "hooksConfig", "enabled") is False and not own:
            yield Finding(f"{path} switches hooks off (hooksConfig.enabled)", "Remove it.", switches_off=True)
        if "aileron-tui" in texts(at(settings, "hooksConfig", "disabled")):
            words = f"{path} switches the hook of aileron-tui off (hooksConfig.disabled)"
            yield Finding(words, "Remove it from the list.", switches_off=True)
        if not own and (allowed := texts(at(settings, "tools", "allowed"))):
            words = f"{path} lets tools run if the hook fails: {', '.join(allowed)}"
            yield Finding(words, "Remove them from tools.allowed.")
        for handler in handlers(settings, ASKING):
            if not context.is_hook_line(at(handler, "command"), WORD):
                words = f"{path} has another {ASKING} hook, which could change a call after it was approved"
                yield Finding(f"{words}: {at(handler, 'command')}", "Check what it does.")
    for folder in (context.folder, *context.folder.parents):
        for path in (folder / ".gemini" / ".env", folder / ".env"):
            try:
                yield from environment_findings(path, file_names(path), "Gemini CLI")
            except SettingsFault as error:
                yield Finding(f"{error}", error.hint)
