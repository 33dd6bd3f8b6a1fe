"""The checks of `doctor` on other processes: the daemon, the gate, and the configured sources."""

import os
import socket
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from aileron_tui.cli.machine_checks import Check, Status, enrolment, failed
from aileron_tui.cli.opencode_checks import opencode
from aileron_tui.core.address import BadAddress, read_address
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.times import utc_now
from aileron_tui.files.config import DAEMON, OPENCODE, Config
from aileron_tui.files.paths import paths
from aileron_tui.runtime.daemon.daemon_discovery import ANY, Daemon, DaemonSearch, NamedDaemon, NoDaemonReason, search
from aileron_tui.runtime.errors import ApprovalsOff, NoGate, NotAllowed, Rejected, RuntimeFault
from aileron_tui.runtime.gate_client import connect_as_approver, verified_instance
from aileron_tui.runtime.gate_discovery import FILE, FoundGate, discover
from aileron_tui.runtime.health_reply import ask_health, failing_reason
from aileron_tui.runtime.http_connection import HttpConnection
from aileron_tui.runtime.known_gates import check
from aileron_tui.runtime.port_owner import listening_user, trusted_users
from aileron_tui.runtime.token_redaction import TokenRedactor
from aileron_tui.surface.source_choice import named_opencode

_REPLY_SECONDS: Final = 5.0
_CLOCK_SECONDS: Final = 10.0
_TUNNEL: Final = "Use an ssh tunnel or https."
_NO_DAEMON: Final = "Check that a daemon is running there."
_NO_GATE: Final = "Check that a gate is running there."
_FAILING_FIX: Final = "Check the gate's log and its disk. The gate recovers by itself once the cause is gone."
_VAULTS: Final = {
    "locked": ("locked: approved actions wait until it is unlocked", "Press U in the console."),
    "missing": ("missing: actions that need a credential will fail", "Set up the daemon's vault."),
}


def connections(config: Config | None, env: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Checks every source that the console opens or could open."""
    sources = config.sources if config else ()
    if not sources:
        yield from daemon("daemon", ANY, env)
    own = False
    for source in sources:
        id_ = f"source.{source.name}"
        if source.kind == DAEMON:
            yield from daemon(id_, NamedDaemon(source.url, source.token_file, source.token_env), env, configured=True)
        elif source.kind == OPENCODE:
            yield from opencode(id_, named_opencode(source), env)
        else:
            own = own or not source.url
            yield from gate(id_, source.url, configured=True)
    if not own:
        yield from gate("gate")


def daemon(id_: str, wanted: NamedDaemon, env: Mapping[str, str], *, configured: bool = False) -> Iterator[Check]:
    """Whether a daemon is found and works."""
    found = search(wanted, env)
    detail = "\n".join(f"{step.about}: {step.words}" for step in found.steps)
    if found.daemon is None:
        yield _not_found(id_, found, detail, configured=configured)
        return
    yield Check(id_, Status.OK, found.daemon.url, detail)
    yield from _exposed(id_, found.daemon.url)
    yield from _listener(id_, found.daemon.url)
    connection = HttpConnection(found.daemon.url, peer="daemon", secret=found.daemon.token, own_user_only=True)
    try:
        for check in _health(id_, connection, found, configured=configured):
            yield _redacted(found.daemon.token, check)
    finally:
        connection.close()


def gate(id_: str, url: str = "", *, configured: bool = False) -> Iterator[Check]:
    """Whether a gate is running, and whether a key on this machine may approve on it."""
    here = paths()
    if not url and not configured and not (here.data / FILE).exists():
        yield Check(id_, Status.OK, "no gate is running here; the console can run an embedded one")
        return
    try:
        found = discover(url)
    except RuntimeFault as error:
        yield failed(id_, error, _NO_GATE)
        return
    connection = connect_as_approver(found)
    try:
        instance = verified_instance(connection, found)
        where = f"approvers connect through {found.socket}" if found.socket else ""
        yield Check(id_, Status.OK, f"{instance} at {found.url}", where)
        health = ask_health(connection)
        if why := failing_reason(health):
            yield Check(f"{id_}.health", Status.FAIL, "the gate is failing", why, _FAILING_FIX)
        elif isinstance(doing := health.get("doing"), str) and doing:
            yield Check(f"{id_}.health", Status.OK, f"the gate is {doing}")
        yield enrolment(here, f"{id_}.keys") if found.instance else _identity(id_, connection, found)
    except AileronError as error:
        left = isinstance(error, NoGate) and not url and not configured
        yield _left_over(id_, error) if left else failed(id_, error, _NO_GATE)
    finally:
        connection.close()


def _identity(id_: str, connection: HttpConnection, found: FoundGate) -> Check:
    """Whether the gate at an address is the same as at the first connection."""
    challenge = connection.ask("POST", "/v1/approver/challenge", {})
    known = check(found.url, str(challenge.get("ledger")), str(challenge.get("instance")))
    return Check(f"{id_}.identity", Status.OK, "the same as before" if known else "not seen before")


def _left_over(id_: str, error: AileronError) -> Check:
    words = f"{error.title}; a gate that crashed left its file behind"
    return Check(id_, Status.WARN, words, error.detail, "The next gate that starts replaces it.")


def _not_found(id_: str, found: DaemonSearch, detail: str, *, configured: bool) -> Check:
    fault = found.fault
    if fault is None or (fault.why is NoDaemonReason.ABSENT and not configured):
        return Check(id_, Status.OK, "no daemon is running here, and none is configured", detail)
    status = Status.WARN if fault.why is NoDaemonReason.LEFT_OVER and not configured else Status.FAIL
    return Check(id_, status, fault.title, detail, fault.hint)


def _exposed(id_: str, url: str) -> Iterator[Check]:
    try:
        private = read_address(url).is_confidential
    except BadAddress:
        return
    if not private:
        words = "not encrypted: others on the network can read and change what you see"
        yield Check(f"{id_}.network", Status.WARN, words, fix=_TUNNEL)


def _listener(id_: str, url: str) -> Iterator[Check]:
    """Whether the process at a local address belongs to this user or the system. Others get no token."""
    address = read_address(url)
    if not address.is_local:
        return
    try:
        with socket.create_connection((address.host, address.port), timeout=_REPLY_SECONDS) as connection:
            user = listening_user(connection)
    except OSError:  # the next check reports it
        return
    if user is None:
        yield Check(f"{id_}.listener", Status.OK, "this system does not report which user listens there")
    elif user in trusted_users():
        yield Check(f"{id_}.listener", Status.OK, "runs as you or as the system")
    else:
        fix = "Restart the daemon, so that it writes its address again, and find out what that user is running."
        yield Check(f"{id_}.listener", Status.FAIL, f"user {user} listens there, not you or the system", fix=fix)


def _health(id_: str, connection: HttpConnection, found: DaemonSearch, *, configured: bool) -> Iterator[Check]:
    began = utc_now()
    try:
        health = ask_health(connection, _REPLY_SECONDS)
    except RuntimeFault as error:
        yield failed(f"{id_}.health", error, _NO_DAEMON)
        return
    ended = utc_now()
    if isinstance(health.get("instance"), str):
        if configured:
            fix = 'Set kind = "gate" for it in the configuration.'
            yield Check(f"{id_}.health", Status.FAIL, "this is a gate, not a daemon", fix=fix)
        else:
            yield Check(f"{id_}.health", Status.OK, "this is a gate; the console opens it as one")
        return
    version = health.get("version")
    words = f"healthy, version {version}" if isinstance(version, str) and version else "healthy"
    yield Check(f"{id_}.health", Status.OK, words)
    yield from _clock(id_, health, began, ended)
    yield from _with_token(id_, connection, found)


def _with_token(id_: str, connection: HttpConnection, found: DaemonSearch) -> Iterator[Check]:
    """The checks that need the token."""
    token = found.daemon.token if found.daemon else ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        items = connection.ask("GET", "/v1/action-approvals", headers=headers, seconds=_REPLY_SECONDS).get("items")
    except NotAllowed as error:
        yield _refused(id_, error, found)
        return
    except RuntimeFault as error:
        yield failed(f"{id_}.auth", error, _NO_DAEMON)
        return
    if not isinstance(items, list):
        yield Check(f"{id_}.auth", Status.FAIL, "the reply is not a list of requests", fix=_NO_DAEMON)
        return
    yield Check(f"{id_}.auth", Status.OK, "the token is accepted" if token else "needs no token: accepts everyone")
    yield _waiting(id_, connection, headers, len(items))
    yield _vault(id_, connection, headers)
    yield _sessions(id_, connection, headers)


def _waiting(id_: str, connection: HttpConnection, headers: Mapping[str, str], count: int) -> Check:
    try:
        if not count:
            connection.ask("GET", "/v1/action-approvals/act-none/result", headers=headers, seconds=_REPLY_SECONDS)
    except ApprovalsOff as error:
        return failed(f"{id_}.waiting", error, _NO_DAEMON)
    except RuntimeFault:
        pass  # there is no such request, as expected
    return Check(f"{id_}.waiting", Status.OK, f"{count:,} waiting")


def _refused(id_: str, error: NotAllowed, found: DaemonSearch) -> Check:
    daemon = found.daemon or Daemon("")
    if error.status == 403:
        words, fix = "the token is an agent's, which cannot list requests", "Use the daemon's own token."
    elif not daemon.token:
        words = "a token is needed, and none was found"
        fix = "Set one with --token-file, with token_file in [[sources]], or in AILERON_TOKEN."
    else:
        source = next((step.about for step in found.steps if step.words == "used"), "the token")
        words = "the token is not accepted"
        fix = f"It may be from before a restart. Check {source}."
    return Check(f"{id_}.auth", Status.FAIL, words, f"HTTP {error.status}", fix)


def _clock(id_: str, health: JsonObject, began: datetime, ended: datetime) -> Iterator[Check]:
    """Whether the daemon's clock agrees with ours, allowing for the time the reply took."""
    try:
        theirs = datetime.fromisoformat(str(health.get("timestamp")))
        off = max((began - theirs).total_seconds(), (theirs - ended).total_seconds(), 0.0)
    except (ValueError, TypeError):  # no time, or a time without a zone
        return
    if off > _CLOCK_SECONDS:
        words = f"its clock differs from ours by {off:,.0f} s, so the times shown are wrong"
        yield Check(f"{id_}.clock", Status.WARN, words, fix="Synchronise the clocks (NTP).")
    else:
        yield Check(f"{id_}.clock", Status.OK, "agrees with ours")


def _vault(id_: str, connection: HttpConnection, headers: Mapping[str, str]) -> Check:
    try:
        answer = connection.ask("GET", "/v1/vault/status", headers=headers, seconds=_REPLY_SECONDS)
    except RuntimeFault:
        return Check(f"{id_}.vault", Status.OK, "not reported")
    state = str(answer.get("state") or "")
    if answer.get("locked") is True and state != "missing":
        state = "locked"
    if state in _VAULTS:
        words, fix = _VAULTS[state]
        return Check(f"{id_}.vault", Status.WARN, words, fix=fix)
    return Check(f"{id_}.vault", Status.OK, state or "not reported")


def _sessions(id_: str, connection: HttpConnection, headers: Mapping[str, str]) -> Check:
    try:
        answer = connection.ask("GET", "/v1/sessions", headers=headers, query={"limit": 1}, seconds=_REPLY_SECONDS)
    except RuntimeFault as error:
        status = f"HTTP {error.status}" if isinstance(error, Rejected) else error.title
        words = "not reported: requests are shown without agent and folder"
        return Check(f"{id_}.sessions", Status.WARN, words, status, "Needed only to tell agents apart.")
    known = isinstance(answer.get("items"), list)
    words = "reported: requests are shown with agent and folder" if known else "not reported"
    return Check(f"{id_}.sessions", Status.OK, words)


def _redacted(token: str, check: Check) -> Check:
    """The check without the token, in case the other side repeated it."""
    texts = map(TokenRedactor(token), (check.words, check.detail, check.fix))
    return Check(check.id, check.status, *texts)
