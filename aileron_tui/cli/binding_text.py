"""What the consent to a binding says: who may use which account for what, and where its secret goes."""

import json
from collections.abc import Iterator

from aileron_tui.cli.consent_text import host_warnings, hosts_in, publisher_lines
from aileron_tui.cli.secret_place import SecretPlace
from aileron_tui.core.binding_change import Binding
from aileron_tui.core.connector import Credential
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import Visible, block, inline, wrap
from aileron_tui.packages.connectors_in_use import ConnectorInUse
from aileron_tui.signing.bindings import KnownBinding
from aileron_tui.signing.key_store import INSECURE

_GUTTER = "    > "
_HANG = " " * 12
_WIDE = 60
_KINDS = {
    "oauth2": "you sign in at the provider, and the connector acts for you",
    "api_key": "you enter a key of your account",
    "aws_sigv4": "requests are signed with your AWS keys",
}


@dataclass(frozen=True, slots=True)
class ProposedBinding:
    """A binding that somebody is asked about. `before` is the one that it replaces."""

    binding: Binding
    used: ConnectorInUse
    place: SecretPlace
    before: KnownBinding | None = None


def consent_rows(proposed: ProposedBinding, width: int) -> list[str]:
    """Everything that an approval covers, in rows of this width. The first two columns are never foreign."""
    hang = _HANG if width >= _WIDE else _HANG[: min(4, width // 4)]
    return [row for line in _lines(proposed) for row in wrap(Visible(line), width, hang, words=True)]


def view_rows(proposed: ProposedBinding, width: int) -> list[str]:
    """What will be signed and recorded."""
    rows: list[str] = [*wrap(Visible("What is signed and recorded:"), width, "  ", words=True)]
    for line in block(json.dumps(proposed.binding.fields(), indent=2, ensure_ascii=False)):
        rows += wrap(Visible(f"{_GUTTER}{line}"), width, _GUTTER)
    return rows


def _lines(proposed: ProposedBinding) -> Iterator[str]:
    binding, used = proposed.binding, proposed.used
    yield f"Let {inline(binding.connector)} use your account?"
    yield f"  Connector {inline(binding.connector)} {inline(used.grant.version)}"
    yield from publisher_lines(used.grant.publisher)
    yield f"  From      {inline(used.origin)}"
    yield ""
    yield f"  Account   {inline(binding.account)}"
    if before := proposed.before:
        yield f"! Replaces  what you bound as {inline(binding.account)} on {before.approved[:10]}, and its secret"
    yield f"  Kind      {inline(binding.kind)}: {_KINDS[binding.kind]}"
    declared = used.connector.credential
    if declared and declared.scope and declared.scope not in binding.scopes:
        yield f"  In short  > {inline(declared.scope)}"
    if not binding.scopes:
        yield "  Scopes    none named: the account may allow everything"
    for scope in binding.scopes:
        yield f"  Scope     {inline(scope)}"
    for address in binding.addresses:
        yield f"  Signs in  {inline(address)}"
    yield from host_warnings(hosts_in(binding.addresses))
    for name, value in (("Client", binding.client_id), ("AWS key", binding.access_key_id), ("Region", binding.region)):
        if value:
            yield f"  {name:<9} {inline(value)}"
    yield ""
    yield from _sent_to(used)
    yield from _kept(proposed.place)
    yield "  The connector itself never sees the secret."
    yield ""


def _sent_to(used: ConnectorInUse) -> Iterator[str]:
    if not used.grant.hosts:
        yield "  Sent to   no host: the connector may reach none"
    for index, host in enumerate(used.grant.hosts):
        yield f"  {'' if index else 'Sent to':<9} {inline(host)}"
    yield from host_warnings(hosts_in(used.grant.hosts))
    if how := _how(used.connector.credential):
        yield f"  Sent as   {how}"


def _how(credential: Credential | None) -> str:
    if credential is None or credential.kind != "api_key":
        return ""
    form = f' with the text "{inline(credential.format)}"' if credential.format not in ("", "{key}") else ""
    return f"the header {inline(credential.header)}{form}" if credential.header else ""


def _kept(place: SecretPlace) -> Iterator[str]:
    yield f"  Kept in   {inline(place.words)}"
    if place.no_keyring:
        yield f"  Because   {inline(place.no_keyring)}"
    if place.key is not None and place.insecure:
        yield f"! The key {inline(place.key.name)} is {INSECURE}, so the secret is as good as not encrypted."
