"""Proposals: what a source offers, compared with what is installed. They are what the operator is asked about."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from shlex import quote
from typing import Final

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.bundle import BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Finding, Reading, Severity
from aileron_tui.core.package_change import PackageRef
from aileron_tui.core.package_grant import (
    PackageGrant,
    action_grant,
    connector_grant,
    content_hash,
    is_package_name,
    plain_name,
)
from aileron_tui.core.values import dataclass
from aileron_tui.packages.installed import InstalledPackage, InstalledPackages
from aileron_tui.packages.offer import OfferedConnector, PackageOffer
from aileron_tui.packages.publishers import action_publisher, connector_publisher
from aileron_tui.packages.store import PackageContent, StoredAction
from aileron_tui.sandbox.connector_package import PublisherKeyring

_UNNAMED: Final = "package"
_MOST_NAMES: Final = 5


class ProposalRefused(AileronError):
    """What is offered cannot be installed."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One package that would be installed. `before` is the version it replaces, None if there is none.

    `about` says what it is, and `intents` what each action is for, in the words of its author. `skipped` has what is
    wrong with files that would not be installed, and `broken` the actions of other packages that would stop working.
    `unasked` says which ops would run without asking although another action asks about them; it has foreign words.
    """

    grant: PackageGrant
    content: PackageContent
    before: PackageGrant | None
    about: str
    intents: Mapping[str, str]
    skipped: tuple[Finding, ...] = ()
    broken: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether there is anything to ask about: other bytes, or another source."""
        return self.before is None or (self.before.hash, self.before.source) != (self.grant.hash, self.grant.source)

    @property
    def reference(self) -> PackageRef:
        """The package in short."""
        return PackageRef(self.grant.name, self.grant.version, self.grant.hash)


def propose(
    offers: Sequence[tuple[str, PackageOffer]], installed: InstalledPackages, keyring: PublisherKeyring
) -> tuple[Proposal, ...]:
    """Makes a proposal for each offer. The name is that of the package to update, or "" to choose one.

    Raises ProposalRefused or PackageError if something cannot be installed.
    """
    known = {package.known.grant.name: package for package in installed.packages}
    proposals: list[Proposal] = []
    for name, offer in offers:
        proposal = _proposal(name or _name(offer), offer, known, keyring)
        if any(other.grant.name == proposal.grant.name for other in proposals):
            detail = f"both are named {proposal.grant.name}"
            raise ProposalRefused("two sources offer the same package", detail, "Add them one after the other.")
        proposals.append(proposal)
    broken = check_fit(proposals, installed)
    replaced = {proposal.grant.name for proposal in proposals}
    grants = [package.known.grant for name, package in known.items() if name not in replaced]
    grants += [proposal.grant for proposal in proposals]
    return tuple(replace(each, broken=broken, unasked=tuple(_unasked(each.grant, grants))) for each in proposals)


def _unasked(grant: PackageGrant, grants: Iterable[PackageGrant]) -> Iterator[str]:
    """The ops that ungated actions of a package run and that a gated action of any package asks about."""
    asking = {op: action.name for each in grants for action in each.actions if action.gated for op in action.ops}
    for action in grant.actions:
        for op in () if action.gated else action.ops:
            if op in asking:
                yield f"{action.name} runs {op} WITHOUT asking you, but {asking[op]} asks you first"


def check_fit(proposals: Sequence[Proposal], installed: InstalledPackages) -> tuple[str, ...]:
    """Refuses proposals that clash with each other or with what stays installed; returns the actions that would break.

    Raises ProposalRefused.
    """
    replaced = {proposal.grant.name for proposal in proposals}
    others = [package for package in installed.packages if package.known.grant.name not in replaced]
    _check_names(proposals, others)
    _check_requirements(proposals, others)
    return _broken_by(proposals, others)


def _proposal(
    name: str, offer: PackageOffer, known: Mapping[str, InstalledPackage], keyring: PublisherKeyring
) -> Proposal:
    offer = replace(offer, connectors=(*offer.connectors, *_kept(offer, known.get(name))))
    connectors = tuple(
        connector_grant(
            offered.connector,
            offered.hash,
            connector_publisher(offered.package, offered.connector, keyring).words,
        )
        for offered in offer.connectors
    )
    actions = tuple(
        action_grant(
            offered.action,
            offered.data,
            action_publisher(offered.data, offered.action, offered.signature, keyring).words,
        )
        for offered in offer.actions
    )
    before = known[name].known.grant if name in known else None
    grant = PackageGrant(
        name,
        _version(offer),
        content_hash(connectors, actions),
        offer.source,
        offer.origin,
        connectors,
        actions,
        before.hash if before else "",
    )
    content = PackageContent(
        tuple(offered.package for offered in offer.connectors),
        tuple(StoredAction(offered.data, offered.signature) for offered in offer.actions),
    )
    skipped = tuple(finding for finding in offer.findings if finding.severity is Severity.ERROR)
    intents = {offered.action.name: offered.action.intent for offered in offer.actions}
    return Proposal(grant, content, before, offer.suite.description if offer.suite else "", intents, skipped)


def _kept(offer: PackageOffer, before: InstalledPackage | None) -> Iterator[OfferedConnector]:
    """The connectors of the installed version that the offer needs and leaves out, because they were present."""
    if before is None or before.content is None:
        return
    missing = {requirement.hash.lower() for requirement in offer.missing}
    for granted, package in zip(before.known.grant.connectors, before.content.connectors, strict=True):
        connector = read_connector(package.manifest, granted.name).value
        if connector and granted.hash in missing:
            yield OfferedConnector(package, connector, granted.hash)


def _name(offer: PackageOffer) -> str:
    """What a package is called: as its suite, its only connector, its only action, or its file."""
    if offer.suite and (name := plain_name(offer.suite.name)):
        return name
    if len(offer.connectors) == 1 and is_package_name(offer.connectors[0].connector.name):
        return offer.connectors[0].connector.name
    if len(offer.actions) == 1 and not offer.connectors:
        return offer.actions[0].action.name
    return plain_name(PurePath(offer.source).name.removesuffix(".tar.gz")) or _UNNAMED


def _version(offer: PackageOffer) -> str:
    """The version of its only connector, or of all its actions; "" if there is no such version."""
    versions = {offered.connector.version for offered in offer.connectors}
    versions = versions or {offered.action.version for offered in offer.actions}
    return versions.pop() if len(versions) == 1 else ""


def _check_names(proposals: Sequence[Proposal], others: Iterable[InstalledPackage]) -> None:
    """Refuses an action that another package has already, and another version of a connector."""
    actions: dict[str, str] = {}
    connectors: dict[str, tuple[str, str]] = {}
    grants = [*(package.known.grant for package in others), *(proposal.grant for proposal in proposals)]
    for grant in grants:
        for action in grant.actions:
            if owner := actions.get(action.name):
                hint = f"Remove the other one first: `aileron-tui remove {owner}`."
                raise ProposalRefused(f"there is already an action {action.name}", f"in the package {owner}", hint)
            actions[action.name] = grant.name
        for connector in grant.connectors:
            owner, digest = connectors.setdefault(connector.name, (grant.name, connector.hash))
            if digest != connector.hash:
                hint = f"Update or remove the other one first: `aileron-tui update {owner}`."
                detail = f"the package {owner} has it with the hash {digest}"
                raise ProposalRefused(f"another version of {connector.name} is installed", detail, hint)


def _check_requirements(proposals: Sequence[Proposal], others: Iterable[InstalledPackage]) -> None:
    """Refuses an action whose connector would not be there, or not with the bytes that it pins."""
    grants = [*(package.known.grant for package in others), *(proposal.grant for proposal in proposals)]
    present = {connector.name: connector for grant in grants for connector in grant.connectors}
    for proposal in proposals:
        for stored, granted in zip(proposal.content.actions, proposal.grant.actions, strict=True):
            action = read_action(stored.data, granted.name).value
            for needed in action.requires if action else ():
                found = present.get(needed.name)
                if found is None:
                    reference = quote(f"{needed.name}@{needed.version}")
                    hint = f"Add it first: `aileron-tui add {reference}`, or name its file or folder."
                    detail = f"it needs {needed.name} {needed.version}"
                    for finding in proposal.skipped[:1]:
                        detail, hint = f"{detail}; {finding.file} cannot be used: {finding.message}", finding.fix
                    raise ProposalRefused(f"the connector of {granted.name} is not installed", detail, hint)
                if found.hash != needed.hash.lower():
                    hint = f"Add the version that fits: {needed.name} {needed.version}."
                    detail = f"it pins {needed.hash}, but {found.version} has the hash {found.hash}"
                    raise ProposalRefused(f"{granted.name} does not fit the connector {needed.name}", detail, hint)


def _broken_by(proposals: Sequence[Proposal], others: Sequence[InstalledPackage]) -> tuple[str, ...]:
    """Checks the proposals together with what stays installed, as the gate will; returns the actions that break."""
    readings: list[Reading[Action]] = []
    bundled: dict[str, BundledConnector] = {}
    contents = [(package.known.grant, package.content) for package in others if package.content]
    contents += [(proposal.grant, proposal.content) for proposal in proposals]
    for grant, content in contents:
        for granted, package in zip(grant.connectors, content.connectors, strict=True):
            reading = read_connector(package.manifest, f"{grant.name}: {granted.name}")
            bundled.setdefault(granted.hash, BundledConnector(reading, granted.hash))
        for granted_action, stored in zip(grant.actions, content.actions, strict=True):
            readings.append(read_action(stored.data, f"{grant.name}: {granted_action.name}"))
    errors = [
        finding
        for finding in check_bundle(readings, [*bundled.values()]).findings
        if finding.severity is Severity.ERROR
    ]
    own = {f"{proposal.grant.name}: " for proposal in proposals}
    for finding in errors:
        if finding.file.startswith(tuple(own)):
            raise ProposalRefused(f"cannot install {finding.file.partition(': ')[2]}", finding.message, finding.fix)
    return tuple(dict.fromkeys(finding.file.partition(": ")[2] for finding in errors))
