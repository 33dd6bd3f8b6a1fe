"""Values that are shown, signed or hashed cannot be changed once they are made, nor can anything inside them."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.entry_chain import ChainFault, Damage, Entry
from aileron_tui.core.frozen_json import FrozenArray, FrozenObject, frozen_object
from aileron_tui.core.jsontext import Json, JsonError, WrittenNumber, canonical, plain, read_object
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.core.request_queue import Lost, Queue, apply
from aileron_tui.core.states import RequestState
from aileron_tui.signing.envelope import Envelope
from tests.core.examples import prompt, statement

NESTED: dict[str, Json] = {"to": ["a@example.com", {"name": "x"}], "options": {"urgent": True}, "n": 1}


def entry() -> Entry:
    return Entry(1, "2026-05-12T10:15:30.000000Z", "request.made", "act-1", copy.deepcopy(NESTED))


def request() -> Request:
    shown = prompt()
    return Request(
        id="act-1",
        prompt=shown,
        digest=shown.digest,
        state=RequestState.PENDING,
        requested_at="",
        expires_at="",
        revision=0,
        fetching=False,
        instance="gate-1",
        head="",
        asked_again="",
        reason="",
        fields={},
    )


@pytest.mark.parametrize(
    "value",
    [
        prompt(),
        prompt().preview,
        prompt().asker,
        prompt().connector,
        prompt().risk,
        Row("To", "a@example.com"),
        PreviewResult((), "timeout"),
        statement(),
        entry(),
        request(),
        Envelope(b"{}", "type", "key", b"signature"),
        ChainFault(1, Damage.CHANGED, "detail"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_attribute_can_be_assigned_or_deleted(value: Any) -> None:
    before = repr(value)
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, None)
        with pytest.raises(FrozenInstanceError):
            delattr(value, field.name)
    with pytest.raises(FrozenInstanceError):
        value.something_new = 1
    assert repr(value) == before


CHANGES: list[Callable[[Any], object]] = [
    lambda it: it.update(n=2),
    lambda it: it.__setitem__("n", 2),
    lambda it: it.__delitem__("n"),
    lambda it: it.__ior__({"n": 2}),
    lambda it: it.pop("n"),
    lambda it: it.popitem(),
    lambda it: it.clear(),
    lambda it: it.setdefault("new", 2),
    lambda it: it["options"].update(urgent=False),
    lambda it: it["to"].append("b@example.com"),
    lambda it: it["to"].__setitem__(0, "b@example.com"),
    lambda it: it["to"].__delitem__(0),
    lambda it: it["to"].__iadd__(["b@example.com"]),
    lambda it: it["to"].__imul__(2),
    lambda it: it["to"].extend(["b@example.com"]),
    lambda it: it["to"].insert(0, "b@example.com"),
    lambda it: it["to"].pop(),
    lambda it: it["to"].remove("a@example.com"),
    lambda it: it["to"].reverse(),
    lambda it: it["to"].sort(),
    lambda it: it["to"].clear(),
    lambda it: it["to"][1].update(name="y"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_inside_can_be_changed_through_the_value(change: Callable[[Any], object]) -> None:
    asked, signed = replace(prompt(), args=NESTED), replace(statement(), edits=NESTED)
    for held in (asked.args, signed.edits, entry().body, replace(request(), fields=NESTED).fields):
        with pytest.raises(TypeError, match="cannot be changed"):
            change(held)
        assert held == NESTED
    assert asked.fields()["args"] == NESTED


def test_changing_what_a_value_was_made_from_does_not_change_it() -> None:
    args: Any = copy.deepcopy(NESTED)
    asked = replace(prompt(), args=args)
    digest = asked.digest
    args["to"].append("b@example.com")
    args["options"]["urgent"] = False
    args["new"] = 1
    assert (asked.args, asked.digest) == (NESTED, digest)


def test_a_tuple_in_json_is_frozen_like_an_array() -> None:
    inside: list[Json] = [1]
    args: Any = {"a": (inside, {"b": (inside,)})}
    asked = replace(prompt(), args=args)
    digest = asked.digest
    inside.append(2)
    assert (asked.args, asked.digest) == ({"a": [[1], {"b": [[1]]}]}, digest)


def test_a_frozen_object_made_by_hand_freezes_what_is_in_it() -> None:
    inside: Any = [1]
    held: list[Json] = [inside, FrozenArray([inside, {"b": inside}])]
    for value in held:
        asked = replace(prompt(), args=FrozenObject({"a": value}))
        digest = asked.digest
        inside.append(2)
        assert asked.digest == digest


def test_rows_and_cautions_given_as_a_list_are_held_as_a_tuple() -> None:
    rows: Any = [Row("To", "a@example.com")]
    cautions: Any = []
    asked = replace(prompt(), inputs=rows, preview=PreviewResult(rows))
    waits = replace(request(), cautions=cautions)
    digest = asked.digest
    rows.append(Row("Cc", "b@example.com"))
    cautions.append("x")
    assert (asked.digest, waits.cautions) == (digest, ())


def test_nothing_can_be_changed_through_a_queue() -> None:
    queue: Any = Queue({"act-1": request()}, {"work": "10:00"})
    later: Any = apply(queue, Lost("10:05", "home"))
    for held in (queue.requests, queue.stale, later.requests, later.stale):
        with pytest.raises(TypeError):
            held["x"] = 1
    assert replace(queue).requests is queue.requests


def test_every_method_of_a_dict_or_list_that_changes_it_is_refused() -> None:
    reading = {"copy", "fromkeys", "get", "items", "keys", "values", "count", "index"}
    for kind, base in ((FrozenObject, dict), (FrozenArray, list)):
        for name in dir(base):
            if name.startswith("__") and name not in {"__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__"}:
                continue
            assert name in reading or getattr(kind, name) is not getattr(base, name), name


def test_a_frozen_object_is_copied_as_it_is_and_merged_into_an_ordinary_one() -> None:
    held = entry().body
    assert frozen_object(held) is copy.copy(held) is copy.deepcopy(held) is held
    assert pickle.loads(pickle.dumps(held)) == held
    merged = held | {"n": 2}
    merged["n"] = 3
    assert (type(merged), held["n"]) == (dict, 1)


def test_a_number_keeps_how_it_was_written() -> None:
    number = read_object('{"n":1.50}')["n"]
    assert isinstance(number, WrittenNumber)
    with pytest.raises(AttributeError):
        number.text = "9.99"
    assert plain(number) == "1.50"


def test_a_number_can_be_copied_and_pickled() -> None:
    number = WrittenNumber("1.50")
    assert copy.copy(number) is copy.deepcopy(number) is number
    pickled = pickle.loads(pickle.dumps(number))
    assert (type(pickled), pickled, pickled.text) == (WrittenNumber, 1.5, "1.50")
    held = replace(entry(), body={"amounts": [number]})
    assert asdict(held)["body"] == copy.deepcopy(held).body == pickle.loads(pickle.dumps(held)).body == held.body


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=9), values, max_size=5))
def test_frozen_json_is_equal_and_written_alike(value: dict[str, Json]) -> None:
    held = frozen_object(value)
    assert held == value
    assert canonical(held) == canonical(value)
    assert plain(held) == plain(value)


def test_what_is_nested_too_deeply_is_refused() -> None:
    value: Json = 0
    for _ in range(100_000):
        value = [value]
    with pytest.raises(JsonError, match="nested too deeply"):
        frozen_object({"x": value})
