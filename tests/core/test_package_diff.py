"""What an update changes: whatever takes a safeguard away is a warning, and nothing new is left out."""

from dataclasses import replace
from typing import Any

import pytest

from aileron_tui.core.package_diff import is_older, package_diff
from aileron_tui.core.package_grant import ActionGrant, ConnectorGrant, CredentialGrant, PackageGrant, plain_name

NAME = "github://acme/mail"
SIGNED = "signed by github://acme"
CREDENTIAL = CredentialGrant("oauth2", ("mail.send",), ("https://acme.example/token",))
CONNECTOR = ConnectorGrant(NAME, "1.0.0", "sha256:1", SIGNED, ("mail.example:443",), CREDENTIAL)
SEND = ActionGrant("send", "1.0.0", "sha256:2", SIGNED, gated=True, ops=(f"{NAME} send",))
READ = ActionGrant("read", "1.0.0", "sha256:3", SIGNED, gated=False, ops=(f"{NAME} read",))
PACKAGE = PackageGrant("mail", "1.0.0", "sha256:4", "/src", "/src", (CONNECTOR,), (SEND, READ))


def with_connector(**changes: Any) -> PackageGrant:
    return replace(PACKAGE, connectors=(replace(CONNECTOR, **changes),))


def with_action(**changes: Any) -> PackageGrant:
    return replace(PACKAGE, actions=(replace(SEND, **changes), READ))


@pytest.mark.parametrize(
    ("after", "warning"),
    [
        (replace(PACKAGE, source="/other"), "It comes from another source: /other, before it was /src"),
        (replace(PACKAGE, version="0.9.0"), "This is an older version: 0.9.0 instead of 1.0.0"),
        (with_connector(version="0.9.0"), f"Older connector: {NAME} 0.9.0 instead of 1.0.0"),
        (with_connector(publisher="unsigned"), f"The publisher of the connector {NAME} has changed: unsigned"),
        (with_connector(publisher="signed by github://evil"), "has changed: signed by github://evil"),
        (
            with_connector(credential=replace(CREDENTIAL, addresses=("https://evil.example/token",))),
            f"{NAME} signs in at another address: https://evil.example/token",
        ),
        (with_action(gated=False), "send no longer asks you first: it would run WITHOUT asking you"),
        (with_action(version="0.1.0"), "Older action: send 0.1.0 instead of 1.0.0"),
        (with_action(publisher="unsigned"), "The publisher of the action send has changed: unsigned"),
        (
            replace(PACKAGE, actions=(SEND, replace(READ, ops=(*READ.ops, f"{NAME} wipe")))),
            f"read also runs {NAME} wipe, WITHOUT asking you",
        ),
        (
            replace(PACKAGE, connectors=(CONNECTOR, replace(CONNECTOR, name="github://acme/x", publisher="unsigned"))),
            "No publisher that you trust signed the new connector github://acme/x",
        ),
    ],
)
def test_less_safety_is_a_warning(after: PackageGrant, warning: str) -> None:
    diff = package_diff(PACKAGE, after)
    assert len(diff.warnings) == 1
    assert warning in diff.warnings[0]


@pytest.mark.parametrize(
    ("after", "more"),
    [
        (
            with_connector(hosts=(*CONNECTOR.hosts, "evil.example:443")),
            f"Host evil.example:443 for {NAME} and its credential",
        ),
        (
            with_connector(credential=replace(CREDENTIAL, scopes=("mail.send", "mail.all"))),
            f"Scope mail.all for {NAME}",
        ),
        (
            with_connector(credential=CredentialGrant("api_key")),
            f"Credential api_key for {NAME}, before it was oauth2",
        ),
        (with_action(ops=(*SEND.ops, f"{NAME} delete")), f"send also runs {NAME} delete"),
    ],
)
def test_more_abilities_are_listed(after: PackageGrant, more: str) -> None:
    diff = package_diff(PACKAGE, after)
    assert diff.more == [more]
    assert not diff.warnings


def test_a_new_action_is_listed_with_all_that_it_runs() -> None:
    ops = (f"{NAME} read", f"{NAME} wipe")
    asking = package_diff(PACKAGE, replace(PACKAGE, actions=(SEND, READ, replace(SEND, name="post", ops=ops))))
    runs = [f"post runs {op}" for op in ops]
    assert asking.more == [f"New action post 1.0.0, {SIGNED}: asks you first", *runs]
    assert not asking.warnings
    ungated = replace(READ, name="post", publisher="unsigned", ops=ops)
    silent = package_diff(PACKAGE, replace(PACKAGE, actions=(SEND, READ, ungated)))
    assert silent.warnings == ["New action post 1.0.0, unsigned: runs WITHOUT asking you", *runs]
    assert not silent.more


def test_a_new_connector_is_listed_with_all_that_it_may_do() -> None:
    other = replace(CONNECTOR, name="github://acme/files")
    diff = package_diff(PACKAGE, replace(PACKAGE, connectors=(CONNECTOR, other)))
    text = "\n".join(diff.more)
    for words in (
        "Connector github://acme/files 1.0.0",
        "Host mail.example",
        "Scope mail.send",
        "https://acme.example",
    ):
        assert words in text


def test_what_ends_is_listed_and_what_is_the_same_is_counted() -> None:
    after = replace(with_connector(hosts=(), credential=None), actions=(replace(SEND, gated=True),))
    diff = package_diff(PACKAGE, after)
    assert diff.less == [f"Host mail.example:443 for {NAME}", f"Credential oauth2 for {NAME}", "Action read"]
    assert diff.same == ["1 action"]
    same = package_diff(PACKAGE, PACKAGE)
    assert same.same == ["1 host", "1 scope", "2 actions"]
    assert [same.warnings, same.more, same.less, same.other] == [[], [], [], []]


def test_a_gate_that_is_added_takes_something_away() -> None:
    before = with_action(gated=False)
    assert package_diff(before, PACKAGE).less == ["send without asking: it asks you first now"]


def test_versions_are_ordered_as_semver_says() -> None:
    order = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0",
        "1.2.0",
        "1.10.0",
    ]
    for index, version in enumerate(order):
        assert [is_older(version, other) for other in order] == [place > index for place in range(len(order))]
    assert not is_older("1.0.0+build", "1.0.0")
    assert not is_older("", "1.0.0")
    huge = "9" * 5000
    assert is_older(f"{huge}.0.0-{huge}", f"{huge}.0.0")
    assert is_older(f"{huge}.0.0", f"{huge}0.0.0")
    assert is_older("1.0.0-009", "1.0.0-10")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Google Workspace", "Google-Workspace"),
        ("../../etc", "etc"),
        ("\x1b[31m", "31m"),
        ("邮件", ""),
        ("a" * 300, "a" * 100),
    ],
)
def test_names_are_made_of_plain_characters(text: str, name: str) -> None:
    assert plain_name(text) == name
