"""The settings of Claude Code: hooks for every tool, and nothing that it may run unasked.

Only the hook's explicit answer allows a call: there are no allow rules, and the modes that allow calls by themselves
are off. If the hook fails, or is switched off, Claude Code asks or refuses. It is asked before each call (PreToolUse)
and not again where Claude Code itself would ask (PermissionRequest), which happens only if the first answer did not
count.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.doors.settings_environment import environment_findings
from aileron_tui.doors.settings_findings import (
    Finding,
    SettingsFault,
    at,
    handlers,
    project_folders,
    read_json,
    system_folder,
    texts,
    variable_findings,
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

WORD: Final = "claude"
ASKING: Final = "PreToolUse"
REPORTING: Final = ("PostToolUse", "PostToolUseFailure")
SESSION: Final = ("UserPromptSubmit", "SessionStart", "SessionEnd")
MODES: Final = {"defaultMode": "default", "disableBypassPermissionsMode": "disable", "disableAutoMode": "disable"}

_OFF: Final = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE")
_PROGRAMS: Final = (
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "gcpAuthRefresh",
    "otelHeadersHelper",
    "proxyAuthHelper",
    "statusLine",
    "subagentStatusLine",
    "fileSuggestion",
    "processWrapper",
    "enabledPlugins",
)
_OPEN: Final = (
    "`claude --bare`, `--safe-mode` and CLAUDE_CODE_SIMPLE skip hooks. What --allowedTools names then runs unasked.",
    "A project that you trust can switch hooks off and allow calls in its own settings.",
    "It can also set LD_PRELOAD there, with which a file of the project answers instead of the hook.",
    "`claude --setting-sources user` ignores the settings of projects.",
    "Any program that runs as you can change these settings. `aileron-tui doctor` tells you if one did.",
)


def settings_path(context: SetupContext) -> Path:
    """The user's settings, or those of the project."""
    if context.project:
        return context.folder / ".claude" / "settings.json"
    return _user_folder(context) / "settings.json"


def plan(context: SetupContext) -> SetupPlan:
    """What is written for Claude Code."""
    path = settings_path(context)
    current = read_json(path)
    wanted = [Wanted("set", ("permissions", key), value) for key, value in MODES.items()]
    wanted.append(Wanted("replace", ("permissions", "allow"), []))
    wanted.append(Wanted("replace", ("disableAllHooks",), False))
    reasons = []
    allowed = at(current, "permissions", "allow")
    if isinstance(allowed, list) and allowed:
        listed = ", ".join(map(str, allowed))
        reasons.append(
            f"These rules of Claude Code are removed, because they would let a call run if the hook fails: {listed}"
        )
    mode = at(current, "permissions", "defaultMode")
    if mode not in (None, "default"):
        reasons.append(f"The permission mode {mode} is replaced, because it lets calls run without asking.")
    if at(current, "disableAllHooks") is True:
        reasons.append("disableAllHooks is turned off, because it would switch the gate off.")
    wanted += [Wanted("item", ("hooks", event), group) for event, group in hook_groups(context)]
    return SetupPlan((FilePlan(path, tuple(wanted), stale=is_own),), tuple(reasons), _OPEN)


def hook_groups(context: SetupContext) -> Iterator[tuple[str, JsonObject]]:
    """The groups of hooks to add, by event."""
    command, *args = context.hook(WORD)
    handler: JsonObject = {"type": "command", "command": command, "args": [*args]}
    asking: JsonObject = {"timeout": TIMEOUT, "onFailure": "block", "statusMessage": WAITING_WORDS}
    yield ASKING, {"matcher": "*", "hooks": [handler | asking]}
    for event in REPORTING:
        yield event, {"matcher": "*", "hooks": [handler | {"timeout": REPORT_SECONDS}]}
    for event in SESSION:
        yield event, {"hooks": [handler | {"timeout": REPORT_SECONDS}]}


def is_own(group: Json) -> bool:
    """Whether a group of hooks was written by a setup."""
    listed = at(group, "hooks")
    return isinstance(listed, list) and bool(listed) and all(map(is_own_handler, listed))


def is_own_handler(handler: Json) -> bool:
    """Whether a handler is a hook of ours."""
    words = _words(handler)
    return is_own_command(words, WORD) or is_own_command(str(words[0]).split(), WORD)


def findings(context: SetupContext) -> Iterator[Finding]:
    """What around Claude Code weakens the gate."""
    yield from variable_findings(context.env, _OFF, "Claude Code")
    user = _user_folder(context) / "settings.json"
    managed = system_folder("/etc/claude-code", "/Library/Application Support/ClaudeCode") / "managed-settings.json"
    folders = project_folders(context.folder, context.home)
    projects = [folder / ".claude" / name for folder in folders for name in ("settings.json", "settings.local.json")]
    for path in dict.fromkeys((user, *projects, managed)):
        try:
            settings = read_json(path)
        except SettingsFault as error:
            yield Finding(f"{error}", error.hint)
            continue
        if settings is not None:
            yield from _weak(path, settings, context)
            if path in projects:
                yield from _project_programs(path, settings, context)
                names = at(settings, "env")
                yield from environment_findings(
                    path, names if isinstance(names, dict) else (), "Claude Code", all_names=True
                )
            if path != settings_path(context):  # what setup itself changes is shown by its plan
                yield from _permissive(path, settings)
            if path == managed and at(settings, "allowManagedHooksOnly") is True:
                words = f"{path} allows only the hooks of your administrator (allowManagedHooksOnly)"
                yield Finding(words, "Ask your administrator to add the hook.", switches_off=True)


def _permissive(path: Path, settings: JsonObject) -> Iterator[Finding]:
    """Settings that setup would change in the file that it writes."""
    if at(settings, "disableAllHooks") is True:
        yield Finding(f"{path} switches all hooks off (disableAllHooks)", "Remove it.", switches_off=True)
    if allowed := texts(at(settings, "permissions", "allow")):
        words = f"{path} has rules that let calls run if the hook fails: {', '.join(allowed)}"
        yield Finding(words, "Remove them from permissions.allow.")
    mode = at(settings, "permissions", "defaultMode")
    if mode not in (None, "default", "manual", "plan"):
        yield Finding(f"{path} sets the permission mode {mode}", "Set permissions.defaultMode to default.")


def _weak(path: Path, settings: JsonObject, context: SetupContext) -> Iterator[Finding]:
    for handler in handlers(settings, ASKING):
        if not context.is_hook(_words(handler), WORD):
            words = f"{path} has another {ASKING} hook, which could change a call after it was approved"
            what = " ".join(map(str, _words(handler))) if at(handler, "command") else at(handler, "url")
            yield Finding(f"{words}: {what}", "Check what it does.")
    for name in _OFF:
        if at(settings, "env", name) not in (None, "", "0"):
            yield Finding(f"{path} sets {name}, so Claude Code skips hooks", "Remove it from env.", switches_off=True)
    if at(settings, "sandbox", "enabled") is True and at(settings, "sandbox", "autoAllowBashIfSandboxed") is not False:
        words = f"{path} lets sandboxed commands run without asking if the hook fails"
        yield Finding(words, "Set sandbox.autoAllowBashIfSandboxed to false.")


def _project_programs(path: Path, settings: JsonObject, context: SetupContext) -> Iterator[Finding]:
    """What of a project Claude Code runs or loads by itself, without a tool call that the gate could be asked about."""
    events = at(settings, "hooks")
    names = [
        f"hooks.{event}"
        for event in (events if isinstance(events, dict) else ())
        if event != ASKING and any(not context.is_hook(_words(handler), WORD) for handler in handlers(settings, event))
    ]
    names += [key for key in _PROGRAMS if settings.get(key)]
    if names:
        words = f"{path} lets Claude Code run programs without asking anybody: {', '.join(names)}"
        yield Finding(words, "Check what they do before you start Claude Code here.")


def _words(handler: Json) -> list[Json]:
    """The words that a handler starts."""
    args = at(handler, "args")
    return [at(handler, "command"), *(args if isinstance(args, list) else ())]


def _user_folder(context: SetupContext) -> Path:
    named = context.env.get("CLAUDE_CONFIG_DIR")
    return Path(named).expanduser() if named else context.home / ".claude"
