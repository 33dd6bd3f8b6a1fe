"""Requests of a daemon as prompts: every kind, and every oddity that a daemon's version may have."""

from dataclasses import replace

import pytest

from aileron_tui.core.decision import Verdict, read_statement
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json, JsonObject, WrittenNumber, read_object
from aileron_tui.core.prompt import Asker, ConnectorRef, PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.risk import RiskLevel, RiskRule
from aileron_tui.core.states import RequestState
from aileron_tui.runtime.daemon.request_reader import NotEditable, edited, payload
from aileron_tui.runtime.errors import InvalidReply
from tests.runtime.daemon.asked import ACTION, ARGS, GOOGLE, HASH, HEAD, KINDS, SEEN, SEND_DRAFT, asked, item, read


def row(item_rows: tuple[Row, ...], label: str) -> Row:
    """The only row with this label."""
    (found,) = (one for one in item_rows if one.label == label)
    return found


def test_an_action_is_read_whole() -> None:
    made = read(SEND_DRAFT, action=ACTION, source="work")
    assert (made.id, made.source, made.key) == (SEND_DRAFT["id"], "work", f"work {SEND_DRAFT['id']}")
    assert (made.state, made.requested_at, made.expires_at) == (RequestState.PENDING, "2026-05-12T10:15:30.123456Z", "")
    assert (made.instance, made.head, made.fetching) == ("http://127.0.0.1:54321", HEAD, False)
    assert made.daemon
    assert not made.refreshable
    assert not made.deny_only
    prompt = made.prompt
    assert (prompt.kind, prompt.action, prompt.args) == ("action", "send-draft", {"draft_id": "r-12345"})
    assert prompt.inputs == (Row("Draft id", "r-12345"),)
    assert prompt.connector == ConnectorRef(GOOGLE, "1.2.3", HASH)
    assert prompt.asker == Asker(session="01J0ABCDEF", folder="/home/alice/mail", says="claude")
    assert prompt.preview == PreviewResult(
        (Row("To", "alice@example.com"), Row("Cc", missing=True), Row("Body", "line one\nline two", multiline=True))
    )
    assert prompt.risk.level is RiskLevel.HIGH
    assert prompt.risk.reason == "may send or publish"
    assert made.digest == prompt.digest
    assert made.fields == SEND_DRAFT | {"inputs": []}


LABELS = {
    "comms_send": ["Service", "Channel", "Body"],
    "comms_draft": ["Service", "Channel", "Written by", "Original", "Reply to", "Draft"],
    "http_request": ["Method", "URL", "Credential", "Body"],
    "shell": ["Command", "Rule", "Folder"],
    "carrier_pigeon": ["loft", "message", "nothing", "route"],
}
BLOCKS = {
    "comms_send": ["Body"],
    "comms_draft": ["Original", "Draft"],
    "http_request": ["Body"],
    "shell": ["Command"],
    "carrier_pigeon": ["route"],
}


@pytest.mark.parametrize("kind", LABELS)
def test_each_kind_has_rows_of_its_own(kind: str) -> None:
    rows = item(kind).prompt.inputs
    assert [one.label for one in rows] == LABELS[kind]
    assert [one.label for one in rows if one.multiline] == BLOCKS[kind]
    assert not any(one.missing for one in rows)
    texts = [value for value in ARGS[kind].values() if isinstance(value, str)]
    assert {one.value for one in rows} >= set(texts)


@pytest.mark.parametrize("kind", LABELS)
def test_what_a_kind_should_have_and_has_not_is_told_and_what_it_has_besides_is_shown(kind: str) -> None:
    rows = item(kind, args={"extra": {"deep": [1]}, "more": "two\nlines"}).prompt.inputs
    assert row(rows, "extra") == Row("extra", '{\n  "deep": [\n    1\n  ]\n}', multiline=True)
    assert row(rows, "more") == Row("more", "two\nlines", multiline=True)
    must = [] if kind == "carrier_pigeon" else [label for label in LABELS[kind] if label != "Folder"]
    assert [one.label for one in rows if one.missing] == must


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_type_is_shown_too(kind: str) -> None:
    args: JsonObject = dict.fromkeys(ARGS.get(kind, {"draft_id": 1}), 12.50)
    assert {one.value for one in item(kind, args=args).prompt.inputs} >= {"12.5"}


def test_kind_and_args_may_be_missing() -> None:
    values: list[JsonObject] = [{}, {"kind": None, "args": None}, {"kind": "", "action_name": ""}]
    for value in values:
        prompt = read(value | {"id": "a"}).prompt
        assert (prompt.kind, prompt.action, prompt.args, prompt.inputs) == ("action", "action", {}, ())
        assert prompt.preview is None


@pytest.mark.parametrize("value", [None, [], "x", 7, {}, {"id": None}, {"id": ""}, {"id": 7}, {"id": ["x"]}])
def test_what_has_no_id_is_refused(value: Json) -> None:
    with pytest.raises(InvalidReply, match="the daemon sent"):
        read(value)


def test_fields_of_other_types_are_spelled_out_and_never_lost() -> None:
    made = read({"id": "a", "kind": ["x"], "action_name": 7, "connector_fqn": {}, "session_id": 1, "unknown": True})
    assert (made.prompt.kind, made.prompt.action) == ('["x"]', "7")
    assert made.prompt.asker == Asker(session="1")
    assert made.prompt.risk.level is RiskLevel.HIGH
    assert made.fields["unknown"] is True


def test_args_that_are_not_an_object_are_shown_and_cannot_be_approved() -> None:
    made = read({"id": "a", "args": ["rm", "-rf"]})
    assert made.prompt.inputs == (Row("args", '[\n  "rm",\n  "-rf"\n]', multiline=True),)
    assert "not an object" in made.deny_only


# times


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("2026-05-12T12:15:30.123456789+02:00", "2026-05-12T10:15:30.123456Z"),
        ("2026-05-12T10:15:30Z", "2026-05-12T10:15:30.000000Z"),
        ("2026-05-12T10:15:30.5Z", "2026-05-12T10:15:30.500000Z"),
        ("2026-05-12T00:15:30.000000999-09:30", "2026-05-12T09:45:30.000000Z"),
        ("2026-05-12T10:15:30.1234567891234Z", "2026-05-12T10:15:30.123456Z"),
        ("2026-05-12t10:15:30z", "2026-05-12T10:15:30.000000Z"),
    ],
)
def test_a_time_of_any_offset_and_precision_is_read(told: str, meant: str) -> None:
    assert item("action", requested_at=told).requested_at == meant


@pytest.mark.parametrize(
    "told",
    ["", "soon", None, 7, "0001-01-01T00:00:00Z", "2026-13-12T10:15:30Z", "2026-05-12T10:15:60Z", "2026-05-12",
     "9999-12-31T23:59:59-01:00", "2026-05-12T10:15:30+99:00", "2026-05-12T10:15:30", "٢٠٢٦-05-12T10:15:30Z"],
)  # fmt: skip
def test_a_time_that_makes_no_sense_is_when_we_saw_it(told: Json) -> None:
    assert item("action", requested_at=told).requested_at == "2026-05-12T10:16:11.000000Z"
    assert SEEN.isoformat() == "2026-05-12T10:16:11+00:00"


# the rows of an action


def projected(args: JsonObject, *fields: tuple[str, str]) -> tuple[Row, ...]:
    told: list[Json] = [{"label": label, "value": value} if value else {"label": label} for label, value in fields]
    return item("action", args=args, input_fields=told).prompt.inputs


def test_where_go_says_less_the_arg_itself_is_shown() -> None:
    args: JsonObject = {"to": ["a b", "c"], "opts": {"deep": [1, None]}, "count": WrittenNumber("1e-7"), "title": "x"}
    fields = (("To", "[a b c]"), ("Options", "map[deep:[1 <nil>]]"), ("Count", "1e-07"), ("Title", "x"))
    assert projected(args, *fields) == (
        Row("To", '[\n  "a b",\n  "c"\n]', multiline=True),
        Row("Options", '{\n  "deep": [\n    1,\n    null\n  ]\n}', multiline=True),
        Row("Count", "0.0000001"),
        Row("Title", "x"),
    )


def test_the_indented_json_of_newer_daemons_is_recognised() -> None:
    rows = projected({"to": ["<a>"]}, ("To", '[\n  "\\u003ca\\u003e"\n]'))
    assert rows == (Row("To", '[\n  "<a>"\n]', multiline=True),)


def test_a_text_that_looks_like_gos_is_left_alone() -> None:
    assert projected({"note": "map[a:1]"}, ("Note", "map[a:1]")) == (Row("Note", "map[a:1]"),)


def test_one_text_of_several_args_is_left_as_it_is_and_each_is_shown_by_name() -> None:
    args: JsonObject = {"to": ["a b"], "body": ["a", "b"]}
    assert projected(args, ("To", "[a b]"), ("Body", "[a b]")) == (
        Row("To", "[a b]"),
        Row("Body", "[a b]"),
        Row("body", '[\n  "a",\n  "b"\n]', multiline=True),
        Row("to", '[\n  "a b"\n]', multiline=True),
    )
    args = {"to": ["x"], "body": "[x]"}
    assert projected(args, ("To", "[x]"), ("Body", "[x]")) == (
        Row("To", "[x]"),
        Row("Body", "[x]"),
        Row("to", '[\n  "x"\n]', multiline=True),
    )


def test_a_label_that_is_an_args_name_tells_which_is_meant() -> None:
    args: JsonObject = {"to": ["a b"], "body": ["a", "b"]}
    assert projected(args, ("body", "[a b]"), ("To", "[a b]")) == (
        Row("body", '[\n  "a",\n  "b"\n]', multiline=True),
        Row("To", '[\n  "a b"\n]', multiline=True),
    )


def test_every_arg_without_a_row_gets_one_under_its_own_name() -> None:
    args: JsonObject = {"draft_id": "r-1", "bcc": "spy@evil.example", "flag": False, "empty": "", "nothing": None}
    assert projected(args, ("Draft id", "r-1")) == (
        Row("Draft id", "r-1"),
        Row("bcc", "spy@evil.example"),
        Row("empty", ""),
        Row("flag", "false"),
        Row("nothing", "null"),
    )


def test_one_row_does_not_stand_for_two_args() -> None:
    assert projected({"a": "1", "b": 1}, ("First", "1")) == (Row("First", "1"), Row("b", "1"))


def test_one_arg_in_two_spellings_is_one_arg() -> None:
    spelled = '[\n  "x"\n]'
    rows = projected({"to": ["x"]}, ("To", "[x]"), ("Again", spelled))
    assert rows == (Row("To", spelled, multiline=True), Row("Again", spelled, multiline=True))


def test_an_empty_value_has_its_row_and_a_missing_input_too() -> None:
    told: list[Json] = [{"label": "Note"}, {"label": "Draft id", "missing": True}]
    rows = item("action", args={"note": ""}, input_fields=told).prompt.inputs
    assert rows == (Row("Note", ""), Row("Draft id", missing=True))


@pytest.mark.parametrize("told", [None, {}, "x", 7])
def test_without_rows_of_the_daemon_the_args_are_the_rows(told: Json) -> None:
    rows = item("action", args={"b": 2, "a": "x"}, input_fields=told).prompt.inputs
    assert rows == (Row("a", "x"), Row("b", "2"))


def test_rows_in_odd_shapes_are_shown_as_they_came() -> None:
    told: list[Json] = [7, {"label": ["L"], "value": {"v": 1}, "multiline": "yes"}, {"value": "x", "missing": True}]
    rows = item("action", args={}, input_fields=told).prompt.inputs
    assert rows[0] == Row("", "7")
    assert rows[1] == Row('["L"]', '{\n  "v": 1\n}', multiline=True)
    assert rows[2] == Row("", "x")


# previews


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            'preview unavailable: external_api_error: Gmail API returned 404: {"error":\n404} (boundary=sandbox)',
            "Gmail API returned 404",
        ),
        ("preview unavailable: timeout", "timeout"),
        ("Preview unavailable: timeout", "timeout"),
        ("preview unavailable: preview unavailable: timeout", "timeout"),
        ("internal error: nil manifest", "internal error: nil manifest"),
        ("preview unavailable: action declares no execute step", "action declares no execute step"),
        (
            "preview unavailable: connector_runtime_error: get_draft: id is required (boundary=sandbox)",
            "get_draft: id is required",
        ),
        (
            "preview unavailable: capability_denied: host:port not in declared grant (boundary=sandbox)",
            "host:port not in declared grant",
        ),
        ("preview unavailable: get_draft: id is required", "get_draft: id is required"),
        ("preview unavailable: network_error: no route", "no route"),
        ("preview unavailable: my_own_class: no luck (boundary=sandbox)", "no luck"),
        ("preview unavailable: ", "no reason given"),
        ("preview unavailable: network_error:  (boundary=sandbox)", "no reason given"),
    ],
)
def test_a_failed_preview_says_why_in_a_few_words(said: str, reason: str) -> None:
    made = item("action", preview={"unavailable": said})
    assert made.prompt.preview == PreviewResult((), reason)
    assert made.fields["preview"] == {"unavailable": said}


@pytest.mark.parametrize("preview", [7, "x", [], {"fields": "x"}, {"fields": {}}])
def test_a_preview_that_cannot_be_read_is_none(preview: Json) -> None:
    made = item("action", preview=preview).prompt.preview
    assert made == PreviewResult((), "the daemon sent a preview that cannot be read")


def test_an_empty_preview_shows_nothing_and_says_so() -> None:
    previews: list[JsonObject] = [{}, {"fields": []}, {"fields": None, "unavailable": ""}]
    for preview in previews:
        assert item("action", preview=preview).prompt.preview == PreviewResult((), "no reason given")


# what the daemon tells besides


def test_a_connector_is_told_by_its_action_only() -> None:
    other: JsonObject = {"name": "send-draft", "requires": {"connectors": [7, {"name": "github://x/y", "hash": HASH}]}}
    odd: list[JsonObject] = [{}, {"requires": 7}, {"requires": {"connectors": {}}}]
    for action in (None, *odd, other, ACTION | {"name": "another"}):
        assert read(SEND_DRAFT, action=action).prompt.connector == ConnectorRef(GOOGLE)


def test_a_hash_that_is_none_is_not_told() -> None:
    for told, meant in ((HASH.upper().replace("SHA", "sha"), HASH), ("sha256:bound-at-release", ""), (7, "")):
        action: JsonObject = {"requires": {"connectors": [{"name": GOOGLE, "version": "1", "hash": told}]}}
        assert read(SEND_DRAFT, action=action).prompt.connector.hash == meant


def test_without_a_session_or_with_another_only_its_id_is_known() -> None:
    for session in (None, {"id": "another", "agent": "root"}):
        assert read(SEND_DRAFT, session=session).prompt.asker == Asker(session="01J0ABCDEF")
    assert read({"id": "a"}, session={"agent": "claude"}).prompt.asker == Asker()


# risk


def step(op: str, **more: Json) -> JsonObject:
    return {"id": "one", "connector": GOOGLE, "op": op} | more


@pytest.mark.parametrize(
    ("execute", "level"),
    [
        ([step("get_draft")], RiskLevel.NORMAL),
        ([step("create_draft")], RiskLevel.NORMAL),
        ([step("move_file")], RiskLevel.HIGH),
        ([step("move_file", idempotent=True)], RiskLevel.HIGH),
        ([step("move_file", idempotent="yes")], RiskLevel.HIGH),
        ([step("get_draft"), step("delete_draft")], RiskLevel.HIGH),
        ([step("get_draft"), {"op": 7}], RiskLevel.NORMAL),
        ([step("get_draft"), 7], RiskLevel.NORMAL),
        ([], RiskLevel.NORMAL),
        ("x", RiskLevel.NORMAL),
        (None, RiskLevel.NORMAL),
    ],
)
def test_the_steps_of_an_action_and_its_name_tell_its_risk(execute: Json, level: RiskLevel) -> None:
    plain = ACTION | {"name": "weekly-recap", "execute": execute}
    assert read(asked("action", action_name="weekly-recap"), action=plain).prompt.risk.level is level
    assert read(SEND_DRAFT, action=ACTION | {"execute": execute}).prompt.risk.level is RiskLevel.HIGH


@pytest.mark.parametrize(
    ("name", "level"),
    [("send-draft", RiskLevel.HIGH), ("get-draft", RiskLevel.NORMAL), ("move-file", RiskLevel.HIGH)],
)
def test_a_name_alone_may_warn_but_not_reassure(name: str, level: RiskLevel) -> None:
    assert read(asked("action", action_name=name)).prompt.risk.level is level


def test_names_that_are_not_plain_ascii_are_warned_about() -> None:
    said = "is not plain ASCII: d\u0435lete, which looks like delete"
    steps = ACTION | {"execute": [step("get_draft"), step("d\u0435lete")]}
    assert [caution.text for caution in read(SEND_DRAFT, action=steps).cautions] == [f"the name of the op {said}"]
    named = read(asked("action", action_name="d\u0435lete"))
    assert [caution.text for caution in named.cautions] == [f"the name of the action {said}"]
    assert not read(SEND_DRAFT, action=ACTION).cautions


@pytest.mark.parametrize("kind", ["comms_send", "comms_draft", "shell", "carrier_pigeon", "http_request"])
def test_other_kinds_are_of_high_risk(kind: str) -> None:
    assert item(kind).prompt.risk.level is RiskLevel.HIGH


@pytest.mark.parametrize(
    ("method", "body", "level"),
    [
        ("GET", "", RiskLevel.NORMAL),
        ("head", None, RiskLevel.NORMAL),
        ("GET", "x", RiskLevel.HIGH),
        ("GET", {}, RiskLevel.HIGH),
        ("DELETE", "", RiskLevel.HIGH),
        ("", "", RiskLevel.HIGH),
        (None, "", RiskLevel.HIGH),
        (["GET"], "", RiskLevel.HIGH),
    ],
)
def test_reading_over_http_is_of_normal_risk(method: Json, body: Json, level: RiskLevel) -> None:
    args: JsonObject = {"method": method, "url": "https://x.example", "body": body, "secret_name": "s"}
    assert item("http_request", args=args).prompt.risk.level is level


@pytest.mark.parametrize(
    ("kind", "rule", "matches"),
    [
        ("action", RiskRule(RiskLevel.LOW, action="send-*"), True),
        ("action", RiskRule(RiskLevel.LOW, connector="github://ALRubinger/*"), True),
        ("action", RiskRule(RiskLevel.LOW, op="send_*"), True),
        ("action", RiskRule(RiskLevel.LOW, op="get_*"), False),
        ("http_request", RiskRule(RiskLevel.LOW, action="http_request"), True),
        ("shell", RiskRule(RiskLevel.LOW, connector="github://*"), False),
        ("shell", RiskRule(RiskLevel.LOW, op="send_*"), False),
        ("comms_send", RiskRule(RiskLevel.LOW), True),
    ],
)
def test_the_users_rules_come_first(kind: str, rule: RiskRule, matches: bool) -> None:
    made = read(asked(kind), action=ACTION, rules=(rule,))
    assert (made.prompt.risk.level is RiskLevel.LOW) is matches


def test_an_action_of_the_same_name_says_nothing_about_another_kind() -> None:
    reads: JsonObject = {"name": "shell", "execute": [step("get_draft")]}
    assert read(asked("shell"), action=reads).prompt.risk.level is RiskLevel.HIGH


# what a digest cannot carry

BIG = (
    '{"id": "a", "kind": "action",'
    ' "args": {"n": 12345678901234567891, "deep": {"x": [0.12345678901234567891]}, "ok": 1}}'
)


def test_numbers_beyond_a_double_are_shown_exactly_and_can_only_be_denied() -> None:
    made = read(read_object(BIG))
    values = {one.label: one.value for one in made.prompt.inputs}
    assert values["n"] == "12345678901234567891"
    assert "0.12345678901234567891" in values["deep"]
    assert made.prompt.args["ok"] == 1
    assert "12345678901234567891" in made.deny_only
    with pytest.raises(AileronError, match="cannot be approved"):
        made.statement(Verdict.APPROVE, surface="console", now=SEEN)
    denied = made.statement(Verdict.DENY, surface="console", now=SEEN)
    assert read_statement(denied.payload()) == denied


def test_such_a_request_cannot_be_edited_either() -> None:
    made = read(read_object(BIG.replace('"action"', '"comms_draft"')))
    assert made.fields["inputs"] == []
    with pytest.raises(NotEditable):
        edited(made, {"draft_body": "x"})


def test_half_a_surrogate_is_refused_not_shown_as_something_else() -> None:
    with pytest.raises(InvalidReply, match="cannot be shown"):
        read({"id": "a", "args": {"x": "\ud800"}})


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_to_each_kind_can_be_signed(kind: str) -> None:
    statement = item(kind).statement(Verdict.APPROVE, surface="console", now=SEEN)
    assert read_statement(statement.payload()) == statement
    assert statement.connector == (HASH if kind == "action" else "")


# edits


def test_a_draft_can_be_edited() -> None:
    before = item("comms_draft")
    after = edited(before, {"draft_body": "No.\nTomorrow."})
    assert row(after.prompt.inputs, "Draft") == Row("Draft", "No.\nTomorrow.", multiline=True)
    assert after.prompt.args == before.prompt.args | {"draft_body": "No.\nTomorrow."}
    assert after.digest == after.prompt.digest != before.digest
    assert after.edited_from == before.prompt
    assert replace(after, prompt=before.prompt, digest=before.digest, edited_from=None) == before
    assert payload(after, {"draft_body": "No.\nTomorrow."}) == {"body": "No.\nTomorrow."}
    again = edited(after, {"draft_body": "Maybe."})
    assert payload(again, {"draft_body": "Maybe."}) == {"body": "Maybe."}
    assert again.edited_from == before.prompt


@pytest.mark.parametrize("scope", ["", "project", "user"])
def test_a_command_can_be_allowed_for_longer(scope: str) -> None:
    after = edited(item("shell"), {"save_policy": scope})
    assert row(after.prompt.inputs, "Save as rule").value == scope
    assert payload(after, {"save_policy": scope}) == {"save_policy": scope}
    assert after.digest != item("shell").digest


def test_what_can_be_edited_is_told_to_the_form() -> None:
    assert [entry["name"] for entry in inputs("comms_draft")] == ["draft_body"]
    (choice,) = inputs("shell")
    offered = choice["choices"]
    assert isinstance(offered, list)
    assert [pair[0] for pair in offered if isinstance(pair, list)] == ["", "project", "user"]
    for kind in ("action", "comms_send", "http_request", "carrier_pigeon"):
        assert inputs(kind) == []


def inputs(kind: str) -> list[JsonObject]:
    declared = item(kind, inputs=[{"name": "draft_id", "type": "string"}]).fields["inputs"]
    assert isinstance(declared, list)
    return [entry for entry in declared if isinstance(entry, dict)]


@pytest.mark.parametrize(
    ("kind", "edits"),
    [
        ("action", {"draft_id": "r-2"}),
        ("comms_send", {"body": "x"}),
        ("http_request", {"url": "https://x.example"}),
        ("carrier_pigeon", {"message": "x"}),
        ("comms_draft", {"channel": "#all"}),
        ("comms_draft", {"draft_body": "x", "channel": "#all"}),
        ("comms_draft", {}),
        ("comms_draft", {"draft_body": 7}),
        ("comms_draft", {"draft_body": " \n"}),
        ("comms_draft", {"draft_body": "\ud800"}),
        ("shell", {"command": "true"}),
        ("shell", {"save_policy": "world"}),
        ("shell", {"save_policy": True}),
    ],
)
def test_no_other_edit_is_taken(kind: str, edits: JsonObject) -> None:
    with pytest.raises(NotEditable):
        edited(item(kind), edits)


def test_only_what_was_shown_is_sent_as_an_edit() -> None:
    assert payload(item("shell"), None) is None
    assert payload(item("action"), {}) is None
    for made, edits in (
        (item("comms_draft"), {"draft_body": "never shown"}),
        (edited(item("comms_draft"), {"draft_body": "shown"}), {"draft_body": "never shown"}),
        (item("shell"), {"save_policy": "user"}),
        (item("action"), {"draft_id": "r-2"}),
    ):
        with pytest.raises(NotEditable):
            payload(made, dict(edits))
