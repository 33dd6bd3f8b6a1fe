"""How each agent is started for one turn with the scripted model instead of its own.

Its real settings count, so the hook that was set up is what is tried. Every request to a model goes to this machine,
and the keys are made up, so no account is used. Servers for tools are not started where the agent can leave them out.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.values import dataclass

TRIAL_PROMPT: Final = "Check that aileron-tui is asked."
"""What the agent is told. The scripted model does not care."""

_KEY: Final = "aileron-check"
_OTHER_PROVIDERS: Final = ("ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "COPILOT_", "CLAUDE_CODE_", "CLAUDECODE")
_KEPT: Final = ("COPILOT_HOME", "GEMINI_CLI_HOME")
_GEMINI_POLICY: Final = '[[rule]]\ntoolName = "run_shell_command"\ndecision = "ask_user"\npriority = 999\n'


@dataclass(frozen=True, slots=True)
class TrialCommand:
    """The words and the environment that start an agent for one turn."""

    words: tuple[str, ...]
    env: dict[str, str]


def trial_command(word: str, program: Path, url: str, folder: Path, env: Mapping[str, str]) -> TrialCommand:
    """How to start an agent. `folder` is private and temporary, for files that it needs."""
    plain = {name: value for name, value in env.items() if name in _KEPT or not name.startswith(_OTHER_PROVIDERS)}
    match word:
        case "claude":
            return _claude(program, url, plain)
        case "codex":
            return _codex(program, url, plain)
        case "gemini":
            return _gemini(program, url, folder, plain)
        case _:
            return _copilot(program, url, plain)


def _claude(program: Path, url: str, env: dict[str, str]) -> TrialCommand:
    # The user's settings can set variables too. Those of --settings come after them.
    own: JsonObject = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": _KEY,
        "ANTHROPIC_AUTH_TOKEN": "",
        "CLAUDE_CODE_USE_BEDROCK": "",
        "CLAUDE_CODE_USE_VERTEX": "",
        "CLAUDE_CODE_USE_FOUNDRY": "",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }
    options = ("--strict-mcp-config", "--no-session-persistence", "--settings", json.dumps({"env": own}))
    return TrialCommand((str(program), "-p", TRIAL_PROMPT, *options), env | {name: str(own[name]) for name in own})


def _codex(program: Path, url: str, env: dict[str, str]) -> TrialCommand:
    provider = (
        f'{{name="aileron check", base_url="{url}/v1", wire_api="responses", env_key="AILERON_CHECK_KEY", '
        "request_max_retries=0, stream_max_retries=0}"
    )
    settings = (
        'model="gpt-5.5-codex"',  # newer ones are told about their tools in another form
        'model_provider="aileron_check"',
        f"model_providers.aileron_check={provider}",
        "check_for_update_on_startup=false",
        "analytics.enabled=false",
        "mcp_servers={}",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    words = (str(program), "exec", "--skip-git-repo-check", "--ephemeral", "-s", "read-only", *options, TRIAL_PROMPT)
    return TrialCommand(words, env | {"AILERON_CHECK_KEY": _KEY})


def _gemini(program: Path, url: str, folder: Path, env: dict[str, str]) -> TrialCommand:
    settings: JsonObject = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "mcpServers": {},
    }
    system, policy = folder / "gemini-settings.json", folder / "gemini-policy.toml"
    system.write_text(json.dumps(settings))
    policy.write_text(_GEMINI_POLICY)
    # Without the policy, Gemini has no shell when nobody can be asked.
    options = ("-m", "gemini-2.5-flash", "--skip-trust", "--allowed-mcp-server-names", "none", "--policy", str(policy))
    own = {
        "GEMINI_API_KEY": _KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(system),
        "NO_BROWSER": "1",
    }
    return TrialCommand((str(program), "-p", TRIAL_PROMPT, *options), env | own)


def _copilot(program: Path, url: str, env: dict[str, str]) -> TrialCommand:
    own = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": _KEY,
        "COPILOT_MODEL": "gpt-5",
        "COPILOT_AUTO_UPDATE": "false",
    }
    return TrialCommand((str(program), "-p", TRIAL_PROMPT, "--disable-builtin-mcps"), env | own)
