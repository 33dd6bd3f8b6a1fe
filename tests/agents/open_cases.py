"""What is known to stay open. Each is described in docs/agents.md and SECURITY.md."""

from typing import Final

OPEN: Final = {
    ("codex", "hook killed"): "Codex goes on with the call in its sandbox",
    ("gemini", "hook killed"): "with the policy that setup offers, Gemini goes on with the call",
}
"""Agents and cases in which a call runs that nobody allowed, and why."""
