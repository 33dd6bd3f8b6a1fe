"""What `doctor` looks at beyond this process: the daemon, the gate, and the sources of the configuration."""

import os
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from aileron_tui.cli.machine_checks import Check, Status, enrolment, failed
from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.files.config import DAEMON, Config
from aileron_tui.files.paths import paths
from aileron_tui.runtime.daemon.daemon_discovery import ANY, Daemon, DaemonSearch, NamedDaemon, NoDaemonReason, search
from aileron_tui.runtime.errors import ApprovalsOff, NoGate, NotAllowed, Rejected, RuntimeFault
from aileron_tui.runtime.gate_client import verified_instance
from aileron_tui.runtime.gate_discovery import FILE, START, FoundGate, discover
from aileron_tui.runtime.http_connection import HttpConnection
from aileron_tui.runtime.known_gates import check
from aileron_tui.runtime.port_owner import listening_user, trusted_users
from aileron_tui.runtime.token_redaction import TokenRedactor

_SECONDS: Final = 5.0
_SKEW_SECONDS: Final = 10.0
_TUNNEL: Final = "Go through an ssh tunnel, or use https."
_NO_DAEMON: Final = "Check that what answers there is a daemon, and well."
_NO_GATE: Final = "Check that what answers there is a gate, and well."
_VAULTS: Final = {
    "locked": ("locked: what is approved waits until it is opened", "Press U in the console."),
    "missing": ("there is none: actions that need a credential will fail", "Set the daemon's vault up."),
}


def connections(config: Config | None, env: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Everything the console would open, or could."""
    sources = config.sources if config else ()
    if not sources:
        yield from daemon("daemon", ANY, env)
    own = False
    for source in sources:
        id_ = f"source.{source.name}"
        if source.kind == DAEMON:
            yield from daemon(id_, NamedDaemon(source.url, source.token_file, source.token_env), env, configured=True)
        else:
            own = own or not source.url
            yield from gate(id_, source.url, configured=True)
    if not own:
        yield from gate("gate")


def daemon(id_: str, wanted: NamedDaemon, env: Mapping[str, str], *, configured: bool = False) -> Iterator[Check]:
    """How a daemon is found, and how it is."""
    found = search(wanted, env)
    detail = "\n".join(f"{step.about}: {step.words}" for step in found.steps)
    if found.daemon is None:
        yield _not_found(id_, found, detail, configured=configured)
        return
    yield Check(id_, Status.OK, found.daemon.url, detail)
    yield from _exposed(id_, found.daemon.url)
    yield from _listener(id_, found.daemon.url)
    wire = HttpConnection(found.daemon.url, peer="daemon", secret=found.daemon.token, own_user_only=True)
    try:
        for check in _asked(id_, wire, found, configured=configured):
            yield _without(found.daemon.token, check)
    finally:
        wire.close()


def gate(id_: str, url: str = "", *, configured: bool = False) -> Iterator[Check]:
    """Whether a gate runs there, and whether a key of ours may approve on it."""
    here = paths()
    if not url and not configured and not (here.data / FILE).exists():
        yield Check(id_, Status.OK, "none is running here; the console can open one inside")
        return
    try:
        found = discover(url)
    except RuntimeFault as error:
        yield failed(id_, error, _NO_GATE)
        return
    wire = HttpConnection(found.url, hint=START)
    try:
        instance = verified_instance(wire, found)
        yield Check(id_, Status.OK, f"{instance} at {found.url}")
        yield enrolment(here, f"{id_}.keys") if found.instance else _identity(id_, wire, found)
    except AileronError as error:
        left = isinstance(error, NoGate) and not url and not configured
        yield _left_over(id_, error) if left else failed(id_, error, _NO_GATE)
    finally:
        wire.close()


def _identity(id_: str, wire: HttpConnection, found: FoundGate) -> Check:
    """Whether the gate at a named address is the one that was met there before."""
    asked = wire.ask("POST", "/v1/approver/challenge", {})
    met = check(found.url, str(asked.get("ledger")), str(asked.get("instance")))
    return Check(f"{id_}.identity", Status.OK, "the same as before" if met else "not met before")


def _left_over(id_: str, error: AileronError) -> Check:
    words = f"{error.title}; a gate that ended suddenly left its file"
    return Check(id_, Status.WARN, words, error.detail, "The next one that starts replaces it.")


def _not_found(id_: str, found: DaemonSearch, detail: str, *, configured: bool) -> Check:
    fault = found.fault
    if fault is None or (fault.why is NoDaemonReason.ABSENT and not configured):
        return Check(id_, Status.OK, "none is running here, and none was named", detail)
    status = Status.WARN if fault.why is NoDaemonReason.LEFT_OVER and not configured else Status.FAIL
    return Check(id_, status, fault.title, detail, fault.hint)


def _exposed(id_: str, url: str) -> Iterator[Check]:
    try:
        private = read_address(url).private
    except BadAddress:
        return
    if not private:
        words = "not encrypted: whoever is on the way can read and change what you see"
        yield Check(f"{id_}.network", Status.WARN, words, mend=_TUNNEL)


def _listener(id_: str, url: str) -> Iterator[Check]:
    """Whether it is ours, or the system's, that listens at an address of this machine: nothing is told to another."""
    address = read_address(url)
    if not address.here:
        return
    try:
        with socket.create_connection((address.host, address.port), timeout=_SECONDS) as connection:
            user = listening_user(connection)
    except OSError:  # the next check says so
        return
    if user is None:
        yield Check(f"{id_}.listener", Status.OK, "this system does not tell who listens there")
    elif user in trusted_users():
        yield Check(f"{id_}.listener", Status.OK, "runs as you, or as the system")
    else:
        mend = "Start the daemon again, so that it writes where it is. Find out what that user runs there."
        yield Check(
            f"{id_}.listener", Status.FAIL, f"user {user} listens there, and neither you nor the system", mend=mend
        )


def _asked(id_: str, wire: HttpConnection, found: DaemonSearch, *, configured: bool) -> Iterator[Check]:
    began = datetime.now(UTC)
    try:
        health = wire.ask("GET", "/v1/health", seconds=_SECONDS)
    except RuntimeFault as error:
        yield failed(f"{id_}.health", error, _NO_DAEMON)
        return
    ended = datetime.now(UTC)
    if isinstance(health.get("instance"), str):
        if configured:
            mend = 'Write kind = "gate" for it in the configuration.'
            yield Check(f"{id_}.health", Status.FAIL, "what answers there is a gate, not a daemon", mend=mend)
        else:
            yield Check(f"{id_}.health", Status.OK, "what answers there is a gate; the console opens it as one")
        return
    version = health.get("version")
    words = f"well, version {version}" if isinstance(version, str) and version else "well"
    yield Check(f"{id_}.health", Status.OK, words)
    yield from _clock(id_, health, began, ended)
    yield from _inside(id_, wire, found)


def _inside(id_: str, wire: HttpConnection, found: DaemonSearch) -> Iterator[Check]:
    """What only somebody with the token may ask."""
    token = found.daemon.token if found.daemon else ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        items = wire.ask("GET", "/v1/action-approvals", headers=headers, seconds=_SECONDS).get("items")
    except NotAllowed as error:
        yield _refused(id_, error, found)
        return
    except RuntimeFault as error:
        yield failed(f"{id_}.auth", error, _NO_DAEMON)
        return
    if not isinstance(items, list):
        yield Check(f"{id_}.auth", Status.FAIL, "it sent no list of requests", mend=_NO_DAEMON)
        return
    yield Check(f"{id_}.auth", Status.OK, "lets the console in" if token else "lets everybody in: it needs no token")
    yield _waiting(id_, wire, headers, len(items))
    yield _vault(id_, wire, headers)
    yield _sessions(id_, wire, headers)


def _waiting(id_: str, wire: HttpConnection, headers: Mapping[str, str], count: int) -> Check:
    try:
        if not count:
            wire.ask("GET", "/v1/action-approvals/act-none/result", headers=headers, seconds=_SECONDS)
    except ApprovalsOff as error:
        return failed(f"{id_}.waiting", error, _NO_DAEMON)
    except RuntimeFault:
        pass  # there is no such request, as was to be expected
    return Check(f"{id_}.waiting", Status.OK, f"{count:,} waiting")


def _refused(id_: str, error: NotAllowed, found: DaemonSearch) -> Check:
    daemon = found.daemon or Daemon("")
    if error.status == 403:
        words, mend = "the token is an agent's, which may not see what waits", "Use the daemon's own token."
    elif not daemon.token:
        words = "it wants a token, and none was found"
        mend = "Name one with --token-file, with token_file in [[sources]], or in AILERON_TOKEN."
    else:
        source = next((step.about for step in found.steps if step.words == "used"), "the token")
        words = "it does not know this token"
        mend = f"It may be of an earlier start. Look at: {source}."
    return Check(f"{id_}.auth", Status.FAIL, words, f"HTTP {error.status}", mend)


def _clock(id_: str, health: JsonObject, began: datetime, ended: datetime) -> Iterator[Check]:
    """How far its clock is from ours; the answer took some of the difference."""
    try:
        theirs = datetime.fromisoformat(str(health.get("timestamp")))
        off = max((began - theirs).total_seconds(), (theirs - ended).total_seconds(), 0.0)
    except (ValueError, TypeError):  # none, or one without a zone
        return
    if off > _SKEW_SECONDS:
        words = f"its clock and ours differ by {off:,.0f} s, so the ages shown are wrong"
        yield Check(f"{id_}.clock", Status.WARN, words, mend="Set the clocks by the network (NTP).")
    else:
        yield Check(f"{id_}.clock", Status.OK, "agrees with ours")


def _vault(id_: str, wire: HttpConnection, headers: Mapping[str, str]) -> Check:
    try:
        answer = wire.ask("GET", "/v1/vault/status", headers=headers, seconds=_SECONDS)
    except RuntimeFault:
        return Check(f"{id_}.vault", Status.OK, "it does not tell")
    state = str(answer.get("state") or "")
    if answer.get("locked") is True and state != "missing":
        state = "locked"
    if state in _VAULTS:
        words, mend = _VAULTS[state]
        return Check(f"{id_}.vault", Status.WARN, words, mend=mend)
    return Check(f"{id_}.vault", Status.OK, state or "it does not tell")


def _sessions(id_: str, wire: HttpConnection, headers: Mapping[str, str]) -> Check:
    try:
        answer = wire.ask("GET", "/v1/sessions", headers=headers, query={"limit": 1}, seconds=_SECONDS)
    except RuntimeFault as error:
        status = f"HTTP {error.status}" if isinstance(error, Rejected) else error.title
        words = "it does not tell: requests are shown without agent and folder"
        return Check(f"{id_}.sessions", Status.WARN, words, status, "Nothing, if your agents need no telling apart.")
    known = isinstance(answer.get("items"), list)
    words = "known: requests are shown with agent and folder" if known else "it does not tell"
    return Check(f"{id_}.sessions", Status.OK, words)


def _without(token: str, check: Check) -> Check:
    """The check without the token, should the other side have repeated it."""
    texts = map(TokenRedactor(token), (check.words, check.detail, check.mend))
    return Check(check.id, check.status, *texts)
