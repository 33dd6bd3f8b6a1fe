"""What a consent shows: everything that is approved, and nothing that its author could disguise."""

from dataclasses import replace
from pathlib import Path

import pytest

from aileron_tui.cli.consent_text import KnownHere, consent_rows, view_rows
from aileron_tui.core.findings import Finding
from aileron_tui.core.package_grant import ActionGrant, ConnectorGrant, CredentialGrant, PackageGrant
from aileron_tui.core.visible_text import cells
from aileron_tui.packages.proposal import Proposal
from aileron_tui.packages.store import PackageContent, StoredAction
from aileron_tui.sandbox.connector_package import ConnectorPackage
from tests.hostile import HOSTILE

FOLDER = Path("/home/me/data/packages/sha256/abc")
CONNECTOR = ConnectorGrant(
    "github://acme/mail",
    "1.0.0",
    "sha256:" + "c0" * 32,
    "unsigned",
    ("mail.example.com:443",),
    CredentialGrant("oauth2", ("mail.send",), ("https://accounts.example.com/token",)),
)
ASKS = ActionGrant("send", "1.0.0", "sha256:" + "a1" * 32, "unsigned", gated=True, ops=("github://acme/mail send",))
RUNS = replace(ASKS, name="list", gated=False, ops=("github://acme/mail list",))
GRANT = PackageGrant("mail", "1.0.0", "sha256:1", "/src", "the folder /src", (CONNECTOR,), (ASKS, RUNS))
CONTENT = PackageContent(
    (ConnectorPackage(b"", b"[connector]\nname = 'x'\n"),), (StoredAction(b"+++\nsend\n+++"), StoredAction(b"list"))
)
PROPOSAL = Proposal(GRANT, CONTENT, None, "Reads and sends mail", {"send": "Sends", "list": "Lists"})


def shown(proposal: Proposal, width: int = 100) -> str:
    return "\n".join(consent_rows([proposal], [FOLDER], width))


def test_everything_that_is_approved_is_shown() -> None:
    text = shown(PROPOSAL)
    for words in (
        "Install mail 1.0.0?",
        "> Reads and sends mail",
        "the folder /src",
        "Nobody vouches for it",
        CONNECTOR.hash,
        "mail.example.com:443",
        "oauth2",
        "mail.send",
        "https://accounts.example.com/token",
        "Actions that ask you first (1)",
        "! Actions that run WITHOUT asking you (1)",
        "    runs list",
        str(FOLDER),
    ):
        assert words in text


def test_a_connector_alone_and_problems_are_said() -> None:
    skipped = (Finding("name", "not a valid name", "Fix it.", "bad.md"),)
    alone = replace(PROPOSAL, grant=replace(GRANT, actions=()), skipped=skipped, broken=("archive",), unasked=("x",))
    text = shown(alone)
    assert "\n! x\n" in text
    assert "It has no actions of its own" in text
    assert "! Not installed: bad.md: not a valid name" in text
    assert "! These installed actions stop working: archive" in text


def test_a_host_that_imitates_another_is_warned_about() -> None:
    imitation = replace(CONNECTOR, hosts=("аpple.com:443",))  # the first letter is Cyrillic
    assert "\n! " in shown(replace(PROPOSAL, grant=replace(GRANT, connectors=(imitation,)))).partition("Hosts")[2]
    update = replace(PROPOSAL, before=GRANT, grant=replace(GRANT, connectors=(imitation,)))
    assert '! "' in shown(update)


def test_an_address_for_signing_in_or_downloading_that_imitates_another_is_warned_about() -> None:
    credential = CredentialGrant("oauth2", ("mail.send",), ("https://аpple.com:8443/token",))  # Cyrillic again
    imitation = replace(GRANT, connectors=(replace(CONNECTOR, credential=credential),))
    assert '\n! "аpple.com" ' in shown(replace(PROPOSAL, grant=imitation)).partition("Signs in")[2]
    assert '\n! "аpple.com" ' in shown(replace(PROPOSAL, grant=imitation, before=GRANT))
    source = "https://xn--pple-43d.com/suite.toml"
    assert '\n! "аpple.com" ' in shown(replace(PROPOSAL, grant=replace(GRANT, source=source, origin=source)))


def test_a_key_that_nobody_confirmed_is_not_said_to_be_trusted() -> None:
    connectors = (replace(CONNECTOR, publisher="signed by github://acme"),)
    signed = replace(PROPOSAL, grant=replace(GRANT, connectors=connectors))
    assert "  Publisher signed by github://acme, which you trust\n" in shown(signed)
    for proposal in (signed, replace(signed, before=signed.grant)):
        text = "\n".join(consent_rows([proposal], [FOLDER], 100, KnownHere(unconfirmed=["github://acme"])))
        assert "! Nobody confirmed the key of github://acme: somebody wrote it into keyring.json.\n" in text
        assert "which you trust" not in text


def test_a_connector_that_would_get_a_credential_which_is_set_up_already_is_warned_about() -> None:
    known = KnownHere(credentials=[CONNECTOR.name])
    warning = f"! The credential that you set up for {CONNECTOR.name} would go to mail.example.com:443.\n"
    without = replace(GRANT, connectors=())
    for proposal, warned in (
        (PROPOSAL, True),
        (replace(PROPOSAL, before=without), True),  # a new connector in an update
        (replace(PROPOSAL, before=GRANT), False),
    ):
        assert (warning in "\n".join(consent_rows([proposal], [FOLDER], 100, known))) is warned
    assert warning not in shown(PROPOSAL)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_words_of_an_author_cannot_look_like_rows_of_ours(width: int) -> None:
    forged = "x" * (width - 9) + " runs list_only Hosts none"
    rows = consent_rows([replace(PROPOSAL, about=forged, intents={"send": forged, "list": forged})], [FOLDER], width)
    assert not any(row.strip().startswith(("runs list_", "Hosts none", "list_", "none")) for row in rows)
    assert any(row.startswith("    > ") and "list_only" in row for row in rows)


def test_an_update_shows_what_is_new_first() -> None:
    after = replace(GRANT, version="1.1.0", actions=(replace(ASKS, gated=False), RUNS))
    rows = shown(replace(PROPOSAL, grant=after, before=GRANT)).splitlines()
    assert rows[0] == "Update mail from 1.0.0 to 1.1.0?"
    assert rows[3] == "! send no longer asks you first: it would run WITHOUT asking you"
    assert "  The same as before: 1 host, 1 scope, 1 action." in rows


def test_the_view_has_every_manifest() -> None:
    rows = view_rows([PROPOSAL], 80)
    assert "    > name = 'x'" in rows
    assert "    > send" in rows
    assert "    > list" in rows


@pytest.mark.parametrize("width", [40, 100])
def test_foreign_text_never_reaches_the_first_columns(width: int) -> None:
    ours = ("Install ", "Update ", "Connector ", "Actions ", "  ", "! ", "+ ", "- ", "~ ")
    for name, text in HOSTILE.items():
        credential = CredentialGrant("oauth2", (text,), (text,))
        connector = replace(CONNECTOR, publisher=f"signed by {text}", hosts=(text,), credential=credential)
        grant = replace(GRANT, origin=text, source=text, connectors=(connector,), actions=(replace(ASKS, ops=(text,)),))
        content = replace(CONTENT, actions=(StoredAction(text.encode("utf-8", "replace")),))
        hostile = Proposal(grant, content, None, text, {"send": text})
        for proposal in (hostile, replace(hostile, before=GRANT)):
            rows = consent_rows([proposal], [FOLDER], width)
            assert all(row.startswith(ours) for row in rows if row), name
            for row in (*rows, *view_rows([proposal], width)):
                assert row.isprintable(), name
                assert cells(row) <= width, name
