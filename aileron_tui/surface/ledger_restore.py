"""Restores the ledger of a gate from a backup.

The history comes from the backup. In force afterwards is only what both the backup and the present ledger allow: keys
and agents that were revoked since stay revoked, replaced tokens stay replaced, ended rules and bindings stay ended, and
removed packages stay removed. An approver signs each of these changes, and the restoration itself. Requests that had
not ended in the backup end, so nothing that was restored can run.

All of this happens in a copy, which then takes the place of the ledger in one step.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from aileron_tui.core.agent_change import AgentChange
from aileron_tui.core.binding_change import Binding
from aileron_tui.core.binding_change import ended as ended_binding
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.package_change import PackageRef
from aileron_tui.core.package_change import removed as removed_packages
from aileron_tui.core.restoration import Restoration
from aileron_tui.core.rule_change import ended as ended_rule
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.files.agent_tokens import agents_with_tokens, write_approvers
from aileron_tui.files.private_files import private_folder
from aileron_tui.ledger.checkpoint import checkpoint_path
from aileron_tui.ledger.entry_check import CheckReport
from aileron_tui.ledger.head import Head
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.open_store import open_ledger, open_reader, replacing
from aileron_tui.ledger.quick_check import QuickCheck
from aileron_tui.ledger.store import EntryDraft, Ledger, LedgerReader, LedgerReplacement, LedgerView
from aileron_tui.runtime.signed_key_changes import signed_revocation
from aileron_tui.signing.agents import Agents
from aileron_tui.signing.approvers import Approvers, approver_lines
from aileron_tui.signing.bindings import Bindings
from aileron_tui.signing.envelope import Signable, sign
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.packages import Packages
from aileron_tui.signing.recorded_signers import RecordedSigners
from aileron_tui.signing.restorations import RestorationFault
from aileron_tui.signing.rules import Rules
from aileron_tui.surface.ledger_backup import Progress

_FOLDER: Final = ".restoring"
_ENDS: Final = {
    RequestState.PENDING: EntryKind.EXPIRED,
    RequestState.APPROVED: EntryKind.WITHDRAWN,
    RequestState.RUNNING: EntryKind.UNKNOWN,
}
_WHY: Final = "the ledger was restored from a backup"


class _Change(Signable, Protocol):
    """A change that is signed and recorded."""

    def body(self, envelope: JsonObject) -> JsonObject:
        """The body of the ledger entry."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What changes in a backup so that it is in force only as far as the present ledger allows.

    `known` is False if the present ledger has no keys, so that nobody knows what was revoked since. `replaced` is its
    head, if there is one. `keys` are fingerprints, `tokens` the agents whose present tokens stay, with the hashes of
    the tokens, and `requests` those that had not ended. `later` names what was added since, and is no longer there.
    """

    known: bool
    replaced: Head | None
    keys: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    tokens: tuple[tuple[str, str], ...] = ()
    rules: tuple[str, ...] = ()
    packages: tuple[PackageRef, ...] = ()
    bindings: tuple[Binding, ...] = ()
    requests: tuple[tuple[str, RequestState], ...] = ()
    later: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Restore:
    """A backup that was copied and verified, and can take the place of the ledger."""

    ledger: Path
    draft: Path
    report: CheckReport
    plan: RestorePlan
    replacement: LedgerReplacement

    def finish(self, key: UnlockedKey, checkpoints: Path) -> Path | None:
        """Restores the backup, signed with a key. Returns the file with the ledger that was replaced, if any."""
        with open_ledger(self.draft, role="history restore") as restored:
            _check_key(restored, key, self.ledger if self.plan.known else None)
            _carry_over(restored, key, self.plan)
        data = self.ledger.parent
        kept = data / f"ledger-{utc_now():%Y%m%dT%H%M%S.%fZ}.db" if self.plan.replaced else None
        self.replacement.replace(self.draft, kept or data)
        with open_reader(self.ledger) as reader:
            if stale := checkpoint_path(checkpoints, reader):
                stale.unlink(missing_ok=True)
            lines = approver_lines(Approvers.of(reader.key_changes()))
        for agent in agents_with_tokens(data):
            write_approvers(data, agent, lines)
        return kept


@contextmanager
def restoring(ledger: Path, backup: Path, copying: Progress, checking: Progress) -> Iterator[Restore]:
    """Copies and verifies a backup, while nobody can write the ledger. Raises LedgerHeld if a gate runs."""
    with replacing(ledger) as replacement:
        folder = ledger.parent / _FOLDER
        shutil.rmtree(folder, ignore_errors=True)  # of a restoration that was killed
        draft = private_folder(folder) / ledger.name
        try:
            with open_reader(backup, foreign=True) as source:
                source.copy_to(draft, copying)
            with open_reader(draft) as copy:
                report, _ = QuickCheck(RecordedSigners, None, checking).run(copy)
                if report.fault:
                    fault = report.fault
                    raise RestorationFault(
                        "the backup is damaged, so nothing was restored", f"entry {fault.seq}: {fault.damage}"
                    )
            open_ledger(draft, role="history restore").close()  # brings an older one up to date
            with open_reader(draft) as copy:
                plan = _plan(copy, ledger)
            yield Restore(ledger, draft, report, plan, replacement)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _plan(backup: LedgerReader, ledger: Path) -> RestorePlan:
    wanted = HistoryFilter(outcomes=tuple(_ENDS))
    requests = tuple((record.id, RequestState(record.outcome)) for record in backup.every(wanted) if not record.daemon)
    rules = tuple(id_ for id_, rule in Rules.of(backup).items() if not rule.ended)
    if not ledger.exists():
        return RestorePlan(known=False, replaced=None, rules=rules, requests=requests)
    with open_reader(ledger) as present:
        approvers, head = Approvers.of(present.key_changes()), present.head()
        if not approvers:
            return RestorePlan(known=False, replaced=head, rules=rules, requests=requests)
        old = Approvers.of(backup.key_changes())
        lists = _agents(Agents.of(backup), Agents.of(present))
        packages, later_packages = _packages(Packages.of(backup), Packages.of(present))
        bindings, later_bindings = _bindings(Bindings.of(backup), Bindings.of(present))
        in_force = {id_ for id_, rule in Rules.of(present).items() if not rule.ended}
    gone = {print_ for print_, approver in approvers.items() if approver.revoked}
    active = {approver.public.fingerprint: approver.name for approver in old.active}
    later = [f"the key {approver.name}" for approver in approvers.active if approver.public.fingerprint not in active]
    return RestorePlan(
        known=True,
        replaced=head,
        keys=tuple(print_ for print_ in active if print_ in gone),
        agents=lists[0],
        tokens=lists[1],
        rules=tuple(id_ for id_ in rules if id_ not in in_force),
        packages=packages,
        bindings=bindings,
        requests=requests,
        later=(*later, *lists[2], *later_packages, *later_bindings),
        names=active,
    )


def _agents(old: Agents, present: Agents) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The agents to revoke, those whose present tokens stay, and those that are only in the present ledger."""
    revoked = tuple(agent.name for agent in old.active if present.is_revoked(agent.name))
    tokens = tuple(
        (agent.name, present[agent.name].token)
        for agent in old.active
        if agent.name in present and present[agent.name].token not in ("", agent.token)
    )
    return revoked, tokens, tuple(f"the agent {agent.name}" for agent in present.active if agent.name not in old)


def _packages(old: Packages, present: Packages) -> tuple[tuple[PackageRef, ...], tuple[str, ...]]:
    """The packages that are not installed now, or in another version, and those only the present ledger has."""
    hashes = {name: known.grant.hash for name, known in present.items()}
    grants = [known.grant for name, known in old.items() if hashes.get(name) != known.grant.hash]
    before = {name: known.grant.hash for name, known in old.items()}
    later = tuple(f"the package {name}" for name, hash_ in hashes.items() if before.get(name) != hash_)
    return tuple(PackageRef(grant.name, grant.version, grant.hash) for grant in grants), later


def _bindings(old: Bindings, present: Bindings) -> tuple[tuple[Binding, ...], tuple[str, ...]]:
    """The bindings that are not in force now, and the accounts that only the present ledger has."""
    before, now = ({known.binding.id: known.binding for known in bindings.values()} for bindings in (old, present))
    ended = tuple(binding for id_, binding in before.items() if id_ not in now)
    later = [binding for id_, binding in now.items() if id_ not in before]
    return ended, tuple(f"the account {binding.account} of {binding.connector}" for binding in later)


def _check_key(restored: Ledger, key: UnlockedKey, ledger: Path | None) -> None:
    """Refuses a key that could not approve when the backup was made, or may not now."""
    for path, when in ((restored.path, "when the backup was made"), (ledger, "now")):
        if path is None:
            continue
        with open_reader(path) as reader:
            known = Approvers.of(reader.key_changes()).get(key.public.fingerprint)
        if known is None or known.revoked:
            hint = "Choose a key with --key that may approve now and could when the backup was made."
            raise RestorationFault(f"the key {key.name} may not approve {when}", "nothing was restored", hint)


def _carry_over(restored: Ledger, key: UnlockedKey, plan: RestorePlan) -> None:
    """Records the restoration and everything that follows from it. Rules go first: they end with their signer's key."""
    for kind, make in _changes(plan):
        restored.append_given(partial(_signed, kind, make, key))
    for fingerprint in plan.keys:
        restored.append_given(partial(_revocation, fingerprint, key))
    restored.append_all([EntryDraft(_ENDS[state], {"error": _WHY}, request) for request, state in plan.requests])


def _changes(plan: RestorePlan) -> Iterator[tuple[EntryKind, Callable[[str, str], _Change]]]:
    """Each change to sign, given the head of the ledger and the time."""
    replaced = str(plan.replaced) if plan.replaced else ""
    yield EntryKind.RESTORED, lambda head, now: Restoration(head, replaced, now)
    for id_ in plan.rules:
        yield EntryKind.RULE_ENDED, partial(ended_rule, id_)
    if plan.packages:
        yield EntryKind.PACKAGE_REMOVED, partial(removed_packages, plan.packages)
    for binding in plan.bindings:
        yield EntryKind.BINDING_ENDED, partial(ended_binding, binding)
    for name in plan.agents:
        yield EntryKind.AGENT_REVOKED, partial(AgentChange, EntryKind.AGENT_REVOKED, name, "")
    for name, token in plan.tokens:
        yield EntryKind.AGENT_ROTATED, partial(AgentChange, EntryKind.AGENT_ROTATED, name, token)


def _signed(
    kind: EntryKind, make: Callable[[str, str], _Change], key: UnlockedKey, view: LedgerView
) -> Sequence[EntryDraft]:
    change = make(view.head().hash, timestamp(utc_now()))
    return [EntryDraft(kind, change.body(sign(change, key).fields()))]


def _revocation(fingerprint: str, key: UnlockedKey, view: LedgerView) -> Sequence[EntryDraft]:
    return [signed_revocation(view, fingerprint, key)]
