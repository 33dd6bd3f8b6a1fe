"""What differs between two versions of a package, in words: what is new first, and how much is the same."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import Final

from aileron_tui.core.package_grant import ActionGrant, ConnectorGrant, PackageGrant
from aileron_tui.core.values import dataclass

_SIGNED: Final = "signed by "


@dataclass(slots=True)
class PackageDiff:
    """The differences. `warnings` take a safeguard away, `more` adds abilities, `less` ends them, `other` does neither.

    The texts contain foreign words.
    """

    warnings: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    less: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)


def package_diff(before: PackageGrant, after: PackageGrant) -> PackageDiff:
    """Compares an installed package with one that is offered."""
    diff = PackageDiff()
    if before.source != after.source:
        diff.warnings.append(f"It comes from another source: {after.source}, before it was {before.source}")
    if is_older(after.version, before.version):
        diff.warnings.append(f"This is an older version: {after.version} instead of {before.version}")
    _compare_connectors(before, after, diff)
    _compare_actions(before, after, diff)
    return diff


def is_older(version: str, than: str) -> bool:
    """Whether a version comes before another one (SemVer 2.0). "" comes before nothing and after nothing."""
    return bool(version and than) and _order(version) < _order(than)


def _order(version: str) -> tuple[object, ...]:
    numbers, _, rest = version.partition("+")[0].partition("-")
    parts = tuple((0, *_size(part)) if part.isdigit() else (1, 0, part) for part in rest.split(".") if rest)
    return (*map(_size, numbers.split(".")), not rest, parts)


def _size(digits: str) -> tuple[int, str]:
    """What a number is compared by. It may have any length, and Python converts only some thousand digits."""
    digits = digits.lstrip("0")
    return len(digits), digits


def _compare_connectors(before: PackageGrant, after: PackageGrant, diff: PackageDiff) -> None:
    old = {connector.name: connector for connector in before.connectors}
    new = {connector.name: connector for connector in after.connectors}
    hosts = scopes = 0
    for name, connector in new.items():
        known = old.get(name)
        if known is None:
            diff.more += _new_connector(connector)
            if not connector.publisher.startswith(_SIGNED):
                diff.warnings.append(f"No publisher that you trust signed the new connector {name}")
            continue
        if is_older(connector.version, known.version):
            diff.warnings.append(f"Older connector: {name} {connector.version} instead of {known.version}")
        if connector.hash != known.hash:
            diff.other.append(f"Connector {name} {known.version} → {connector.version}, hash {connector.hash}")
        _compare_publisher(f"connector {name}", known.publisher, connector.publisher, diff)
        hosts += _compare_hosts(known, connector, diff)
        scopes += _compare_credentials(name, known, connector, diff)
    diff.less += [f"Connector {name}" for name in old if name not in new]
    diff.same += _counts((hosts, "host"), (scopes, "scope"))


def _new_connector(connector: ConnectorGrant) -> Iterator[str]:
    yield f"Connector {connector.name} {connector.version}, {connector.publisher}, hash {connector.hash}"
    for host in connector.hosts:
        yield _new_host(host, connector)
    if credential := connector.credential:
        yield f"Credential {credential.kind} for {connector.name}"
        for scope in credential.scopes:
            yield f"Scope {scope} for {connector.name}"
        for address in credential.addresses:
            yield f"Sign-in at {address} for {connector.name}"


def _compare_publisher(what: str, before: str, after: str, diff: PackageDiff) -> None:
    if before == after:
        return
    line = f"The publisher of the {what} has changed: {after}, before it was {before}"
    gained = after.startswith(_SIGNED) and not before.startswith(_SIGNED)
    (diff.other if gained else diff.warnings).append(line)


def _new_host(host: str, connector: ConnectorGrant) -> str:
    return f"Host {host} for {connector.name}{' and its credential' if connector.credential else ''}"


def _compare_hosts(before: ConnectorGrant, after: ConnectorGrant, diff: PackageDiff) -> int:
    """Adds the hosts that differ, and returns how many are the same."""
    diff.more += [_new_host(host, after) for host in after.hosts if host not in before.hosts]
    diff.less += [f"Host {host} for {after.name}" for host in before.hosts if host not in after.hosts]
    return sum(host in before.hosts for host in after.hosts)


def _compare_scopes(name: str, before: Collection[str], after: Sequence[str], diff: PackageDiff) -> int:
    """Adds the scopes that differ, and returns how many are the same."""
    diff.more += [f"Scope {scope} for {name}" for scope in after if scope not in before]
    diff.less += [f"Scope {scope} for {name}" for scope in before if scope not in after]
    return sum(scope in before for scope in after)


def _compare_credentials(name: str, before: ConnectorGrant, after: ConnectorGrant, diff: PackageDiff) -> int:
    old, new = before.credential, after.credential
    if new is None:
        diff.less += [f"Credential {old.kind} for {name}"] if old else []
        return 0
    if old is None or old.kind != new.kind:
        diff.more.append(f"Credential {new.kind} for {name}" + (f", before it was {old.kind}" if old else ""))
    for address in new.addresses:
        if old is not None and address not in old.addresses:
            diff.warnings.append(f"{name} signs in at another address: {address}")
        elif old is None:
            diff.more.append(f"Sign-in at {address} for {name}")
    return _compare_scopes(name, old.scopes if old else (), new.scopes, diff)


def _compare_actions(before: PackageGrant, after: PackageGrant, diff: PackageDiff) -> None:
    old = {action.name: action for action in before.actions}
    same = 0
    for action in after.actions:
        known = old.pop(action.name, None)
        if known is None:
            found = diff.more if action.gated else diff.warnings
            asks = "asks you first" if action.gated else "runs WITHOUT asking you"
            found.append(f"New action {action.name} {action.version}, {action.publisher}: {asks}")
            found += [f"{action.name} runs {op}" for op in action.ops]
        elif action == known:
            same += 1
        else:
            _compare_action(known, action, diff)
    diff.less += [f"Action {name}" for name in old]
    diff.same += _counts((same, "action"))


def _compare_action(before: ActionGrant, after: ActionGrant, diff: PackageDiff) -> None:
    name = after.name
    if before.gated and not after.gated:
        diff.warnings.append(f"{name} no longer asks you first: it would run WITHOUT asking you")
    elif after.gated and not before.gated:
        diff.less.append(f"{name} without asking: it asks you first now")
    if is_older(after.version, before.version):
        diff.warnings.append(f"Older action: {name} {after.version} instead of {before.version}")
    _compare_publisher(f"action {name}", before.publisher, after.publisher, diff)
    added = [f"{name} also runs {op}" for op in after.ops if op not in before.ops]
    if after.gated:
        diff.more += added
    else:
        diff.warnings += [f"{line}, WITHOUT asking you" for line in added]
    diff.less += [f"{name} no longer runs {op}" for op in before.ops if op not in after.ops]
    if after.hash != before.hash:
        diff.other.append(f"Action {name} {before.version} → {after.version}")


def _counts(*counts: tuple[int, str]) -> Iterator[str]:
    return (f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count)
