"""What `setup` would do for one agent: the files it changes, what stays open, and what the user still has to do."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import Json
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.core.values import dataclass

TIMEOUT: Final = 3600
"""How many seconds an agent waits for its hook."""

REPORT_SECONDS: Final = 30
"""How many seconds an agent waits for a hook that only reports something."""

WAITING_WORDS: Final = "Waiting for approval in aileron-tui"
"""What an agent shows while its hook waits."""


@dataclass(frozen=True, slots=True)
class SetupContext:
    """Where and for whom an agent is set up. `command` are the words that start this program."""

    agent: str
    command: tuple[str, ...]
    home: Path
    folder: Path
    env: Mapping[str, str]
    project: bool = False

    def hook(self, word: str) -> tuple[str, ...]:
        """The words that start the hook of an agent."""
        return (*self.command, "hook", word, "--agent", self.agent, "--timeout", str(TIMEOUT))


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One file of settings. It gets the `wanted` changes, or is as a whole `text`.

    `stale` finds items that an earlier setup left. `comments` says whether the agent accepts comments in it.
    `question` is asked for this file alone; a file without one belongs to the settings that are always written.
    """

    path: Path
    wanted: tuple[Wanted, ...] = ()
    text: str = ""
    comments: bool = False
    stale: Callable[[Json], bool] | None = None
    question: str = ""


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """Everything that is planned for one agent.

    `reasons` say why a setting of the user is changed or removed, `open` what cannot be closed, and `steps` what the
    user has to do. They may contain foreign text.
    """

    files: tuple[FilePlan, ...]
    reasons: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


def is_own_command(words: Sequence[Json], agent: str) -> bool:
    """Whether these are the words of a hook that a setup of this agent wrote."""
    texts = [str(word) for word in words]
    is_hook = any(texts[i : i + 2] == ["hook", agent] for i in range(len(texts)))
    return is_hook and any("aileron-tui" in text or text == "aileron_tui" for text in texts)
