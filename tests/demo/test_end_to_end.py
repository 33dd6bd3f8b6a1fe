"""The committed connectors in the real sandbox against the real sample service, through the suite's own manifests."""

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
from aileron_tui.sandbox.credentials import Binding, Credentials, FromEnvironment
from aileron_tui.sandbox.execution import Execution
from aileron_tui.sandbox.failure import Failure
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.sandbox.sandbox import Sandbox


@dataclass
class Bench:
    """Runs the suite's actions against one service."""

    service: SampleService
    actions: dict[str, Action]
    sandbox: Sandbox

    def execute(self, action: str, **args: Json) -> Execution:
        """What the action does."""
        return self.sandbox.execute(self.actions[action], args)

    def preview(self, action: str, **args: Json) -> dict[str, str]:
        """The preview rows as label and text; the reason under "unavailable" if there are none."""
        outcome = self.sandbox.preview(self.actions[action], args)
        assert outcome is not None
        if outcome.failure:
            return {"unavailable": outcome.result.unavailable}
        return {row.label: "n/a" if row.missing else row.value for row in outcome.result.rows}

    def sent(self) -> list[str]:
        """The texts of the mails that left."""
        return [mail.text for mail in self.service.sent]


@pytest.fixture
def bench(service: SampleService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    suite = materialise(tmp_path / "suite", service.port)
    monkeypatch.setenv("SAMPLE_MAIL", MAIL_CREDENTIAL)
    monkeypatch.setenv("SAMPLE_FILES", FILES_CREDENTIAL)
    credentials = Credentials(
        {
            "local://aileron/mail": Binding(FromEnvironment("SAMPLE_MAIL")),
            "local://aileron/files": Binding(FromEnvironment("SAMPLE_FILES")),
        }
    )
    with Sandbox(read_packages(suite), SandboxSettings(credentials=credentials)) as sandbox:
        yield Bench(service, dict(load_bundle(suite).actions), sandbox)


def failure(execution: Execution) -> Failure:
    assert execution.failure is not None
    return execution.failure


def output(execution: Execution) -> dict[str, Json]:
    assert execution.failure is None, execution.failure
    answer = execution.result["output"]
    assert isinstance(answer, dict)
    return answer


def test_the_worked_example(bench: Bench) -> None:
    rows = bench.preview("send-draft", draft_id="r-12345")
    assert list(rows) == ["To", "Subject", "Body"]
    assert (rows["To"], rows["Subject"]) == ("team@example.com", "Weekly recap")
    assert rows["Body"] == sample_data.DRAFTS["r-12345"].body
    assert bench.sent() == []
    assert output(bench.execute("send-draft", draft_id="r-12345"))["labelIds"] == ["SENT"]
    assert bench.sent() == [rows["Body"]]


def test_an_id_that_is_no_draft(bench: Bench) -> None:
    assert bench.preview("send-draft", draft_id=sample_data.NOT_A_DRAFT) == {"unavailable": "Gmail API returned 404"}
    failed = failure(bench.execute("send-draft", draft_id=sample_data.NOT_A_DRAFT))
    assert failed.kind == "external_api_error"
    assert failed.message.startswith('Gmail API returned 404: {"error":')
    assert bench.sent() == []


@pytest.mark.parametrize("draft", sorted(sample_data.DRAFTS))
def test_every_draft_is_shown_whole(bench: Bench, draft: str) -> None:
    sample = sample_data.DRAFTS[draft]
    assert bench.preview("send-draft", draft_id=draft) == {
        "To": sample.to,
        "Subject": sample.subject,
        "Body": sample.body,
    }


def test_a_life_of_a_draft(bench: Bench) -> None:
    draft = output(bench.execute("draft-mail", to="zoë@example.com", subject="Grüße <1>", body="eins\n${args.to}"))[
        "id"
    ]
    assert output(bench.execute("list-drafts", limit=1))["drafts"] != []
    before = bench.preview("update-draft", draft_id=draft, body="zwei")
    assert before == {"To": "zoë@example.com", "Subject": "Grüße <1>", "Current body": "eins\n${args.to}"}
    output(bench.execute("update-draft", draft_id=draft, body="zwei"))
    after = bench.preview("delete-draft", draft_id=draft)
    assert after == {"To": "zoë@example.com", "Subject": "Grüße <1>", "Begins": "zwei"}
    output(bench.execute("update-draft", draft_id=draft, body="drei", subject="Neu"))
    message = output(bench.execute("get-draft", draft_id=draft))["message"]
    assert isinstance(message, dict)
    assert message["text"] == "drei"
    assert output(bench.execute("delete-draft", draft_id=draft)) == {"id": draft, "deleted": True}
    assert draft not in bench.service.mailbox.drafts


def test_an_update_keeps_the_headers_it_does_not_name(bench: Bench) -> None:
    mailbox = bench.service.mailbox
    draft = str(mailbox.create_draft("VG86IGFAeC5leGFtcGxlDQpDYzogYkB4LmV4YW1wbGUNClN1YmplY3Q6IHMNCg0KdA==")["id"])
    output(bench.execute("update-draft", draft_id=draft, body="new", to="c@x.example"))
    mail = mailbox.drafts[draft]
    assert [mail.header(name) for name in ("To", "Cc", "Subject")] == ["c@x.example", "b@x.example", "s"]


def test_a_mail_is_sent_with_what_was_shown_and_nothing_more(bench: Bench) -> None:
    output(bench.execute("send-mail", to="a@example.com", cc="b@example.com", subject="S", body="B"))
    (mail,) = bench.service.sent
    assert [name for name, _ in mail.headers] == ["From", "To", "Cc", "Subject", "Date"]
    for args in (
        {"to": "a@example.com\r\nBcc: c@example.com", "subject": "S"},
        {"to": "a@example.com", "subject": "S\nBcc: c@example.com"},
        {"to": "a@example.com", "subject": "S", "cc": "b@example.com\rX: y"},
    ):
        assert failure(bench.execute("send-mail", body="B", **args)).message.endswith("must be one line")
    assert len(bench.service.sent) == 1


def test_files_are_listed_moved_renamed_and_deleted(bench: Bench) -> None:
    listed = output(bench.execute("list-files", folder_id="d-inbox"))["files"]
    assert isinstance(listed, list)
    assert len(listed) == 3
    assert bench.preview("move-file", file_id="f-1001", folder_id="d-archive") == {
        "Name": "Quarterly report.pdf",
        "From folder": "d-inbox",
        "Owner": sample_data.ADDRESS,
        "Modified": "2026-05-11T16:20:00.000Z",
    }
    assert output(bench.execute("move-file", file_id="f-1001", folder_id="d-archive"))["parents"] == ["d-archive"]
    output(bench.execute("rename-file", file_id="f-1001", name="Q1 & Q2.pdf"))
    renamed = bench.preview("rename-file", file_id="f-1001", name="x")
    assert renamed == {"Current name": "Q1 & Q2.pdf", "In folder": "d-archive"}
    rows = bench.preview("delete-file", file_id="f-1001")
    assert rows["Bytes"] == "482133"
    assert rows["Description"] == sample_data.FILES["f-1001"].description
    assert '"emailAddress": "auditors@example.org"' in rows["Shared with"]
    assert bench.preview("delete-file", file_id="f-1002")["Description"] == "n/a"
    assert output(bench.execute("delete-file", file_id="f-1001")) == {"id": "f-1001", "deleted": True}
    assert bench.service.drive.deleted == ("f-1001",)


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
def test_a_preview_that_fails_says_why(bench: Bench, id_: str, said: str) -> None:
    assert bench.preview("send-draft", draft_id=id_) == {"unavailable": said}


def test_an_op_that_does_not_exist_ends_the_module(bench: Bench) -> None:
    action = bench.actions["send-draft"]
    (step,), (requirement,) = action.execute, action.requires
    odd = replace(
        action,
        execute=(replace(step, op="no_such_op"),),
        requires=(replace(requirement, capabilities=("no_such_op",)),),
    )
    failed = failure(bench.sandbox.execute(odd, {"draft_id": "r-12345"}))
    assert failed.message == "connector exited 1; stderr: unknown op no_such_op\n"


def test_an_agent_cannot_turn_the_connector_elsewhere(bench: Bench) -> None:
    turned = bench.execute("send-draft", draft_id="r-12345", base_url="https://collector.example")
    assert failure(turned).kind == "capability_denied"
    assert bench.service.calls == ()


def test_a_send_without_an_answer_is_sent_once(bench: Bench) -> None:
    bench.service.faults["r-12345"] = ServiceFault.HANG_UP
    failure(bench.execute("send-draft", draft_id="r-12345"))
    assert len(bench.sent()) == 1
    assert len([call for call in bench.service.calls if call.method == "POST"]) == 1
