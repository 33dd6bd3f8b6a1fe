"""The settings of Codex: its hooks file, next to its configuration.

PermissionRequest is the hook that counts: if it fails, Codex asks or refuses. PreToolUse sees every call and can deny
it, but if it fails, the call goes on inside Codex's sandbox.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.doors.agent_programs import shell_words
from aileron_tui.doors.settings_findings import (
    Finding,
    SettingsFault,
    at,
    handlers,
    project_folders,
    read_json,
    read_toml,
)
from aileron_tui.doors.setup_plan import (
    REPORT_SECONDS,
    TIMEOUT,
    WAITING_WORDS,
    FilePlan,
    SetupContext,
    SetupPlan,
    is_own_command,
)

WORD: Final = "codex"
ASKING: Final = ("PermissionRequest", "PreToolUse")
REPORTING: Final = ("PostToolUse",)
SESSION: Final = ("UserPromptSubmit", "SessionStart", "SessionEnd")

_SESSION_SECONDS: Final = 3  # Codex allows no more at the end of a session
_ROOT_KEYS: Final = ("description", "hooks")
_OPEN: Final = (
    "If the hook is killed or missing, Codex goes on by itself: in its sandbox it runs the call, outside it asks you.",
    "`codex exec` never asks: use it with a read-only or workspace-write sandbox.",
    "Tools that Codex hosts elsewhere, and input to a command that already runs, do not pass its hooks.",
    "Any program that runs as you can change these settings. `aileron-tui doctor` tells you if one did.",
)


def codex_folder(context: SetupContext) -> Path:
    """The folder with the user's configuration of Codex."""
    named = context.env.get("CODEX_HOME")
    return Path(named).expanduser() if named else context.home / ".codex"


def settings_path(context: SetupContext) -> Path:
    """The hooks file of the user, or of the project."""
    return (context.folder / ".codex" if context.project else codex_folder(context)) / "hooks.json"


def plan(context: SetupContext) -> SetupPlan:
    """What is written for Codex."""
    path = settings_path(context)
    current = read_json(path)
    if strange := [key for key in current or () if key not in _ROOT_KEYS]:
        detail = f"Codex ignores the whole file, because it has the key {strange[0]}"
        raise SettingsFault(f"{path} is not valid", detail, "Remove that key, then try again.")
    wanted = [Wanted("item", ("hooks", event), group) for event, group in hook_groups(context)]
    steps = ("Codex loads hooks of a project only if it trusts the project.",) if context.project else ()
    return SetupPlan((FilePlan(path, tuple(wanted), stale=is_own),), (), _OPEN, steps)


def hook_groups(context: SetupContext) -> Iterator[tuple[str, JsonObject]]:
    """The groups of hooks to add, by event."""
    handler: JsonObject = {"type": "command", "command": shell_words(context.hook(WORD))}
    for event in ASKING:
        asking = handler | {"timeout": TIMEOUT, "statusMessage": WAITING_WORDS}
        yield event, {"matcher": ".*", "hooks": [asking]}
    for event in REPORTING:
        yield event, {"matcher": ".*", "hooks": [handler | {"timeout": REPORT_SECONDS}]}
    for event in SESSION:
        yield event, {"hooks": [handler | {"timeout": _SESSION_SECONDS}]}


def is_own(group: Json) -> bool:
    """Whether a group of hooks was written by a setup."""
    listed = at(group, "hooks")
    return isinstance(listed, list) and bool(listed) and all(map(is_own_handler, listed))


def is_own_handler(handler: Json) -> bool:
    """Whether a handler is a hook of ours."""
    return is_own_command(str(at(handler, "command")).split(), WORD)


def findings(context: SetupContext) -> Iterator[Finding]:
    """What around Codex weakens the gate."""
    user = codex_folder(context)
    folders = [folder / ".codex" for folder in project_folders(context.folder, context.home)]
    for folder in dict.fromkeys((user, *folders, Path("/etc/codex"))):
        try:
            config, hooks = read_toml(folder / "config.toml"), read_json(folder / "hooks.json")
        except SettingsFault as error:
            yield Finding(f"{error}", error.hint)
            continue
        yield from _weak_config(folder / "config.toml", config or {})
        for path, settings in ((folder / "hooks.json", hooks), (folder / "config.toml", config)):
            yield from _other_hooks(path, settings, context)


def _weak_config(path: Path, config: JsonObject) -> Iterator[Finding]:
    if at(config, "features", "hooks") is False:
        words = f"{path} switches hooks off (features.hooks)"
        yield Finding(words, "Remove it.", switches_off=True)
    if at(config, "approval_policy") == "never":
        words = f'{path} has approval_policy = "never", so Codex asks nobody if the hook fails'
        yield Finding(words, 'Set approval_policy = "on-request".')
    if at(config, "sandbox_mode") == "danger-full-access":
        words = f'{path} has sandbox_mode = "danger-full-access", so nothing holds a call if the hook fails'
        yield Finding(words, 'Set sandbox_mode = "workspace-write".')


def _other_hooks(path: Path, settings: JsonObject | None, context: SetupContext) -> Iterator[Finding]:
    for handler in handlers(settings, "PreToolUse"):
        if not context.is_hook_line(at(handler, "command"), WORD):
            words = f"{path} has another PreToolUse hook, which could change a call after it was approved"
            yield Finding(f"{words}: {at(handler, 'command')}", "Check what it does.")
