"""The queue of approvals: registration, the single decision for each, its outcome, and what a restart changes."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.daemon.entries import (
    ACTION_NAMES,
    APPROVED,
    AWAITING,
    COMPLETED,
    DENIED,
    FAILED,
    OUTCOMES,
    PENDING,
    RECONCILE,
    RUNNING,
    Entry,
    labelled,
    new_id,
)
from tests.daemon.gotext import Object, from_go_time, go_time
from tests.daemon.records import STATE, Audit, Journal, Witness, write_private
from tests.daemon.samples import ACTIONS, BINDINGS, REQUESTS, SESSION, SESSIONS
from tests.daemon.streams import Streams
from tests.daemon.switches import Switches

POLICIES = {"project": "allow_project", "user": "allow_user"}


class Unknown(Exception):
    """No such request, or it is decided."""


class Queue:
    """All requests of one home."""

    def __init__(self, home: Path, switches: Switches) -> None:
        state = home / STATE
        self.switches = switches
        self.streams = Streams(switches)
        self.audit = Audit(state)
        self.witness = Witness(home)
        self._known = home / "known.json"
        known = json.loads(self._known.read_bytes()) if self._known.exists() else {}
        self.actions: list[Object] = known.get("actions", list(ACTIONS))
        self.sessions: list[Object] = known.get("sessions", list(SESSIONS))
        self.bindings: list[Object] = known.get("bindings", list(BINDINGS))
        self.unlocks = 0
        self._journal = Journal(state)
        self._entries: dict[str, Entry] = {}
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._work: set[asyncio.Task[None]] = set()
        for entry in self._journal.read():
            self._entries[entry.id] = entry
            self._revive(entry)

    # Reading

    def pending(self) -> list[Entry]:
        """What waits, oldest first."""
        waiting = [entry for entry in self._entries.values() if entry.status == PENDING]
        return sorted(waiting, key=lambda entry: entry.requested_ns)

    def items(self) -> list[Object]:
        """The same in the API's JSON."""
        return [entry.pending(self.switches) for entry in self.pending()]

    def entry(self, id_: str) -> Entry:
        """A request in any state; raises Unknown."""
        try:
            return self._entries[id_]
        except KeyError:
            raise Unknown(id_) from None

    def action(self, name: str) -> Object | None:
        return next((one for one in self.actions if one["name"] == name), None)

    def remember(self) -> None:
        """Keeps actions, sessions and bindings for the next life."""
        write_private(self._known, {"actions": self.actions, "sessions": self.sessions, "bindings": self.bindings})

    def now(self) -> str:
        return go_time(time.time_ns(), self.switches.offset)

    # Asking

    def register(self, kind: str = "action", *, seeded: bool = False, **fields: Any) -> Entry:
        """A new request. Fields not given are those of the sample of this kind. A seeded one is not audited."""
        sample = {} if "action_name" in fields and kind == "action" else REQUESTS.get(kind, {})
        given: Object = {"session_id": SESSION, **sample, **fields}
        now = time.time_ns()
        if at := given.pop("requested_at", ""):
            given |= {"requested_at": at, "requested_ns": from_go_time(at)}
        else:
            given |= {"requested_at": go_time(now, self.switches.offset), "requested_ns": now}
        given.setdefault("id", new_id(now))
        given.setdefault("action_name", ACTION_NAMES.get(kind, kind))
        if "input_fields" not in given:
            manifest = self.action(given["action_name"]) if kind == "action" else None
            given["input_fields"] = labelled(given.get("args", {}), (manifest or {}).get("inputs", []))
        entry = Entry(kind=kind, **given)
        if entry.outcome not in OUTCOMES:
            raise ValueError(f"no such outcome: {entry.outcome!r}")
        self._entries[entry.id] = entry
        self._journal.keep(entry)
        if not seeded:
            self.audit.add("approval.requested", ("agent", "agent"), self._facts(entry), entry.requested_at)
        self.streams.publish("pending", entry.pending(self.switches))
        return entry

    async def shell(self, session: str, args: Object) -> str:
        """A shell that waits for its answer. Past its patience it is gone, and the entry stays."""
        entry = self.register("shell", args=args, session_id=session)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[entry.id] = answer
        try:
            return await asyncio.wait_for(answer, self.switches.shell_wait)
        except TimeoutError:
            entry.live = False
            self._journal.keep(entry)
            return "deny"
        finally:
            del self._waiting[entry.id]

    # Deciding

    def decide(
        self, id_: str, *, approved: bool, reason: str = "", payload: Object | None = None, silently: bool = False
    ) -> Entry:
        """The first decision counts; raises Unknown for every other."""
        entry = self.entry(id_)
        if entry.status != PENDING:
            raise Unknown(id_)
        now = time.time_ns()
        entry.decided_at = go_time(now, self.switches.offset)
        entry.edited_payload = payload
        entry.status = APPROVED if approved else DENIED
        entry.deny_reason = "" if approved else reason
        self._journal.keep(entry)
        facts = self._facts(entry) | {
            "aileron.approval.decision": "approved" if approved else "denied",
            "aileron.approval.edited": payload is not None,
            "aileron.approval.wait_ms": max(0, (now - entry.requested_ns) // 1_000_000),
        }
        if reason:
            facts["aileron.approval.reason"] = reason
        self.audit.add(f"approval.{'approved' if approved else 'denied'}", ("human", "user"), facts, entry.decided_at)
        if not silently:
            self._tell(entry, approved=approved, reason=reason)
        if entry.kind == "shell":
            self._answer_shell(entry, approved=approved)
        elif approved:
            self._start(entry)
        return entry

    def forget(self, *ids: str) -> None:
        """As if they had never been, without a word to anybody; all of them if none is named."""
        for id_ in ids or list(self._entries):
            self.entry(id_).live = False
            del self._entries[id_]
        self._journal.compact(list(self._entries.values()))

    # Running

    def unlocked(self) -> None:
        """The vault is open: what waited for it starts."""
        for entry in self._entries.values():
            if entry.status == AWAITING:
                self._start(entry)

    def released(self) -> None:
        """Held starts go on."""
        for entry in self._entries.values():
            if entry.status == APPROVED and entry.kind != "shell":
                self._start(entry)

    def finish(self, id_: str, outcome: str = "completed", **said: Any) -> None:
        """The end of a run that has none of its own; `said` are result, failure or error_message."""
        entry = self.entry(id_)
        if entry.status not in (RUNNING, APPROVED):
            raise ValueError(f"{id_} is {entry.status}")
        for name, value in said.items():
            setattr(entry, name, value)
        self._end(entry, outcome)

    def close(self, *, compact: bool) -> None:
        for task in self._work:
            task.cancel()
        if compact:
            self._journal.compact(list(self._entries.values()))
        for file in (self._journal, self.audit, self.witness):
            file.close()

    def _start(self, entry: Entry) -> None:
        if not entry.live or entry.outcome == "nothing" or self.switches.hold_start:
            return
        if self.switches.vault == "locked" and entry.kind == "action":
            self._step(entry, AWAITING)
            return
        self._step(entry, RUNNING)
        self.witness.effect(entry, args=self._sent(entry))
        wait = self.switches.run_time if entry.run_time is None else entry.run_time
        if entry.outcome == "running":
            return
        if wait:
            self._later(wait, lambda: self._end(entry, entry.outcome))
        else:
            self._end(entry, entry.outcome)

    def _end(self, entry: Entry, outcome: str) -> None:
        if entry.status not in (RUNNING, APPROVED):
            return
        if outcome == "completed":
            entry.audit_id = str(uuid.uuid4())
            self._step(entry, COMPLETED)
            return
        self._step(entry, FAILED)

    def _step(self, entry: Entry, status: str) -> None:
        entry.status = status
        self._journal.keep(entry)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            work()

        task = asyncio.get_running_loop().create_task(wait())
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _revive(self, entry: Entry) -> None:
        """What a new start makes of an old entry: only actions are taken up again, and none that was running."""
        if entry.kind != "action":
            entry.live = False
        if entry.status == RUNNING:
            entry.failure, entry.error_message = None, RECONCILE
            self._step(entry, FAILED)
        elif entry.status in (APPROVED, AWAITING):
            entry.status = APPROVED
            self._start(entry)

    # Telling

    def _tell(self, entry: Entry, *, approved: bool, reason: str) -> None:
        told: Object = {"id": entry.id}
        if not (self.switches.omit_kind or self.switches.resolved_without_kind):
            told["kind"] = entry.kind
        told["approved"] = approved
        if reason:
            told["reason"] = reason
        self.streams.publish("resolved", told | {"decided_at": entry.decided_at})

    def _answer_shell(self, entry: Entry, *, approved: bool) -> None:
        policy = (entry.edited_payload or {}).get("save_policy")
        decision = POLICIES.get(str(policy), "allow_once") if approved else "deny"
        if approved and entry.live:
            self.witness.effect(entry, decision=decision)
        waiting = self._waiting.get(entry.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(decision)

    @staticmethod
    def _sent(entry: Entry) -> Object:
        """The arguments that take effect: only a draft can be changed by its reviewer."""
        body = (entry.edited_payload or {}).get("body")
        if entry.kind == "comms_draft" and isinstance(body, str) and body:
            return entry.args | {"draft_body": body}
        return entry.args

    @staticmethod
    def _facts(entry: Entry) -> Object:
        facts: Object = {
            "aileron.approval.id": entry.id,
            "aileron.approval.kind": entry.kind,
            "aileron.approval.action": entry.action_name,
        }
        if entry.connector_fqn:
            facts["aileron.connector.fqn"] = entry.connector_fqn
        if entry.session_id:
            facts["aileron.session.id"] = entry.session_id
        return facts
