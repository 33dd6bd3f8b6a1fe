"""Action manifests: what is read, and the order of findings."""

import re
from pathlib import Path

from aileron_tui.core.action import Action, Approval, Input, Requirement, Step, read_action
from aileron_tui.core.preview_directive import PreviewDirective
from tests.corpus.cases import base

GOOD = base("action")["base.md"]


def good(text: str = GOOD) -> Action:
    reading = read_action(text, "send-draft.md")
    assert reading.findings == ()
    assert reading.value is not None
    return reading.value


def rules(text: str) -> list[tuple[str, int]]:
    return [(finding.rule, finding.line) for finding in read_action(text, "x.md").findings]


def test_everything_is_read() -> None:
    mail = "github://acme/mail"
    pin = "sha256:8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
    preview = PreviewDirective(
        op="get_draft",
        args={"id": "${args.draft_id}"},
        render=(("To", "headers.To"), ("Subject", "headers.Subject"), ("Body", "text")),
        multiline=frozenset({"Body"}),
    )
    assert good() == Action(
        name="send-draft",
        version="1.2.0",
        source="github://acme/mail/actions/send-draft@1.2.0",
        requires=(Requirement(mail, "2.0.1", pin, ("send_draft",)),),
        intent="Send a draft as it is",
        inputs=(
            Input("draft_id", "string", "The id of the draft.", label="Draft id"),
            Input("tags", "array", "Tags to set once it is sent.", required=False, items_type="string"),
        ),
        execute=(Step("send", mail, "send_draft", False, {"id": "${args.draft_id}"}),),
        approval=Approval(True, None, preview),
        body="\n# Send a draft\n\nWhat is shown is fetched just before asking.",
    )


def test_an_input_is_titled_by_its_label_or_else_its_name() -> None:
    assert [field.title for field in good().inputs] == ["Draft id", "tags"]


def test_requirements_are_found_by_name() -> None:
    action = good()
    assert action.requirement("github://acme/mail") is action.requires[0]
    assert action.requirement("github://acme/Mail") is None


def test_an_action_is_gated_only_if_it_says_so() -> None:
    assert good().gated
    assert not good(GOOD.split("[approval]")[0] + "+++\n").gated


def test_idempotence_that_is_not_declared_is_none() -> None:
    assert good(GOOD.replace("idempotent = false\n", "")).execute[0].idempotent is None
    assert good(GOOD.replace("idempotent = false\n", "idempotent = true\n")).execute[0].idempotent is True


def test_the_order_of_render_is_the_order_of_the_file() -> None:
    labels = ["Zeta", "alpha", "Mid", "10", "9", "Äther", "b.c"]
    inline = "render = { " + ", ".join(f'"{label}" = "x"' for label in labels) + " }"
    table = "[approval.preview.render]\n" + "\n".join(f'"{label}" = "x"' for label in labels)
    for form in (inline, table):
        lines = [line for line in GOOD.split("\n") if not line.startswith(("render", "multiline = ["))]
        text = "\n".join(lines).replace("\n+++\n\n", f"\n{form}\n+++\n\n")
        preview = good(text).approval.preview
        assert preview is not None
        assert [label for label, _ in preview.render] == labels


def test_a_timeout_is_kept_and_capped() -> None:
    def timeout(seconds: int) -> int | None:
        reading = read_action(GOOD.replace("required = true", f"required = true\ntimeout = {seconds}"), "x.md")
        assert reading.value is not None
        return reading.value.approval.timeout

    assert timeout(1) == 1
    assert timeout(300) == 300
    assert timeout(86400) == 300


def test_the_body_keeps_its_lines_without_the_last_newline() -> None:
    front = GOOD.split("\n+++\n\n")[0] + "\n+++"
    assert good(front).body == ""
    assert good(f"{front}\n").body == ""
    assert good(f"{front}\none").body == "one"
    assert good(f"{front}\none\n\n").body == "one\n"
    assert good(f"{front}\r\none\r\ntwo\r\n").body == "one\ntwo"
    assert good(f"{front}\n+++\nname = 1\n+++\n").body == "+++\nname = 1\n+++"


def test_text_and_bytes_give_the_same_action() -> None:
    assert read_action(GOOD.encode(), "x.md") == read_action(GOOD, "x.md")


def test_the_first_of_two_requirements_with_one_name_counts() -> None:
    text = GOOD.replace(
        "[match]",
        '[[requires.connectors]]\nname = "github://acme/mail"\nversion = "1.0.0"\nhash = "sha256:0"\n'
        'capabilities = ["other"]\n\n[match]',
    )
    assert good(text).requirement("github://acme/mail") == good(text).requires[0]


def test_schema_errors_come_first_then_the_checks_in_order() -> None:
    text = """+++
version = "1"
name = "Bad Name"
source = "x"
extra = 1

[approval.preview]
op = "get"
render = { To = 3 }
multiline = ["Cc"]

[[execute]]
id = "a"
connector = "nope"
op = ""
idempotent = "no"

[[inputs]]
name = "X"
type = "text"
description = ""

[match]
intent = ""

[[requires.connectors]]
name = "x"
version = "x"
hash = "x"
capabilities = []
+++
"""
    assert rules(text) == [
        ("unknown-key", 5),
        ("wrong-type", 9),
        ("wrong-type", 16),
        ("name", 3),
        ("version", 2),
        ("source", 4),
        ("connector-name", 27),
        ("version", 28),
        ("hash", 29),
        ("required", 30),
        ("required", 24),
        ("input-name", 19),
        ("input-type", 20),
        ("required", 21),
        ("multiline-label", 10),
        ("preview-unused", 7),
        ("step-connector", 14),
        ("required", 15),
    ]


def test_a_source_is_split_at_its_last_at_sign_and_its_version_is_checked_first() -> None:
    def fault(source: str) -> str:
        (finding,) = read_action(re.sub(r"source = .*", f'source = "{source}"', GOOD), "x.md").findings
        return finding.message.partition("reference: ")[2]

    assert fault("github://acme/mail@main@1.2.0") == "it must not have a version"
    assert fault("https://acme/mail@main") == 'version "main" is not a strict SemVer version'
    assert fault("https://acme/mail") == "the @version at the end is missing"
    assert fault("https://acme/mail@1.2.0") == 'scheme "https" is not one of github, gitlab, hub, local'


def test_a_misspelt_key_gets_a_suggestion() -> None:
    (finding,) = read_action(GOOD.replace("label =", "lable ="), "x.md").findings
    assert finding.message == '"inputs[0].lable" is not a known key'
    assert finding.fix == 'Did you mean "label"?'
    assert (finding.line, finding.column) == (19, 1)


def test_a_warning_rejects_nothing() -> None:
    reading = read_action(GOOD.replace('op = "send_draft"', 'op = "delete_draft"'), "x.md")
    assert reading.value is not None
    assert [finding.severity.value for finding in reading.findings] == ["warning"]


def test_thousands_of_errors_are_reported_quickly() -> None:
    text = "+++\n" + "".join(f"key{number} = 1\n" for number in range(20_000)) + "+++\n"
    assert len(read_action(text, "x.md").findings) == 20_000 + 6


def test_every_sample_passes() -> None:
    files = sorted((Path(__file__).parents[2] / "manifests" / "actions").glob("*.md"))
    assert files
    for file in files:
        assert read_action(file.read_bytes(), file.name).findings == ()
