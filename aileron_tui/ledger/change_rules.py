"""Which changes a ledger takes: of keys, agents, rules, packages, bindings and publishers.

It also checks the counters of security keys. What is signed must be signed over this ledger. The signatures themselves
are verified by those who read the entries.
"""

from contextlib import suppress

from aileron_tui.core.agent_change import AGENT_CHANGES, read_change
from aileron_tui.core.agent_change import objection as agent_objection
from aileron_tui.core.authenticator_data import counter_problem, recorded_counter
from aileron_tui.core.binding_change import BINDING_CHANGES, Binding, check_declined
from aileron_tui.core.binding_change import read_change as read_binding_change
from aileron_tui.core.binding_change import reuse as binding_reuse
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonError
from aileron_tui.core.key_change import KEY_CHANGES, needs_signature, recorded_key_change
from aileron_tui.core.package_change import PACKAGE_CHANGES, mismatch, read_declined, reuse
from aileron_tui.core.package_change import read_change as read_package_change
from aileron_tui.core.publisher_change import PUBLISHER_CHANGES
from aileron_tui.core.publisher_change import read_change as read_publisher_change
from aileron_tui.core.reduction import read_reduction
from aileron_tui.core.restoration import read_restoration
from aileron_tui.core.rule_change import HEAD_WINDOW, RULE_CHANGES
from aileron_tui.core.rule_change import objection as rule_objection
from aileron_tui.core.rule_change import read_change as read_rule_change
from aileron_tui.core.signed_change import HEAD_WINDOW as CHANGE_HEAD_WINDOW
from aileron_tui.ledger.errors import EntryRefused
from aileron_tui.ledger.store import RequestLookup


def admit_change(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a change that must not be appended, and whatever a copied security key signed."""
    if "envelope" in entry.body:
        _admit_counter(ledger, entry)
    if entry.kind in KEY_CHANGES:
        _admit_key_change(ledger, entry)
    if entry.kind in AGENT_CHANGES:
        _admit_agent_change(ledger, entry)
    if entry.kind in RULE_CHANGES:
        _admit_rule_change(ledger, entry)
    if entry.kind in PACKAGE_CHANGES:
        _admit_package_change(ledger, entry)
    if entry.kind in BINDING_CHANGES:
        _admit_binding_change(ledger, entry)
    if entry.kind in PUBLISHER_CHANGES:
        _admit_publisher_change(ledger, entry)
    if entry.kind == EntryKind.RESTORED:
        _admit_restoration(ledger, entry)
    if entry.kind == EntryKind.REDUCED:
        _admit_reduction(entry)


def _admit_counter(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses what a security key signed with a counter that it already had. Its readers verify the signature."""
    counted = recorded_counter(entry)
    if counted and (why := counter_problem(ledger.counter(counted[0]), counted[1])):
        raise EntryRefused("the security key may have been copied", why)


def _admit_key_change(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a change that is not signed over the last entry but must be. Its readers verify the signature."""
    try:
        signed = recorded_key_change(entry)
    except JsonError as error:
        raise EntryRefused("the change to a key is not valid", str(error)) from None
    if signed is None:
        if needs_signature(ledger.key_changes()):
            raise EntryRefused("the change to a key is not signed", "only a key that may approve can change keys")
        return
    change, signer, _ = signed
    if ledger.position(change.head, entry.seq - 1, entry.seq) is None or ledger.position(change.ledger, 1, 2) is None:
        raise EntryRefused("the change to a key was not signed over the head of this ledger", change.head)
    latest = {str(other.body.get("fingerprint")): other.kind for other in ledger.key_changes()}
    if latest.get(signer) != EntryKind.KEY_ENROLLED:
        raise EntryRefused("the change to a key was not signed by a key that may approve", signer)


def _admit_agent_change(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a change that does not fit those before it. Its readers verify the signature."""
    latest = {str(change.body.get("name")): EntryKind(change.kind) for change in ledger.agent_changes()}
    try:
        change, envelope = read_change(entry)
    except JsonError as error:
        raise EntryRefused("the change to an agent is not valid", str(error)) from None
    if why := agent_objection(latest, change, signed=envelope is not None):
        raise EntryRefused("the agent cannot be changed", why)
    if envelope is not None and ledger.position(change.head, entry.seq - 1, entry.seq) is None:
        raise EntryRefused("the change to an agent was not signed over the head of the ledger", change.head)


def _admit_rule_change(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a change that does not fit those before it. Its readers verify the signature."""
    try:
        change, _ = read_rule_change(entry)
    except JsonError as error:
        raise EntryRefused("the change to a rule is not valid", str(error)) from None
    earlier = ledger.rule_changes(change.id)
    if why := rule_objection({change.id: EntryKind(earlier[-1].kind)} if earlier else {}, change, entry.time):
        raise EntryRefused("the rule cannot be changed", why)
    if ledger.position(change.head, max(1, entry.seq - HEAD_WINDOW), entry.seq) is None:
        raise EntryRefused("the change to a rule was not signed over a recent head of the ledger", change.head)


def _admit_package_change(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a change that was made already or that cannot fit those before it.

    Its readers verify the signatures. Until then, any earlier entry may be a forged one that changed nothing; it must
    not keep anybody from removing a package.
    """
    installed: dict[str, set[str]] = {}
    used: set[str] = set()
    try:
        if entry.kind == EntryKind.PACKAGE_DECLINED:
            read_declined(entry)
            return
        change, _ = read_package_change(entry)
    except JsonError as error:
        raise EntryRefused("the change to packages is not valid", str(error)) from None
    for earlier in ledger.package_changes():
        with suppress(JsonError):
            before, _ = read_package_change(earlier)
            used.add(before.id)
            for grant in before.added:
                installed.setdefault(grant.name, set()).add(grant.hash)
    for name, expected in change.expected.items():
        if expected and expected not in installed.get(name, ()):
            raise EntryRefused("the packages cannot be changed", mismatch(name, expected))
    if why := reuse(used, change, entry.time):
        raise EntryRefused("the packages cannot be changed", why)
    if ledger.position(change.head, max(1, entry.seq - CHANGE_HEAD_WINDOW), entry.seq) is None:
        raise EntryRefused("the change to packages was not signed over a recent head of the ledger", change.head)


def _admit_binding_change(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a change that was made already or that cannot fit those before it.

    As with packages, any earlier entry may be a forged one; it must not keep anybody from ending a binding.
    """
    try:
        if entry.kind == EntryKind.BINDING_DECLINED:
            check_declined(entry)
            return
        change, _ = read_binding_change(entry)
    except JsonError as error:
        raise EntryRefused("the change to a binding is not valid", str(error)) from None
    made: list[Binding] = []
    for before in ledger.binding_changes():
        if before.kind == EntryKind.BINDING_MADE:
            with suppress(JsonError):
                made.append(read_binding_change(before)[0].binding)
    binding, ids = change.binding, {each.id for each in made}
    if entry.kind == EntryKind.BINDING_ENDED and binding not in made:
        raise EntryRefused("the binding cannot be changed", f"the binding {binding.id} was never made")
    if entry.kind == EntryKind.BINDING_MADE and binding.replaces and binding.replaces not in ids:
        raise EntryRefused("the binding cannot be changed", f"the binding {binding.replaces} was never made")
    if why := binding_reuse(ids, change, entry.time):
        raise EntryRefused("the binding cannot be changed", why)
    if ledger.position(change.head, max(1, entry.seq - CHANGE_HEAD_WINDOW), entry.seq) is None:
        raise EntryRefused("the change to a binding was not signed over a recent head of the ledger", change.head)


def _admit_publisher_change(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a change that is not signed over the last entry. Its readers verify the signature."""
    try:
        change, _ = read_publisher_change(entry)
    except JsonError as error:
        raise EntryRefused("the change to a publisher is not valid", str(error)) from None
    if ledger.position(change.head, entry.seq - 1, entry.seq) is None:
        raise EntryRefused("the change to a publisher was not signed over the head of the ledger", change.head)


def _admit_reduction(entry: Entry) -> None:
    try:
        read_reduction(entry)
    except JsonError as error:
        raise EntryRefused("the record of the reduction is not valid", str(error)) from None


def _admit_restoration(ledger: RequestLookup, entry: Entry) -> None:
    """Refuses a restoration that is not signed over the last entry. Its readers verify the signature."""
    try:
        restoration, _ = read_restoration(entry)
    except JsonError as error:
        raise EntryRefused("the restoration is not valid", str(error)) from None
    if ledger.position(restoration.head, entry.seq - 1, entry.seq) is None:
        raise EntryRefused("the restoration was not signed over the head of the ledger", restoration.head)
