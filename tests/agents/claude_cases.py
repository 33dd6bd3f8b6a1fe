"""x"""

from collections.abc import Callable

from tests.agents.agent_lab import AgentLab

CASES: dict[str, Callable[[AgentLab], None]] = {}
