"""List the installed packages, what they may do, and who approved that."""

import argparse
from collections.abc import Collection, Iterator

from aileron_tui.cli import package_consent
from aileron_tui.cli.exit_codes import FAILED, OK
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_json, print_lines
from aileron_tui.core.connector import read_connector
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.findings import Severity
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.package_grant import ConnectorGrant
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.packages.found_sources import found_sources
from aileron_tui.packages.installed import InstalledPackage, InstalledPackages, installed_content
from aileron_tui.packages.publishers import connector_publisher
from aileron_tui.packages.store import SIGNED
from aileron_tui.sandbox.connector_package import PackageError, PublisherKeyring, load_keyring
from aileron_tui.signing.packages import Packages
from aileron_tui.surface.local_ledgers import gate_ledger

_CHANGES = {
    EntryKind.PACKAGE_ADDED: "approved",
    EntryKind.PACKAGE_REMOVED: "removed",
    EntryKind.PACKAGE_DECLINED: "declined",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--history", action="store_true", help="list what was approved, declined and removed, and when")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 1 if something that is installed cannot be used."""
    if options.history:
        _print_history(as_json=options.json)
        return OK
    known = package_consent.installed()
    keyring = load_keyring(paths().keyring)
    found = found_sources(load_config(paths().config).manifests, paths().config.parent, known)
    unused = [source for source in found if source.new or source.problem]
    problems = _problems(known)
    rows = [_described(package, keyring, problems.get(package.known.grant.name, [])) for package in known.packages]
    if options.json:
        not_used: list[Json] = [{"folder": str(source.folder), "new": [*source.new]} for source in unused]
        print_json({"packages": [*rows], "invalid": [*known.invalid], "not_used": not_used})
    elif not rows:
        print_lines("nothing is installed", "  Install something with `aileron-tui add SOURCE`.")
    for package, row in zip(known.packages, rows, strict=True):
        if not options.json:
            print_lines(*_lines(package, row))
    if not options.json:
        print_lines(*(f"! ignored {inline(line)}" for line in known.invalid))
        print_lines(*(f"! {inline(f'{source.words}. {source.fix}')}" for source in unused))
    return FAILED if known.invalid or any(row["problems"] for row in rows) else OK


def _problems(known: InstalledPackages) -> dict[str, list[str]]:
    """What is wrong with each package, and with its files when everything is checked together."""
    found: dict[str, list[str]] = {}
    for finding in installed_content(known).bundle.findings:
        if finding.severity is Severity.ERROR or finding.rule.startswith("package"):
            name = finding.file.partition(": ")[0]
            found.setdefault(name, []).append(f"{finding.message}. {finding.fix}")
    return found


def _described(package: InstalledPackage, keyring: PublisherKeyring, problems: list[str]) -> JsonObject:
    known, grant = package.known, package.known.grant
    changed = [why for index in range(len(grant.connectors)) if (why := _changed_trust(package, index, keyring))]
    return grant.fields() | {
        "approved": known.approved,
        "approved_by": known.approved_by,
        "approved_with": known.signer,
        "usable": package.content is not None,
        "problems": [*problems, *changed],
    }


def _changed_trust(package: InstalledPackage, index: int, keyring: PublisherKeyring) -> str:
    """What is said about the publisher of a connector now, if that is less than what was approved."""
    granted = package.known.grant.connectors[index]
    if package.content is None:
        return ""
    content = package.content.connectors[index]
    connector = read_connector(content.manifest, granted.name).value
    if connector is None:
        return ""
    try:
        words = connector_publisher(content, connector, keyring).words
    except PackageError as error:
        return f"{error.title}: {error.detail}"
    if words == granted.publisher or not granted.publisher.startswith(SIGNED):
        return ""
    return f"the publisher is {words} now; {granted.publisher} was approved"


def _lines(package: InstalledPackage, row: JsonObject) -> Iterator[str]:
    known, grant = package.known, package.known.grant
    yield inline(f"{grant.name} {grant.version}".strip())
    yield f"  approved {_minute(known.approved)} by the key {inline(known.approved_by)}"
    yield f"  source {inline(grant.source)}"
    yield f"  hash {inline(grant.hash)}"
    for connector in grant.connectors:
        yield from _connector_lines(connector)
    for words, gated in (("asks first", True), ("runs without asking", False)):
        if names := [inline(action.name) for action in grant.actions if action.gated is gated]:
            yield f"  {words}: {', '.join(names)}"
    problems = row["problems"]
    for problem in problems if isinstance(problems, list) else ():
        yield f"  ! {inline(str(problem))}"


def _connector_lines(connector: ConnectorGrant) -> Iterator[str]:
    yield f"  connector {inline(connector.name)} {inline(connector.version)}, {inline(connector.publisher)}"
    yield f"    hosts {', '.join(inline(host) for host in connector.hosts) or 'none'}"
    if credential := connector.credential:
        scopes = ", ".join(inline(scope) for scope in credential.scopes)
        yield f"    account {inline(credential.kind)}{f': {scopes}' if scopes else ''}"


def _print_history(*, as_json: bool) -> None:
    with local_reader(gate_ledger(), indexed=True) as reader:
        ignored = Packages.of(reader).ignored if reader else set()
        rows = [_change(entry, ignored) for entry in reader.package_changes()] if reader else []
    if as_json:
        print_json({"changes": [*rows]})
        return
    if not rows:
        print_lines("nothing was ever installed")
    for row in rows:
        items = row["packages"] if isinstance(row["packages"], list) else []
        names = ", ".join(inline(_name(item)) for item in items)
        mark = "" if row["valid"] else "  ! It is not valid, so it changed nothing."
        print_lines(f"{_minute(str(row['time']))}  {row['change']}  {names}  (entry {row['entry']}){mark}")


def _change(entry: Entry, ignored: Collection[int]) -> JsonObject:
    packages = entry.body.get("packages")
    return {
        "entry": entry.seq,
        "time": entry.time,
        "change": _CHANGES[EntryKind(entry.kind)],
        "packages": packages if isinstance(packages, list) else [],
        "valid": entry.seq not in ignored,
    }


def _name(item: Json) -> str:
    return f"{item.get('name')} {item.get('version')}".strip() if isinstance(item, dict) else "?"


def _minute(time: str) -> str:
    """A time of the ledger, to the minute."""
    return f"{time[:16].replace('T', ' ')} UTC"
