"""Resolves tool calls: looks at the files that they name, and makes what the operator is shown."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from os.path import normpath
from pathlib import Path
from typing import Final

from aileron_tui.core.jsontext import canonical
from aileron_tui.core.tool_call import DoorClaims, ResolvedTool, ToolCall
from aileron_tui.files.paths import paths
from aileron_tui.gate.file_reader import FileReader
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.gate.large_values import work_on

_WIDE_FOLDER: Final = "the agent works in a folder that contains your whole home folder"
_NO_CLAIMS: Final = DoorClaims()
_COST: Final = 8
"""How much longer it takes to read a character of a call than one of a file. A shell command is taken apart."""


class ToolResolver:
    """Resolves tool calls for one gate."""

    def __init__(self, setup: GateSetup) -> None:
        self._risk_rules = setup.config.risk
        own = own_folders(setup)
        self._own = tuple(spellings(own))
        self._home = Path.home().resolve()
        self.files = FileReader([str(path) for path in own])

    async def resolve(self, agent: str, call: ToolCall, claims: DoorClaims = _NO_CLAIMS) -> ResolvedTool:
        """The call with what its door says about it and what the gate finds now. It is never cached."""
        from aileron_tui.core.tool_prompts import named_paths, tool_prompt, with_claims  # noqa: PLC0415  # most gates run only actions

        size = _COST * len(canonical(call.args))
        named = await work_on(size, lambda: named_paths(call))
        files = await self.files.look(agent, named)
        size += sum(len(found.text or "") for found in files.values())
        shown = await work_on(size, lambda: tool_prompt(call, files, self._risk_rules, self._own))
        folders = (call.folder, *(found.resolved for path, found in files.items() if path == call.folder))
        if any(self._contains_home(folder) for folder in folders):
            shown = replace(shown, warnings=(*shown.warnings, _WIDE_FOLDER))
        leads_to = tuple(found.resolved for found in files.values() if found.resolved)
        return ResolvedTool(call, with_claims(shown, claims), leads_to, claims)

    def _contains_home(self, folder: str) -> bool:
        """Whether a folder is so wide that being inside it says nothing about a path."""
        return bool(folder) and self._home.is_relative_to(normpath(f"/{folder.lstrip('/')}"))


def own_folders(setup: GateSetup) -> tuple[Path, ...]:
    """The files and folders of this program: those that the gate uses and those of the user, without links."""
    here = paths()
    of_user = (here.config, here.keyring, here.policies, here.data, here.keys, here.cache)
    own = (setup.data, setup.manifests, *setup.more_manifests, setup.cache or here.cache, *of_user)
    return tuple(dict.fromkeys(spelled for file in own for spelled in (file.absolute(), file.resolve())))


def spellings(own: Iterable[Path]) -> Iterator[str]:
    """The ways in which files of this program can be named: as they are, and from the home folder."""
    home = Path.home()
    for path in own:
        yield str(path)
        if path != home and path.is_relative_to(home):
            yield from (f"{start}/{path.relative_to(home)}" for start in ("~", "$HOME", "${HOME}"))
