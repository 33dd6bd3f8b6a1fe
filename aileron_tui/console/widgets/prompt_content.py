"""What a prompt says, sorted by who wrote it: fetched, sent by the agent, filled in by a daemon, and what would run."""

from collections.abc import Iterator, Mapping
from typing import Final

from aileron_tui.console.widgets import prompt_words as words
from aileron_tui.console.widgets.fields import Field
from aileron_tui.console.widgets.prompt_sections import Block, Section, section
from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.daemon_kinds import FILLED_IN, OPENCODE, TOLD_BY_OPENCODE
from aileron_tui.core.prompt import AGENT_SENT, READ_BY_GATE, sent_origin, told_origin
from aileron_tui.core.prompt_facts import rows_by_origin, sends_only_inputs
from aileron_tui.core.request import Request
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.step_rows import step_rows

ORIGINS: Final = {"fetched": "fetched", "sent": AGENT_SENT, "filled": FILLED_IN, "runs": "would run", "long": ""}
"""The sections with quotes, in the order in which they are shown, and the words that say who wrote a quote."""


class PromptContent:
    """The sections of a request's prompt, as fields and quotes; empty without a request."""

    def __init__(self, request: Request | None = None) -> None:
        self._request = request
        self.sections: Mapping[str, Section] = _sections(request) if request else {}
        self._details_required = request is not None and words.must_show_details(request.prompt)
        self._long_texts = words.long_texts(request) if request else ()

    @property
    def details_required(self) -> bool:
        """Whether the details of what would run must be read."""
        return self._details_required

    @property
    def run_line_is_optional(self) -> bool:
        """Whether the line about what would run may stay unread: one step sends just what the agent sent."""
        prompt = self._request.prompt if self._request else None
        return prompt is not None and prompt.risk.level is not RiskLevel.HIGH and sends_only_inputs(prompt)

    def texts(self) -> Iterator[str]:
        """Every value and every text, to be scanned for look-alikes."""
        for part in self.sections.values():
            yield from (field.value for field in part.fields if field.value)
        for part in self.sections.values():
            yield from (block.text for block in part.blocks)

    def origin(self, name: str) -> str:
        """Who wrote the texts of a section."""
        prompt = self._request.prompt if self._request else None
        if name == "sent" and prompt is not None:
            return sent_origin(prompt)
        if name != "fetched" or prompt is None:
            return ORIGINS[name]
        if prompt.preview and prompt.preview.told_by:
            return told_origin(prompt)
        if prompt.kind in NOT_RUN_HERE:
            return READ_BY_GATE
        return TOLD_BY_OPENCODE if prompt.kind == OPENCODE else ORIGINS[name]

    def blocks(self, name: str) -> tuple[Block, ...]:
        """The texts of a section that are shown as quotes."""
        if name == "long":
            return self._long_texts
        return self.sections[name].blocks if name in self.sections else ()

    def fields(self, *, opened: bool) -> dict[str, tuple[Field, ...]]:
        """The fields of every part of the prompt. `opened` says whether all details are shown."""
        request = self._request
        if request is None:
            return {}
        prompt = request.prompt
        details = opened or self._details_required
        return {
            "fetched": (*self.sections["fetched"].fields, *words.not_shown_fields(request)),
            "sent": self.sections["sent"].fields,
            "filled": self.sections["filled"].fields,
            "asker": (words.asker_line(prompt, opened=opened),),
            "asker-details": words.asker_details(request) if opened else (),
            "runs": words.run_line(prompt, opened=details),
            "runs-details": words.connector_fields(prompt) if details else (),
            "runs-rows": self.sections["runs"].fields,
        }


def _sections(request: Request) -> dict[str, Section]:
    """Sorts values into fields and quotes."""
    prompt, old = request.prompt, request.edited_from
    sent, filled = rows_by_origin(request, prompt)
    old_sent, old_filled = rows_by_origin(request, old) if old else (None, None)
    old_rows = old.preview.rows if old and old.preview and not old.preview.unavailable else None
    old_steps = step_rows(old.steps, old.args) if old else None
    return {
        "fetched": section(prompt.preview.rows, old_rows) if prompt.preview else Section(),
        "sent": section(sent, old_sent),
        "filled": section(filled, old_filled),
        "runs": section(step_rows(prompt.steps, prompt.args), old_steps),
    }
