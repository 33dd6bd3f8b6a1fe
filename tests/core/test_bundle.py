"""Bundles: pins, and which actions are kept. Checks across actions are in the corpus."""

from dataclasses import replace

from aileron_tui.core.action import Action, read_action
from aileron_tui.core.bundle import Bundle, BundledConnector, check_bundle
from aileron_tui.core.connector import read_connector
from aileron_tui.core.findings import Finding, Reading
from tests.corpus.cases import base

FILES = base("bundle")
GET, SEND = "actions/get-draft.md", "actions/send-draft.md"
HASH = "sha256:0f1e"


def actions(**changed: str) -> list[Reading[Action]]:
    return [read_action(changed.get(file.split("/")[1][:3], FILES[file]), file) for file in (GET, SEND)]


def package(
    digest: str = HASH, *, version: str = "2.0.1", file: str = "connectors/mail/manifest.toml"
) -> BundledConnector:
    text = FILES["connectors/mail/manifest.toml"].replace("2.0.1", version)
    return BundledConnector(read_connector(text, file), digest)


def reported(findings: tuple[Finding, ...]) -> list[tuple[str, str, int, str]]:
    return [(finding.file, finding.rule, finding.line, finding.severity.value) for finding in findings]


def test_no_files_make_an_empty_bundle() -> None:
    assert check_bundle([]) == Bundle({}, {}, ())


def test_a_pin_that_matches() -> None:
    bundle = check_bundle(actions(), [package()])
    assert bundle.findings == ()
    assert list(bundle.actions) == ["get-draft", "send-draft"]
    assert list(bundle.connectors) == ["github://acme/mail"]


def test_a_pin_of_other_bytes_rejects_the_action_alone() -> None:
    text = FILES[SEND].replace(HASH, "sha256:beef")
    bundle = check_bundle(actions(sen=text), [package()])
    assert reported(bundle.findings) == [(SEND, "pin", 9, "error")]
    assert bundle.findings[0].fix == f"Set it with `aileron-tui pin`, or write {HASH}."
    assert list(bundle.actions) == ["get-draft"]


def test_the_case_of_a_pin_does_not_matter() -> None:
    text = FILES[SEND].replace(HASH, "sha256:0F1E")
    assert check_bundle(actions(sen=text), [package()]).findings == ()


def test_a_rejected_action_does_not_declare_an_op_idempotent() -> None:
    text = FILES[GET].replace(HASH, "sha256:beef")
    bundle = check_bundle(actions(get=text), [package()])
    assert reported(bundle.findings) == [(GET, "pin", 9, "error"), (SEND, "preview-not-idempotent", 30, "error")]
    assert bundle.actions == {}


def test_without_the_module_only_the_version_is_compared() -> None:
    bundle = check_bundle(actions(), [package("", version="2.0.2")])
    assert reported(bundle.findings) == [(GET, "pin-version", 8, "warning"), (SEND, "pin-version", 8, "warning")]
    assert len(bundle.actions) == 2


def test_the_first_of_two_connectors_with_one_name_counts() -> None:
    second = package("sha256:beef", version="3.0.0", file="connectors/other/manifest.toml")
    bundle = check_bundle(actions(), [package(), second])
    assert reported(bundle.findings) == [("connectors/other/manifest.toml", "connector-twice", 2, "error")]
    assert bundle.connectors["github://acme/mail"].version == "2.0.1"


def test_a_duplicate_action_names_the_first_file() -> None:
    readings = actions()
    copy = read_action(FILES[GET], "actions/z.md")
    bundle = check_bundle([*readings, copy])
    assert reported(bundle.findings) == [("actions/z.md", "action-twice", 2, "error")]
    assert GET in bundle.findings[0].message


def test_findings_of_a_file_come_before_those_of_the_bundle_in_the_order_of_files() -> None:
    get = FILES[GET].replace("idempotent = true", "idempotent = true\nretry = 1")
    send = FILES[SEND].replace('op = "send_draft"', 'op = "other"')
    bundle = check_bundle(actions(get=get, sen=send), [package(version="2.0.2")])
    assert reported(bundle.findings) == [
        (GET, "unknown-key", 25, "error"),
        (SEND, "op-not-granted", 23, "warning"),
        (SEND, "pin-version", 8, "warning"),
        (SEND, "preview-not-idempotent", 30, "error"),
    ]


def test_rejections_are_repeated_until_no_preview_is_invalid() -> None:
    """Each action previews with an op that only the previous one declares; the first is invalid, so all are."""

    def link(number: int) -> Reading[Action]:
        text = FILES[SEND].replace("send-draft", f"link-{number}").replace("send_draft", f"op_{number}")
        text = text.replace("get_draft", f"op_{number - 1}").replace("idempotent = false", "idempotent = true")
        text = text.replace("[approval]\nrequired = true", "[approval]\nrequired = false")
        reading = read_action(text, f"{number}.md")
        return replace(reading, findings=())

    bundle = check_bundle([link(number) for number in range(5)])
    assert reported(bundle.findings) == [(f"{number}.md", "preview-not-idempotent", 30, "error") for number in range(5)]
    assert bundle.actions == {}
