"""Extended deadlines in the ledger: refused where they would be written, and found by verification."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aileron_tui.core.deadline_extension import Extension
from aileron_tui.core.decision import Verdict
from aileron_tui.core.entry_chain import Damage
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.states import InvalidTransition
from aileron_tui.core.times import moment, timestamp
from aileron_tui.ledger.errors import DeadlinePassed, EntryRefused
from aileron_tui.ledger.request_deadline import RequestDeadline, current_deadline
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.signing.envelope import sign
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from tests.ledger.scenes import START, Scene, check
from tests.ledger.test_deadlines import FakeBoot

EXPIRES = START + timedelta(minutes=5)
LATEST = START + timedelta(minutes=12)


def ask(scene: Scene, request: str = "act-1", boot: FakeBoot | None = None, **args: str) -> None:
    """Records a request that can wait until 10:05, and be extended until 10:12."""
    deadline = RequestDeadline(EXPIRES, boot.boot, int((boot.now + 300) * 1000), LATEST) if boot else None
    body = (deadline or RequestDeadline(EXPIRES, latest=LATEST)).body()
    scene.ledger.append(EntryKind.REQUESTED, {"action": "send-draft", "args": dict(args), **body}, request)


def extension(scene: Scene, request: str = "act-1", **changes: Any) -> Extension:
    made = Extension(
        request=request,
        instance="gate-1",
        before=timestamp(EXPIRES),
        expires=timestamp(EXPIRES + timedelta(minutes=5)),
        surface="console",
        time=timestamp(scene.clock.now),
        head=scene.ledger.head.hash,
    )
    return replace(made, **changes)


def body(signed: Extension, key: UnlockedKey) -> JsonObject:
    return {"envelope": sign(signed, key).fields()}


def extend(scene: Scene, **changes: Any) -> None:
    scene.ledger.append(EntryKind.EXTENDED, body(extension(scene, **changes), scene.key), "act-1")


def test_a_request_can_be_approved_until_its_extended_deadline_by_both_clocks(scene: Scene) -> None:
    boot = FakeBoot()
    scene.reopen(boot.clock)
    ask(scene, boot=boot)
    extend(scene)
    boot.now += 599
    scene.clock.now = EXPIRES + timedelta(minutes=4)
    scene.decide("act-1")
    assert check(scene.close(), noted=True).fault is None


@pytest.mark.parametrize("clock", ["wall", "boot", "restart"])
def test_an_extended_deadline_passes_too(scene: Scene, clock: str) -> None:
    boot = FakeBoot()
    scene.reopen(boot.clock)
    ask(scene, boot=boot)
    extend(scene)
    if clock == "wall":
        scene.clock.now = EXPIRES + timedelta(minutes=5)
    elif clock == "boot":
        boot.now += 601
    else:
        boot.boot = "boot-2"
        scene.reopen(boot.clock)
    with pytest.raises(DeadlinePassed):
        scene.decide("act-1")
    with pytest.raises(DeadlinePassed):
        extend(scene, before=timestamp(EXPIRES + timedelta(minutes=5)), expires=timestamp(LATEST))
    scene.decide("act-1", Verdict.DENY)


def test_the_last_extension_is_as_long_as_is_left(scene: Scene) -> None:
    ask(scene)
    extend(scene)
    later = timestamp(EXPIRES + timedelta(minutes=5))
    with pytest.raises(EntryRefused, match="the next deadline is"):
        extend(scene, before=later, expires=timestamp(EXPIRES + timedelta(minutes=10)))
    extend(scene, before=later, expires=timestamp(LATEST))
    with pytest.raises(EntryRefused, match="waits as long as it may"):
        extend(scene, before=timestamp(LATEST), expires=timestamp(LATEST + timedelta(minutes=5)))
    with SqliteReader(scene.close()) as reader:
        made, *rest = reader.of_request("act-1")
        deadline = current_deadline(made, rest)
        assert deadline is not None
        assert deadline.expires == LATEST
        assert tuple(rest) == reader.extensions("act-1")
    assert check(scene.ledger.path, noted=True).fault is None


REFUSED = {
    "another request": {"request": "act-2"},
    "a repeated one": {"before": timestamp(EXPIRES - timedelta(minutes=5)), "expires": timestamp(EXPIRES)},
    "too long": {"expires": timestamp(EXPIRES + timedelta(minutes=6))},
    "beyond the limit": {"expires": timestamp(LATEST + timedelta(seconds=1))},
    "a foreign head": {"head": "sha256:" + "ab" * 32},
}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED)
def test_an_extension_that_does_not_fit_is_refused_and_found(scene: Scene, changes: dict[str, str]) -> None:
    scene.ask("act-2")
    ask(scene)
    signed = body(extension(scene, **changes), scene.key)
    with pytest.raises(EntryRefused):
        scene.ledger.append(EntryKind.EXTENDED, signed, "act-1")
    scene.forge(EntryKind.EXTENDED, "act-1", signed)
    fault = check(scene.close()).fault
    assert fault is not None
    assert fault.seq == 4
    assert fault.damage in (Damage.SIGNATURE, Damage.HEAD)


@pytest.mark.parametrize(
    ("case", "damage"), [("stranger", Damage.KEY), ("decision", Damage.SIGNATURE), ("nothing", Damage.SIGNATURE)]
)
def test_an_extension_that_no_approver_signed_is_found(scene: Scene, case: str, damage: Damage) -> None:
    ask(scene)
    wrong: dict[str, JsonObject] = {
        "stranger": body(extension(scene), for_this_run("stranger")),
        "decision": {"envelope": sign(scene.statement("act-1"), scene.key).fields()},
        "nothing": {},
    }
    scene.forge(EntryKind.EXTENDED, "act-1", wrong[case])
    fault = check(scene.close()).fault
    assert fault is not None
    assert (fault.seq, fault.damage) == (3, damage)


def test_an_extension_needs_its_envelope(scene: Scene) -> None:
    ask(scene)
    with pytest.raises(EntryRefused, match="needs its signed envelope"):
        scene.ledger.append(EntryKind.EXTENDED, {}, "act-1")


def test_a_revoked_key_extends_nothing(scene: Scene) -> None:
    ask(scene)
    scene.revoke(scene.key)
    scene.forge(EntryKind.EXTENDED, "act-1", body(extension(scene), scene.key))
    fault = check(scene.close()).fault
    assert fault is not None
    assert fault.damage is Damage.KEY


def test_an_extension_that_came_too_late_is_found(scene: Scene) -> None:
    ask(scene)
    signed = body(extension(scene), scene.key)
    scene.clock.now = EXPIRES
    with pytest.raises(DeadlinePassed):
        scene.ledger.append(EntryKind.EXTENDED, signed, "act-1")
    scene.forge(EntryKind.EXTENDED, "act-1", signed)
    fault = check(scene.close()).fault
    assert fault is not None
    assert "had ended" in fault.detail


def test_only_a_waiting_request_of_a_gate_is_extended(scene: Scene) -> None:
    with pytest.raises(InvalidTransition):
        extend(scene)
    scene.ask_daemon("act-d", expires=timestamp(EXPIRES), latest=timestamp(LATEST))
    signed = body(extension(scene, "act-d"), scene.key)
    with pytest.raises(EntryRefused, match="no deadline that can be extended"):
        scene.ledger.append(EntryKind.EXTENDED, signed, "act-d")
    ask(scene)
    scene.decide("act-1", Verdict.DENY)
    with pytest.raises(InvalidTransition):
        extend(scene)
    assert check(scene.close(), noted=True).fault is None


def test_requests_of_older_versions_are_not_extended(scene: Scene) -> None:
    scene.ledger.append(EntryKind.REQUESTED, {"action": "send-draft", "expires": timestamp(EXPIRES)}, "act-1")
    with pytest.raises(EntryRefused, match="cannot be extended"):
        extend(scene)


def test_inputs_that_look_like_an_extension_extend_nothing(scene: Scene) -> None:
    ask(scene, note="request.extended", kind='"kind":"request.extended"')
    scene.clock.now = moment(timestamp(EXPIRES))
    with pytest.raises(DeadlinePassed):
        scene.decide("act-1")
    with SqliteReader(scene.close()) as reader:
        assert reader.extensions("act-1") == ()
