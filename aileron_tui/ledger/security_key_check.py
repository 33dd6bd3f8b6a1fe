"""Verifies what a ledger says about security keys: that their counters grow, and where they were enrolled."""

from collections.abc import Mapping
from dataclasses import field

from aileron_tui.core.authenticator_data import counter_problem, recorded_counter
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.jsontext import JsonError
from aileron_tui.core.key_change import KEY_CHANGES, recorded_key_change
from aileron_tui.core.values import dataclass


@dataclass(slots=True)
class SecurityKeyCheck:
    """What is known of security keys so far. `ledger` is the hash of the first entry.

    `first` has the first counter of each key that was checked here.
    """

    ledger: str = ""
    counters: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)

    def counter_problem(self, entry: Entry) -> str:
        """Why the counter of what a security key signed is not valid here, or "" if it is or there is none."""
        if "envelope" not in entry.body or not (counted := recorded_counter(entry)):
            return ""
        key, counter = counted
        why = counter_problem(self.counters.get(key, 0), counter)
        self.counters[key] = counter
        self.first.setdefault(key, counter)
        return why

    def keep(self, counters: Mapping[str, int]) -> None:
        """Takes over the counters in signatures that were removed. They never become smaller."""
        for key, counter in counters.items():
            self.counters[key] = max(self.counters.get(key, 0), counter)

    def add(self, later: "SecurityKeyCheck") -> str:
        """Adds what was checked of later entries by itself. Returns why a counter in it is not valid, or ""."""
        for key, counter in later.first.items():
            if why := counter_problem(self.counters.get(key, 0), counter):
                return why
        self.keep(later.counters)
        return ""

    def place_problem(self, entry: Entry, previous: str) -> str:
        """Why a signed change to a key is not for this place, or "" if it is or has no signature.

        `previous` is the hash of the entry just before it.
        """
        if entry.kind not in KEY_CHANGES or "envelope" not in entry.body:
            return ""
        try:
            signed = recorded_key_change(entry)
        except JsonError as error:
            return str(error)
        if signed and (signed[0].ledger, signed[0].head) != (self.ledger, previous):
            return f"the change to a key was signed over another history: {signed[0].head}"
        return ""
