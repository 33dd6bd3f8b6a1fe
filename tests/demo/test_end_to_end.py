"""The committed connectors in the real sandbox against the real sample service, through the suite's own manifests."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from aileron_tui.core.action import Action
from aileron_tui.core.jsontext import Json
from aileron_tui.demo import sample_data
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService, ServiceFault
from aileron_tui.files.manifest_files import load_bundle
from aileron_tui.sandbox.connector_package import read_packages
from aileron_tui.sandbox.credentials import ConfiguredCredential, Credentials, FromEnvironment
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import Failure
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.sandbox import Sandbox


@dataclass
class SuiteRunner:
    """Runs the suite's actions against one service."""

    service: SampleService
    actions: dict[str, Action]
    sandbox: Sandbox

    def execute(self, action: str, **args: Json) -> Execution:
        """What the action does."""
        return self.sandbox.execute(self.sandbox.resolve(self.actions[action], args))

    def preview(self, action: str, **args: Json) -> dict[str, str]:
        """The preview rows as label and text; the reason under "unavailable" if there are none."""
        outcome = self.sandbox.preview(self.sandbox.resolve(self.actions[action], args))
        assert outcome is not None
        if outcome.failure:
            return {"unavailable": outcome.result.unavailable}
        return {row.label: "n/a" if row.missing else row.value for row in outcome.result.rows}

    def sent(self) -> list[str]:
        """The texts of the mails that left."""
        return [mail.text for mail in self.service.sent]


@pytest.fixture
def suite(service: SampleService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SuiteRunner]:
    suite = materialise(tmp_path / "suite", service.port)
    monkeypatch.setenv("SAMPLE_MAIL", MAIL_CREDENTIAL)
    monkeypatch.setenv("SAMPLE_FILES", FILES_CREDENTIAL)
    credentials = Credentials(
        {
            "local://aileron/mail": ConfiguredCredential(FromEnvironment("SAMPLE_MAIL")),
            "local://aileron/files": ConfiguredCredential(FromEnvironment("SAMPLE_FILES")),
        }
    )
    with Sandbox(read_packages(suite), SandboxSettings(credentials=credentials)) as sandbox:
        yield SuiteRunner(service, dict(load_bundle(suite).actions), sandbox)


def failure(execution: Execution) -> Failure:
    assert execution.failure is not None
    return execution.failure


def output(execution: Execution) -> dict[str, Json]:
    assert execution.failure is None, execution.failure
    answer = execution.result["output"]
    assert isinstance(answer, dict)
    return answer


def test_the_worked_example(suite: SuiteRunner) -> None:
    rows = suite.preview("send-draft", draft_id="r-12345")
    assert [*rows][:2] == ["To", "Subject"]
    assert {rows[label] for label in ("Cc", "Bcc", "Reply-To", "Other parts")} == {"n/a"}
    assert (rows["From"], rows["Attachments"]) == (sample_data.ADDRESS, "none")
    assert (rows["To"], rows["Subject"]) == ("team@example.com", "Weekly recap")
    assert rows["Body"] == sample_data.DRAFTS["r-12345"].body
    assert suite.sent() == []
    assert output(suite.execute("send-draft", draft_id="r-12345"))["labelIds"] == ["SENT"]
    assert suite.sent() == [rows["Body"]]


def test_an_id_that_is_not_a_draft(suite: SuiteRunner) -> None:
    assert suite.preview("send-draft", draft_id=sample_data.NOT_A_DRAFT) == {"unavailable": "Gmail API returned 404"}
    failed = failure(suite.execute("send-draft", draft_id=sample_data.NOT_A_DRAFT))
    assert failed.kind == "external_api_error"
    assert failed.message.startswith('Gmail API returned 404: {"error":')
    assert suite.sent() == []


@pytest.mark.parametrize("action", ["send-draft", "update-draft", "delete-draft"])
@pytest.mark.parametrize("draft", sorted(sample_data.DRAFTS))
def test_every_draft_is_shown_completely(suite: SuiteRunner, draft: str, action: str) -> None:
    sample = sample_data.DRAFTS[draft]
    rows = suite.preview(action, draft_id=draft, **({"body": "new"} if action == "update-draft" else {}))
    assert rows["Subject"] == sample.subject
    assert sample.body in (rows.get("Body"), rows.get("Current body"))
    assert rows["From"] == sample_data.ADDRESS
    shown = "\n".join(rows.values())
    assert sample.to in shown
    assert all(value in shown for _, value in sample.headers)
    assert sample.html in shown
    assert all(
        f"{file.name} ({file.mime_type}, {file.size} bytes)" in rows["Attachments"] for file in sample.attachments
    )


def test_a_second_recipient_in_another_spelling_is_shown(suite: SuiteRunner) -> None:
    rows = suite.preview("send-draft", draft_id=sample_data.HOSTILE)
    assert rows["To (1 of 2)"] == sample_data.DRAFTS[sample_data.HOSTILE].to
    assert rows["To (2 of 2)"] == "somebody-else@example.net"
    assert rows["Bcc"] == "collector@example.net"


def test_an_update_keeps_every_recipient(suite: SuiteRunner) -> None:
    mail = "To: a@example.com\r\nTO: b@example.com\r\nBcc: c@example.com\r\nSubject: s\r\n\r\ntext"
    draft = str(suite.service.mailbox.create_draft(base64.urlsafe_b64encode(mail.encode()).decode())["id"])
    before = suite.preview("update-draft", draft_id=draft, body="new")
    output(suite.execute("update-draft", draft_id=draft, body="new"))
    after = suite.preview("send-draft", draft_id=draft)
    recipients = ("To (1 of 2)", "To (2 of 2)", "Bcc")
    assert [before[label] for label in recipients] == [after[label] for label in recipients]
    assert after["Body"] == "new"


def test_a_draft_is_created_updated_and_deleted(suite: SuiteRunner) -> None:
    draft = output(suite.execute("draft-mail", to="zoë@example.com", subject="Grüße <1>", body="eins\n${args.to}"))[
        "id"
    ]
    assert output(suite.execute("list-drafts", limit=1))["drafts"] != []
    before = suite.preview("update-draft", draft_id=draft, body="zwei")
    assert (before["To"], before["Subject"]) == ("zoë@example.com", "Grüße <1>")
    assert before["Current body"] == "eins\n${args.to}"
    output(suite.execute("update-draft", draft_id=draft, body="zwei"))
    after = suite.preview("delete-draft", draft_id=draft)
    assert (after["To"], after["Subject"], after["Body"]) == ("zoë@example.com", "Grüße <1>", "zwei")
    output(suite.execute("update-draft", draft_id=draft, body="drei", subject="Neu"))
    message = output(suite.execute("get-draft", draft_id=draft))["message"]
    assert isinstance(message, dict)
    assert message["text"] == "drei"
    assert output(suite.execute("delete-draft", draft_id=draft)) == {"id": draft, "deleted": True}
    assert draft not in suite.service.mailbox.drafts


def test_an_update_keeps_the_headers_it_does_not_name(suite: SuiteRunner) -> None:
    mailbox = suite.service.mailbox
    draft = str(mailbox.create_draft("VG86IGFAeC5leGFtcGxlDQpDYzogYkB4LmV4YW1wbGUNClN1YmplY3Q6IHMNCg0KdA==")["id"])
    output(suite.execute("update-draft", draft_id=draft, body="new", to="c@x.example"))
    mail = mailbox.drafts[draft]
    assert [mail.header(name) for name in ("To", "Cc", "Subject")] == ["c@x.example", "b@x.example", "s"]


def test_a_mail_is_sent_with_what_was_shown_and_nothing_more(suite: SuiteRunner) -> None:
    output(suite.execute("send-mail", to="a@example.com", cc="b@example.com", subject="S", body="B"))
    (mail,) = suite.service.sent
    assert [name for name, _ in mail.headers] == ["From", "To", "Cc", "Subject", "Date"]
    for args in (
        {"to": "a@example.com\r\nBcc: c@example.com", "subject": "S"},
        {"to": "a@example.com", "subject": "S\nBcc: c@example.com"},
        {"to": "a@example.com", "subject": "S", "cc": "b@example.com\rX: y"},
    ):
        assert failure(suite.execute("send-mail", body="B", **args)).message.endswith("must be one line")
    assert len(suite.service.sent) == 1


def test_files_are_listed_moved_renamed_and_deleted(suite: SuiteRunner) -> None:
    listed = output(suite.execute("list-files", folder_id="d-inbox"))["files"]
    assert isinstance(listed, list)
    assert len(listed) == 3
    assert suite.preview("move-file", file_id="f-1001", folder_id="d-archive") == {
        "Name": "Quarterly report.pdf",
        "From folder": "d-inbox",
        "Owner": sample_data.ADDRESS,
        "Modified": "2026-05-11T16:20:00.000Z",
    }
    assert output(suite.execute("move-file", file_id="f-1001", folder_id="d-archive"))["parents"] == ["d-archive"]
    output(suite.execute("rename-file", file_id="f-1001", name="Q1 & Q2.pdf"))
    renamed = suite.preview("rename-file", file_id="f-1001", name="x")
    assert renamed == {"Current name": "Q1 & Q2.pdf", "In folder": "d-archive"}
    rows = suite.preview("delete-file", file_id="f-1001")
    assert rows["Bytes"] == "482133"
    assert rows["Description"] == sample_data.FILES["f-1001"].description
    assert '"emailAddress": "auditors@example.org"' in rows["Shared with"]
    assert suite.preview("delete-file", file_id="f-1002")["Description"] == "n/a"
    assert output(suite.execute("delete-file", file_id="f-1001")) == {"id": "f-1001", "deleted": True}
    assert suite.service.drive.deleted == ("f-1001",)


@pytest.mark.parametrize(
    ("id_", "said"),
    [
        ("r-500", "Gmail API returned 500"),
        ("r-garbage", "Gmail API did not answer with a JSON object"),
        ("..", "get_draft: an id cannot be .."),
        (" ", "get_draft: id is required"),
        ("r-12345/../r-18220", "Gmail API returned 404"),
        ("r-12345?format=minimal", "Gmail API returned 404"),
        ("r-12345#x", "Gmail API returned 404"),
    ],
)
def test_a_preview_that_fails_says_why(suite: SuiteRunner, id_: str, said: str) -> None:
    assert suite.preview("send-draft", draft_id=id_) == {"unavailable": said}


def test_an_unknown_op_fails(suite: SuiteRunner) -> None:
    action = suite.actions["send-draft"]
    (step,), (requirement,) = action.execute, action.requires
    odd = replace(
        action,
        execute=(replace(step, op="no_such_op"),),
        requires=(replace(requirement, capabilities=("no_such_op",)),),
    )
    failed = failure(suite.sandbox.execute(suite.sandbox.resolve(odd, {"draft_id": "r-12345"})))
    assert failed.message == "connector exited 1; stderr: unknown op no_such_op\n"


def test_an_agent_cannot_redirect_the_connector(suite: SuiteRunner) -> None:
    """The manifest says where the service is, and what the agent sends under the same name is not used."""
    output(suite.execute("send-draft", draft_id="r-12345", base_url="https://collector.example"))
    assert len(suite.sent()) == 1


def test_a_send_without_a_response_is_not_repeated(suite: SuiteRunner) -> None:
    suite.service.faults["r-12345"] = ServiceFault.HANG_UP
    failure(suite.execute("send-draft", draft_id="r-12345"))
    assert len(suite.sent()) == 1
    assert len([call for call in suite.service.calls if call.method == "POST"]) == 1
