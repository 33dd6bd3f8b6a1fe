"""How an agent calls a gate, in words for an operator who has not connected one yet."""

import shlex
from typing import Final

from aileron_tui.core.values import dataclass

NO_AGENT: Final = "There is no agent yet. Add one with `aileron-tui agent add NAME`."
"""What is said about a gate without an agent whose token is known."""

_EXAMPLE: Final = '{"tool": "Bash", "input": {"command": "ls"}}'


@dataclass(frozen=True, slots=True)
class CallHint:
    """The address of a gate, and the file that holds the token of its first agent ("" if there is none)."""

    url: str
    token_file: str

    @property
    def words(self) -> str:
        """Where agents call and with what."""
        return f"Agents call {self.url} with the token in {self.token_file}" if self.token_file else NO_AGENT

    @property
    def command(self) -> str:
        """A command that makes a request and executes nothing, "" if there is no token."""
        if not self.token_file:
            return ""
        return (
            f'curl -sS {self.url}/v1/permissions -H "Authorization: Bearer $(cat {shlex.quote(self.token_file)})" '
            f"-H 'Content-Type: application/json' -d '{_EXAMPLE}'"
        )
