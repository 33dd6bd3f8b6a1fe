"""Answers to a daemon that a security key signed: checked here, because a daemon checks nothing, and kept here."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.errors import AileronError
from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.runtime.daemon.daemon_discovery import find
from aileron_tui.runtime.daemon.daemon_source import DaemonSource
from aileron_tui.signing.approvers import Approver, Approvers
from aileron_tui.signing.key_store import for_this_run
from aileron_tui.surface.security_key_touch import Touched, touched
from aileron_tui.surface.source import SignedElsewhere
from tests.daemon.process import FakeDaemon
from tests.runtime.daemon.consoles import verified
from tests.software_authenticator import SoftwareAuthenticator
from tests.surface.test_security_key_touch import Person, added


def touch(source: DaemonSource, request: Request, key: Approver, device: SoftwareAuthenticator) -> Touched:
    return touched(source.statement(request, Verdict.APPROVE), [key], Person(), devices=lambda: [device])


def answered(daemon: FakeDaemon, *ids: str) -> list[str]:
    """Those of these requests whose approval reached the daemon."""
    return [one["id"] for one in daemon.decisions() if one["id"] in ids and one["said"]["approved"]]


def approvers(folder: Path) -> Approvers:
    with open_reader(folder / FILE) as reader:
        return Approvers.of(reader.key_changes())


def test_a_touch_answers_a_daemon_and_is_kept_with_its_key(daemon: FakeDaemon, folder: Path) -> None:
    device = SoftwareAuthenticator()
    key = added(device, "alice")  # the name is taken by the operator's own key
    first, second = daemon.register("comms_send"), daemon.register("comms_send")
    with DaemonSource(find(env=daemon.environment), for_this_run("alice"), folder) as source:
        assert isinstance(source, SignedElsewhere)
        for id_ in (first, second):
            request = source.item(id_)
            signed = touch(source, request, key, device)
            assert source.decide_signed(request, signed.envelope, signed.approver) is RequestState.RUNNING
    assert answered(daemon, first, second) == [first, second]
    (enrolled,) = approvers(folder).security_keys
    assert enrolled.public == key.public
    assert enrolled.name.startswith("alice-")
    verified(folder)


Change = Callable[[Request, Touched], tuple[Request, Touched]]

CHANGES: dict[str, Change] = {
    "another request": lambda request, signed: (replace(request, id="act-other"), signed),
    "another prompt": lambda request, signed: (replace(request, digest="sha256:" + "ab" * 32), signed),
    "another daemon": lambda request, signed: (replace(request, instance="http://127.0.0.1:1 now"), signed),
    "another key": lambda request, signed: (
        request,
        replace(signed, approver=replace(signed.approver, public=added(SoftwareAuthenticator()).public)),
    ),
    "a revoked key": lambda request, signed: (
        request,
        replace(signed, approver=replace(signed.approver, revoked="2026-01-01T00:00:00.000000Z")),
    ),
    "another signature": lambda request, signed: (
        request,
        replace(signed, envelope=replace(signed.envelope, signature=signed.envelope.signature[:-1] + b"\0")),
    ),
    "no assertion": lambda request, signed: (
        request,
        replace(signed, envelope=replace(signed.envelope, assertion=None)),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_does_not_fit_is_not_sent(daemon: FakeDaemon, folder: Path, change: Change) -> None:
    device = SoftwareAuthenticator()
    key, id_ = added(device), daemon.register("comms_send")
    with DaemonSource(find(env=daemon.environment), for_this_run("alice"), folder) as source:
        request = source.item(id_)
        other, signed = change(request, touch(source, request, key, device))
        with pytest.raises(AileronError):
            source.decide_signed(other, signed.envelope, signed.approver)
        assert answered(daemon, id_, other.id) == []
        assert approvers(folder).security_keys == ()
    verified(folder)


def test_a_touch_counts_once_and_a_copied_key_is_refused(daemon: FakeDaemon, folder: Path) -> None:
    device = SoftwareAuthenticator()
    key = added(device)
    copy = device.clone()
    first, second = daemon.register("comms_send"), daemon.register("comms_send")
    with DaemonSource(find(env=daemon.environment), for_this_run("alice"), folder) as source:
        request = source.item(first)
        signed = touch(source, request, key, device)
        source.decide_signed(request, signed.envelope, signed.approver)
        with pytest.raises(AileronError):
            source.decide_signed(request, signed.envelope, signed.approver)
        request = source.item(second)
        signed = touch(source, request, key, copy)
        with pytest.raises(AileronError, match="copied"):
            source.decide_signed(request, signed.envelope, signed.approver)
    assert answered(daemon, first, second) == [first]
    verified(folder)


def test_an_answer_of_yesterday_is_refused(daemon: FakeDaemon, folder: Path) -> None:
    device = SoftwareAuthenticator()
    key, id_ = added(device), daemon.register("comms_send")
    with DaemonSource(find(env=daemon.environment), for_this_run("alice"), folder) as source:
        request = source.item(id_)
        old = source.statement(request, Verdict.APPROVE)
        old = replace(old, time="2026-01-01T00:00:00.000000Z", expires="2026-01-01T00:02:00.000000Z")
        signed = touched(old, [key], Person(), devices=lambda: [device])
        with pytest.raises(AileronError, match="expired"):
            source.decide_signed(request, signed.envelope, signed.approver)
    assert answered(daemon, id_) == []
