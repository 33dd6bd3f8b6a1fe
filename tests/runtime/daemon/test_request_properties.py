"""Whatever JSON a daemon sends: either there is no request in it, or every arg of it is shown."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from aileron_tui.core.decision import Verdict
from aileron_tui.core.jsontext import Json, JsonObject, canonical, plain, read
from aileron_tui.core.prompt import read_prompt
from aileron_tui.core.request import Request
from aileron_tui.runtime.errors import InvalidReply
from tests.daemon.gotext import encode, field_text
from tests.runtime.daemon.asked import ARGS, KINDS, SEEN
from tests.runtime.daemon.asked import read as request

text = st.text(max_size=8) | st.sampled_from(["map[a:1]", "[x y]", "[]", "1", "1e+06", "<nil>", "true", "null", "a b"])
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([10**6, 1, 2**70 + 1])
json = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
known = st.sampled_from(sorted({name for args in ARGS.values() for name in args} | {"save_policy"}))
args = st.dictionaries(known | text, json, max_size=5)
fields = st.fixed_dictionaries({}, optional={"label": known | json, "value": json, "missing": json, "multiline": json})
requests = st.fixed_dictionaries(
    {"id": text},
    optional={
        "kind": st.sampled_from(KINDS) | json,
        "action_name": json,
        "connector_fqn": json,
        "args": args | json,
        "session_id": json,
        "requested_at": json,
        "preview": st.fixed_dictionaries({}, optional={"fields": st.lists(fields | json) | json, "unavailable": json})
        | json,
        "input_fields": st.lists(fields | json, max_size=5) | json,
        "inputs": json,
    },
)


def shows_every_arg(item: Request, sent: JsonObject) -> None:
    values = Counter(row.value for row in item.prompt.inputs if not row.missing)
    told = Counter(plain(value) for value in sent.values() if value is not None)
    assert not told - values
    empty = sum(row.missing or row.value == "null" for row in item.prompt.inputs)
    assert empty >= sum(value is None for value in sent.values())


@given(requests | json, json, json)
@settings(max_examples=400, deadline=None)
def test_every_arg_is_shown_or_there_is_no_request(value: Json, action: Json, session: Json) -> None:
    about = {"action": action if isinstance(action, dict) else None}
    about["session"] = session if isinstance(session, dict) else None
    try:
        item = request(value, **about)
    except InvalidReply:
        assert not isinstance(value, dict) or not isinstance(value.get("id"), str) or not value["id"]
        return
    assert isinstance(value, dict)
    sent = value.get("args")
    shows_every_arg(item, sent if isinstance(sent, dict) else {} if sent is None else {"args": sent})
    assert item.digest == read_prompt(item.prompt.fields()).digest
    assert canonical(item.prompt.args)
    exact = item.prompt.args == ({} if sent is None else sent)
    assert bool(item.deny_only) is not exact
    item.statement(Verdict.DENY, surface="console", now=SEEN)


@given(st.dictionaries(text, json, max_size=5), st.data())
@settings(max_examples=300, deadline=None)
def test_the_rows_of_an_honest_daemon_are_shown_once_each(sent: JsonObject, data: st.DataObject) -> None:
    """Labels may be anything; rows are in any order; nothing is shown twice unless two texts are the same."""
    sent = read(encode(sent))  # type: ignore[assignment]  # a Go program has doubles only
    present = [name for name in sent if sent[name] is not None]
    order = data.draw(st.permutations(present))
    texts = [field_text(sent[name]) for name in order]
    told: list[Json] = [
        {"label": data.draw(st.just(name) | st.just(f"The {name}")), "value": shown}
        for name, shown in zip(order, texts, strict=True)
    ]
    item = request({"id": "a", "args": sent, "input_fields": told})
    shows_every_arg(item, sent)
    assert not item.deny_only
    if len(set(texts)) == len(texts):
        assert len(item.prompt.inputs) == len(sent)
        assert [row.value for row in item.prompt.inputs[: len(order)]] == [plain(sent[name]) for name in order]
