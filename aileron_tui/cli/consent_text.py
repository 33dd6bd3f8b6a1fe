"""What the consent to a package says: what it is, who made it, what it may do, and what is new."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from aileron_tui.core.host_remarks import about_host
from aileron_tui.core.package_diff import PackageDiff, package_diff
from aileron_tui.core.package_grant import ActionGrant, ConnectorGrant
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, block, inline, wrap
from aileron_tui.packages.proposal import Proposal
from aileron_tui.packages.store import SIGNED

_GUTTER: Final = "    > "
_HANG: Final = "      "
_WHAT: Final = "  What      > "
_MOST_SKIPPED: Final = 20
_ADDRESS: Final = re.compile(r"https?://(?P<host>[^/?#]*?)(?::[0-9]+)?(?:[/?#].*)?", re.DOTALL)
_UNGATED: Final = "An agent can call these at any time, and nobody is asked first."
_UNSIGNED: Final = "Nobody vouches for it: it is not signed."
_UNKNOWN: Final = "It is signed, but by nobody whom you trust. `aileron-tui trust` adds a publisher."


def title(proposal: Proposal) -> str:
    """The question about a package."""
    grant, before = proposal.grant, proposal.before
    version = f" {inline(grant.version)}" if grant.version else ""
    if before is None:
        return f"Install {inline(grant.name)}{version}?"
    return f"Update {inline(grant.name)} from {inline(before.version) or 'its version'} to{version or ' this one'}?"


@dataclass(frozen=True, slots=True)
class KnownHere:
    """What this machine knows about names: publishers with a key in the keyring that nobody signed for, and connectors
    whose credential is set up already.
    """

    unconfirmed: Collection[str] = ()
    credentials: Collection[str] = ()


def consent_rows(
    proposals: Sequence[Proposal], folders: Sequence[Path], width: int, known: KnownHere | None = None
) -> list[str]:
    """Everything that an approval covers, in rows of this width. The first two columns are never foreign.

    All rows with the words of an author are marked with `>`.
    """
    rows: list[str] = []
    for proposal, folder in zip(proposals, folders, strict=True):
        for line in (*_lines(proposal, folder, known or KnownHere()), ""):
            hang = _GUTTER if line.startswith((_GUTTER, _WHAT)) else _HANG[: min(6, width // 4)]
            rows += wrap(Visible(line), width, hang, words=True)
    return rows


def view_rows(proposals: Sequence[Proposal], width: int) -> list[str]:
    """All manifests in full."""
    rows: list[str] = []
    for proposal in proposals:
        for connector, package in zip(proposal.grant.connectors, proposal.content.connectors, strict=True):
            rows += wrap(Visible(f"Connector {inline(connector.name)}: manifest.toml"), width, _HANG)
            rows += _quoted(package.manifest, width)
        for action, stored in zip(proposal.grant.actions, proposal.content.actions, strict=True):
            rows += wrap(Visible(f"Action {inline(action.name)}: {inline(action.name)}.md"), width, _HANG)
            rows += _quoted(stored.data, width)
    return rows


def _quoted(data: bytes, width: int) -> Iterator[str]:
    for line in block(data.decode("utf-8", "replace")):
        yield from wrap(Visible(f"{_GUTTER}{line}"), width, _GUTTER)


def _lines(proposal: Proposal, folder: Path, known: KnownHere) -> Iterator[str]:
    grant = proposal.grant
    yield title(proposal)
    if proposal.about:
        yield f"{_WHAT}{inline(proposal.about)}"
    yield f"  From      {inline(grant.origin)}"
    yield from host_warnings(hosts_in([grant.source]))
    signers = {connector.publisher for connector in grant.connectors} | {action.publisher for action in grant.actions}
    for publisher in sorted({signer.removeprefix(SIGNED) for signer in signers}.intersection(known.unconfirmed)):
        yield f"! Nobody confirmed the key of {inline(publisher)}: somebody wrote it into keyring.json."
        yield "  Compare its fingerprint before you rely on the signature: `aileron-tui trust --list`."
    before = {connector.name for connector in proposal.before.connectors} if proposal.before else set()
    for connector in grant.connectors:
        if connector.credential and connector.name in known.credentials and connector.name not in before:
            hosts = ", ".join(inline(host) for host in connector.hosts) or "no host"
            yield f"! The credential that you set up for {inline(connector.name)} would go to {hosts}."
    if proposal.before is None:
        yield from _everything(proposal, known.unconfirmed)
    else:
        yield from _differences(package_diff(proposal.before, grant), proposal)
    for finding in proposal.skipped[:_MOST_SKIPPED]:
        yield f"! Not installed: {inline(finding.file)}: {inline(finding.message)}"
    if len(proposal.skipped) > _MOST_SKIPPED:
        yield f"! {len(proposal.skipped) - _MOST_SKIPPED:,} more problems are not listed."
    for line in proposal.unasked:
        yield f"! {inline(line)}"
    if proposal.broken:
        yield f"! These installed actions stop working: {', '.join(inline(name) for name in proposal.broken)}"
    yield f"  Files go to {inline(str(folder))}"


def _everything(proposal: Proposal, unconfirmed: Collection[str]) -> Iterator[str]:
    grant = proposal.grant
    for connector in grant.connectors:
        yield ""
        yield from _connector_lines(connector, unconfirmed)
    gated = [action for action in grant.actions if action.gated]
    ungated = [action for action in grant.actions if not action.gated]
    if not grant.actions:
        yield ""
        yield "  It has no actions of its own, so agents cannot call anything yet."
    if gated:
        yield ""
        yield f"Actions that ask you first ({len(gated):,})"
        for action in gated:
            yield from _action_lines(action, proposal)
    if ungated:
        yield ""
        yield f"! Actions that run WITHOUT asking you ({len(ungated):,})"
        yield f"  {_UNGATED}"
        for action in ungated:
            yield from _action_lines(action, proposal)
    yield ""


def _connector_lines(connector: ConnectorGrant, unconfirmed: Collection[str]) -> Iterator[str]:
    yield f"Connector {inline(connector.name)} {inline(connector.version)}"
    yield from publisher_lines(connector.publisher, unconfirmed)
    yield f"  Hash      {inline(connector.hash)}"
    if not connector.hosts:
        yield "  Hosts     none"
    for index, host in enumerate(connector.hosts):
        yield f"  {'Hosts     ' if not index else '          '}{inline(host)}"
    yield from host_warnings(hosts_in(connector.hosts))
    credential = connector.credential
    if credential is None:
        yield "  Account   none"
        return
    yield f"  Account   {inline(credential.kind)}, added to its requests to these hosts"
    for scope in credential.scopes:
        yield f"  Scope     {inline(scope)}"
    for address in credential.addresses:
        yield f"  Signs in  {inline(address)}"
    yield from host_warnings(hosts_in(credential.addresses))


def hosts_in(places: Iterable[str]) -> Iterator[str]:
    """The hosts in addresses and in pairs of host and port; none in the paths of files."""
    for place in places:
        if address := _ADDRESS.fullmatch(place):
            yield address["host"]
        elif "/" not in place:
            yield place.rpartition(":")[0]


def host_warnings(hosts: Iterable[str]) -> Iterator[str]:
    """What is suspicious about the names of hosts, each once."""
    for host in dict.fromkeys(hosts):
        for remark in about_host(host):
            yield f"{' ' if remark.is_note else '!'} {inline(remark.text)}"


def _reached(connectors: Iterable[ConnectorGrant]) -> Iterator[str]:
    """The hosts that connectors reach, and those where their accounts sign in."""
    for connector in connectors:
        yield from hosts_in(connector.hosts)
        yield from hosts_in(connector.credential.addresses if connector.credential else ())


def publisher_lines(publisher: str, unconfirmed: Collection[str] = ()) -> Iterator[str]:
    """Who published a connector, and what that is worth."""
    if publisher.startswith(SIGNED):
        trusted = "" if publisher.removeprefix(SIGNED) in unconfirmed else ", which you trust"
        yield f"  Publisher {inline(publisher)}{trusted}"
        return
    yield f"! Publisher {'none' if publisher == 'unsigned' else 'unknown'}"
    yield f"  {_UNSIGNED if publisher == 'unsigned' else _UNKNOWN}"


def _action_lines(action: ActionGrant, proposal: Proposal) -> Iterator[str]:
    signed = f", {inline(action.publisher)}" if action.publisher else ""
    yield f"  {inline(action.name)} {inline(action.version)}{signed}"
    if intent := proposal.intents.get(action.name, ""):
        yield f"{_GUTTER}{inline(intent)}"
    own = [connector.name for connector in proposal.grant.connectors]
    only = f"{own[0]} " if len(own) == 1 else ""
    yield f"    runs {', '.join(inline(op.removeprefix(only)) for op in action.ops)}"


def _differences(diff: PackageDiff, proposal: Proposal) -> Iterator[str]:
    new = {action.name for action in proposal.grant.actions}
    new -= {action.name for action in proposal.before.actions} if proposal.before else set()
    for mark, lines in (("!", diff.warnings), ("+", diff.more), ("-", diff.less), ("~", diff.other)):
        for line in lines:
            yield f"{mark} {inline(line)}"
    known = {*_reached(proposal.before.connectors)} if proposal.before else set()
    yield from host_warnings(host for host in _reached(proposal.grant.connectors) if host not in known)
    for action in proposal.grant.actions:
        if action.name in new:
            yield f"  What {inline(action.name)} is for, in the words of its author:"
            yield f"{_GUTTER}{inline(proposal.intents.get(action.name, ''))}"
    if not (diff.warnings or diff.more):
        yield "  It asks for nothing new."
    if diff.same:
        yield f"  The same as before: {', '.join(diff.same)}."
