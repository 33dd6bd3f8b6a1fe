"""The switches of a running fake daemon: the oddities of real daemons, and some that none should have."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, fields
from typing import Any

from tests.daemon.gotext import Object

ROUTES = frozenset(
    {
        *("list", "watch", "decide", "result", "run", "actions", "action", "audit", "audit_event"),
        *("sessions", "session", "new_session", "shell", "comms", "bindings", "health", "status"),
        *("vault_status", "vault_unlock", "handshake", "unknown"),
    }
)
"""The route names used in switches; `*` means all routes."""


@dataclass(slots=True)
class Switches:
    """All switches. A count says how many more times something happens; -1 is for ever."""

    heartbeat: float = 30.0
    """Seconds between two heartbeats of a stream; 0 is never."""
    buffer: int = 32
    """Events kept for a subscriber that does not read; more are dropped silently."""
    stall_streams: bool = False
    """Nothing more is written to streams, so their buffers fill; heartbeats stop too."""
    silent_streams: bool = False
    """Streams are heartbeats only: no snapshot, no event."""
    drop_events: int = 0
    """Count of events that nobody gets."""
    duplicate_events: int = 0
    """Every event comes this many times more."""
    repeat_snapshot: bool = False
    """What the snapshot holds comes again as `pending` right after it."""
    drop_chance: float = 0.0
    """Share of events that one subscriber does not get."""
    duplicate_chance: float = 0.0
    """Share of events that one subscriber gets twice."""
    chance_seed: int = 0

    omit_kind: bool = False
    """As older daemons: no `kind` in requests and in `resolved`."""
    omit_args: bool = False
    """No `args` in requests."""
    resolved_without_kind: bool = False
    extra_fields: Object = field(default_factory=dict)
    """Put into every request, as a newer daemon might."""
    offset: str = "+02:00"
    """Where the daemon's clock is: `+05:30`, `Z`."""
    result_status: str = ""
    """Said as the status of every result instead of the true one."""

    decide_code: int = 204
    """200 is what older daemons say."""
    decide_error: int = 0
    """Count of decisions that end with 500 `decide_error`, not applied."""
    approvals_disabled: bool = False
    """No queue: 503, and an empty list."""
    sessions_disabled: bool = False
    webapp: bool = True
    """Unknown paths give the webapp's HTML; without it, a plain 404."""
    unprotected: bool = False
    """No token is asked for; read at the start, for `daemon.json` has none then."""

    delay: dict[str, float] = field(default_factory=dict)
    """Route -> seconds before anything is done."""
    reply_delay: dict[str, float] = field(default_factory=dict)
    """Route -> seconds between doing and replying."""
    hang_up: dict[str, int] = field(default_factory=dict)
    """Route -> count of connections closed with nothing done and nothing said."""
    lose_reply: dict[str, int] = field(default_factory=dict)
    """Route -> count of connections closed after it was done, with nothing said."""
    garbage: dict[str, str] = field(default_factory=dict)
    """Route -> how its valid replies are corrupted; see `garbage.py`. On `watch`, every frame."""
    huge_bytes: int = 64 * 1024 * 1024
    answers: dict[str, Object] = field(default_factory=dict)
    """Route -> {status, body?, type?, headers?, times?}: said instead, with nothing done."""

    vault: str = "unlocked"
    """missing, locked, unlocked or dev."""
    passphrase: str = "open sesame"
    listener: bool = True
    """Whether a session has somebody to send its messages; without, `comms/send` is refused."""
    credential: str = "example-api"
    """What the daemon adds to the http requests of agents; "" is none."""
    linger: float = 0.0
    """Seconds that open streams, and the process, go on after the listener is closed; 30 in a real daemon."""
    run_time: float = 0.0
    """Seconds an approved action runs."""
    hold_start: bool = False
    """Approved actions are not started; they are said to be running."""
    shell_wait: float = 300.0
    """Seconds a shell waits for its answer; then it is gone and its entry is stale."""

    def turn(self, changes: Object) -> None:
        """Sets some; raises ValueError for one that does not exist."""
        known = {one.name for one in fields(self)}
        if unknown := changes.keys() - known:
            raise ValueError(f"no such switch: {', '.join(sorted(unknown))}")
        for name in ("delay", "reply_delay", "hang_up", "lose_reply", "garbage", "answers"):
            if wrong := changes.get(name, {}).keys() - ROUTES - {"*"}:
                raise ValueError(f"no such route: {', '.join(sorted(wrong))}")
        for name, value in changes.items():
            setattr(self, name, value)

    def take(self, name: str, route: str = "") -> bool:
        """Whether it happens now; one of its count is used up."""
        if not route:
            left = getattr(self, name)
            if left > 0:
                setattr(self, name, left - 1)
            return bool(left)
        counts: dict[str, int] = getattr(self, name)
        for key in (route, "*"):
            left = counts.get(key, 0)
            if left > 0:
                counts[key] = left - 1
            if left:
                return True
        return False

    def of_route(self, name: str, route: str) -> Any:
        """What is set for a route or for all of them; None."""
        values = getattr(self, name)
        return values.get(route, values.get("*"))


class Chances:
    """The dice of the switches; the same seed throws the same."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._dice: random.Random | None = None
        self._seed = 0

    def copies(self) -> int:
        """How often one subscriber gets one event."""
        if not self._switches.drop_chance and not self._switches.duplicate_chance:
            return 1
        if self._dice is None or self._seed != self._switches.chance_seed:
            self._seed = self._switches.chance_seed
            self._dice = random.Random(self._seed)
        if self._dice.random() < self._switches.drop_chance:
            return 0
        return 2 if self._dice.random() < self._switches.duplicate_chance else 1
