"""What each step would send: the one value that is shown, signed and run."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from aileron_tui.core.action import Input, Requirement, Step
from aileron_tui.core.jsontext import Json, JsonError, JsonObject, canonical, read_object
from aileron_tui.core.prompt import ConnectorRef
from aileron_tui.core.resolved_call import ResolvedCall, resolve_call
from tests.core.examples import HASH, MAIL, SENT, action

CONNECTORS = {MAIL: ConnectorRef(MAIL, "1.0.0", HASH, "unsigned")}


def resolved(inputs: Mapping[str, Json], args: str | JsonObject) -> ResolvedCall:
    """A call of an action with one step that has these inputs; `args` may be JSON text, as an agent sends it."""
    step = Step("send", MAIL, "send_draft", False, dict(inputs))
    given = read_object(args) if isinstance(args, str) else args
    return resolve_call(replace(action(), execute=(step,)), given, CONNECTORS)


def sent(inputs: Mapping[str, Json], args: str | JsonObject) -> JsonObject:
    """What the step would send."""
    return resolved(inputs, args).steps[0].inputs


def test_a_key_of_the_manifest_is_never_overridden() -> None:
    manifest: JsonObject = {"to": "team@example.com", "path": "/drafts/${args.draft_id}", "nested": {"to": "x"}}
    args: JsonObject = {"draft_id": "r-1", "to": "mallory@evil.example", "path": "/", "nested": {"to": "y"}}
    assert sent(manifest, args) == {
        "to": "team@example.com",
        "path": "/drafts/r-1",
        "nested": {"to": "x"},
        "draft_id": "r-1",
    }


def test_inputs_that_the_step_does_not_define_keep_their_types() -> None:
    args = '{"limit": 5, "on": true, "list": [1, "a"], "table": {"k": 1.5}}'
    assert sent({}, args) == {"limit": 5, "on": True, "list": [1, "a"], "table": {"k": 1.5}}


def test_an_input_under_its_own_name_keeps_its_type_and_under_another_becomes_text() -> None:
    assert sent({"limit": "${args.limit}", "max": "${args.limit}"}, {"limit": 5}) == {"limit": 5, "max": "5"}


@pytest.mark.parametrize("args", [{}, {"cc": None}])
def test_an_optional_input_that_was_not_given_is_not_sent(args: JsonObject) -> None:
    manifest: JsonObject = {"cc": "${args.cc}", "note": "cc: ${args.cc}", "all": ["${args.cc}", "x"], "static": 1}
    assert sent(manifest, args) == {"all": ["x"], "static": 1}


def test_text_of_an_agent_that_looks_like_a_template_stays_text() -> None:
    args: JsonObject = {"a": "${args.b}", "b": "secret"}
    assert sent({"a": "${args.a}", "copy": "<${args.a}>"}, args) == {
        "a": "${args.b}",
        "copy": "<${args.b}>",
        "b": "secret",
    }


@pytest.mark.parametrize("text", ["1000", "1e3", "1000.0", "1E+3", "10.00e2"])
def test_one_number_has_one_spelling_everywhere(text: str) -> None:
    call = resolved({"n": "${args.n}", "path": "/files/${args.n}"}, f'{{"n": {text}}}')
    assert canonical(call.steps[0].inputs) == b'{"n":1000,"path":"/files/1000"}'
    assert canonical(call.args) == b'{"n":1000}'


@pytest.mark.parametrize(
    ("text", "spelled"),
    [("-0.0", "0"), ("0e-5", "0"), ("1.50", "1.5"), ("1e21", "1e+21"), ("0.0000001", "1e-7"), ("1e2", "100")],
)
def test_the_text_of_a_number_is_the_number_that_is_sent(text: str, spelled: str) -> None:
    inputs = sent({"text": "${args.n}"}, f'{{"n": {text}}}')
    assert canonical(inputs).decode() == f'{{"n":{spelled},"text":"{spelled}"}}'


@pytest.mark.parametrize("text", ["9007199254740993", "0.1000000000000000055511151231257827", "1e-399"])
def test_a_number_that_cannot_be_written_exactly_is_refused(text: str) -> None:
    with pytest.raises(JsonError, match=r"double"):
        sent({}, f'{{"n": [{text}]}}')


def test_every_step_has_its_own_connector_and_inputs() -> None:
    other = "local://samples/files"
    called = replace(
        action(),
        requires=(*action().requires, Requirement(other, "2.0.0", "sha256:" + "cd" * 32, ("remove",))),
        inputs=(*action().inputs, Input("x", "string", "X.", required=False)),
        execute=(*action().execute, Step("clean", other, "remove", None, {"all": True, "x": "${args.x}"})),
    )
    refs = CONNECTORS | {other: ConnectorRef(other, "2.0.0", "sha256:" + "cd" * 32, "unsigned")}
    first, second = resolve_call(called, {"draft_id": "r-1"}, refs).steps
    assert (first.id, first.op, first.connector, first.inputs) == (
        "send",
        "send_draft",
        refs[MAIL],
        {"draft_id": "r-1"},
    )
    assert (second.id, second.op, second.connector) == ("clean", "remove", refs[other])
    assert second.inputs == {"all": True, "draft_id": "r-1"}


def test_the_preview_gets_only_its_own_inputs() -> None:
    assert resolved({}, {"draft_id": "r-1", "more": 1}).preview_inputs == {"id": "r-1"}
    lacking = resolved({}, {"more": 1})
    assert (lacking.preview_inputs, lacking.preview_lacks) == (None, "draft_id")
    without = resolve_call(replace(action(), approval=replace(action().approval, preview=None)), {}, CONNECTORS)
    assert (without.preview_inputs, without.preview_lacks) == (None, "")


def test_a_resolved_call_cannot_be_changed() -> None:
    args: JsonObject = {"draft_id": "r-1", "list": [1]}
    call = resolved({}, args)
    args["draft_id"] = "r-2"
    assert isinstance(args["list"], list)
    args["list"].append(2)
    assert call.args == call.steps[0].inputs == {"draft_id": "r-1", "list": [1]}
    with pytest.raises(TypeError):
        call.steps[0].inputs["draft_id"] = "r-2"


@pytest.mark.parametrize(
    ("op", "warning"),
    [
        ("d\u0435lete_all", "the name of the op is not plain ASCII: d\u0435lete_all, which looks like delete_all"),
        ("\u67e5\u8be2", "the name of the op is not plain ASCII: \u67e5\u8be2"),
    ],
)
def test_an_op_whose_name_is_not_plain_ascii_is_warned_about(op: str, warning: str) -> None:
    """A manifest can have such ops, also in a later step; it is warned about once, beside other warnings."""
    steps = tuple(Step(f"s{number}", MAIL, name, False, {}) for number, name in enumerate(("send_draft", op, op)))
    for approval in (action().approval, replace(action().approval, preview=None)):
        called = replace(action(), execute=steps, approval=approval)
        for given in ({}, SENT):
            assert resolve_call(called, given, CONNECTORS, ("test setup",)).warnings == ("test setup", warning)
    assert resolve_call(action(), SENT, CONNECTORS).warnings == ()
