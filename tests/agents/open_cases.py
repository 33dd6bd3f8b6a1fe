"""What is known to stay open. Each is described in docs/agents.md and SECURITY.md."""

from typing import Final

OPEN: Final = {
    ("codex", "hook killed"): "Codex goes on with the call in its sandbox",
    ("gemini", "hook killed"): "with the policy that setup offers, Gemini goes on with the call",
    ("claude", "other hook"): "another hook changes the call after it was approved; the history says so",
    ("claude", "--bare, allowed"): "--bare skips hooks, and --allowedTools allows the call",
    ("claude", "auto mode enabled"): "hooks are off, and auto mode allows the call by itself",
    ("claude", "hooks off, allowed"): "a trusted project switches hooks off and allows the call",
}
"""Agents and cases in which something runs that nobody approved, and why."""
