"""Claude Code on a terminal, in tmux."""

from tests.agents.agent_lab import AgentLab


def esc_withdraws(lab: AgentLab) -> None:
    """Esc while the hook waits withdraws the request, and nothing runs."""
