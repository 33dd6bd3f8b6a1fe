"""What `setup` would do for one agent: the files it changes, what stays open, and what the user still has to do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import split
from typing import Final

from aileron_tui.core.agent_names import is_agent_name
from aileron_tui.core.jsontext import Json
from aileron_tui.core.settings_changes import Wanted
from aileron_tui.core.values import dataclass
from aileron_tui.doors.agent_programs import ENV, shell_words
from aileron_tui.files.paths import HOME_VARIABLE

TIMEOUT: Final = 3600
"""How many seconds an agent waits for its hook."""

REPORT_SECONDS: Final = 30
"""How many seconds an agent waits for a hook that only reports something."""

WAITING_WORDS: Final = "Waiting for approval in aileron-tui"
"""What an agent shows while its hook waits."""


@dataclass(frozen=True, slots=True)
class SetupContext:
    """Where and for whom an agent is set up. `command` are the words that start this program.

    `data` is the data folder of the gate that the hook asks.
    """

    agent: str
    command: tuple[str, ...]
    home: Path
    folder: Path
    env: Mapping[str, str]
    data: Path
    project: bool = False

    def hook(self, word: str) -> tuple[str, ...]:
        """The words that start the hook of an agent."""
        name = ("--agent", self.agent, "--timeout", str(TIMEOUT))
        return (*self.command, "hook", word, *name, "--data", str(self.data))

    def is_hook(self, words: Sequence[Json], word: str) -> bool:
        """Whether these are exactly the words that start this hook, whatever name they give to the agent."""
        place = len(self.command) + 3
        name = words[place] if len(words) > place else None
        return isinstance(name, str) and is_agent_name(name) and tuple(words) == replace(self, agent=name).hook(word)

    def is_hook_line(self, line: Json, word: str) -> bool:
        """Whether a line for a shell starts this hook and nothing else."""
        try:
            words = split(line) if isinstance(line, str) else []
        except ValueError:
            return False
        return self.is_hook(words, word) and shell_words(tuple(words)) == line


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
    """Whether a setup of this agent may have written these words, in whatever version of aileron-tui.

    A program that has our words only somewhere among its own is another one.
    """
    texts = [str(word) for word in words]
    if texts[:1] == [ENV] and (texts[1:2] == ["-i"] or "".join(texts[1:2]).startswith(f"{HOME_VARIABLE}=")):
        texts = texts[2:]
    match texts:
        case [program, "hook", word, *_] if Path(program).name == "aileron-tui":
            return word == agent
        case [_, "-I", "-m", "aileron_tui", "hook", word, *_] | [_, "-m", "aileron_tui", "hook", word, *_]:
            return word == agent
    return False
