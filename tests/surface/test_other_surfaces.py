"""What is known about requests at other surfaces."""

import pytest

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.surface_words import FirstAnswer, Reader, answer_words, reading_words
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.other_surfaces import OtherSurfaces
from tests.hostile import HOSTILE

ANA: JsonObject = {"surface": "page", "name": "ana"}
OWN: JsonObject = {"surface": "console", "name": "sam"}


def event(name: str, data: JsonObject, source: str = "") -> SourceEvent:
    return SourceEvent(1, name, data, (), source)


def reading(*readers: JsonObject, source: str = "") -> SourceEvent:
    return event("reading", {"id": "act-1", "readers": [*readers]}, source)


def words(others: OtherSurfaces, key: str = "act-1") -> str:
    return next(iter(reading_words(others.readers(key))), "")


def test_readers_come_and_go() -> None:
    others = OtherSurfaces()
    others.receive([reading(ANA)])
    assert words(others) == "being read on the page by ana"
    others.receive([reading(ANA, {"surface": "prompt", "name": "bo"})])
    assert words(others) == "being read on the page by ana and 1 more"
    others.receive([reading()])
    assert words(others) == ""


def test_a_key_named_default_does_not_read_as_a_setting() -> None:
    others = OtherSurfaces()
    others.receive([reading({"surface": "page", "name": "default"})])
    assert words(others) == 'being read on the page by "default"'
    assert answer_words(FirstAnswer(True, "page", "default")) == 'approved on the page by "default"'


def test_a_snapshot_replaces_the_readers_of_its_source_only() -> None:
    others = OtherSurfaces()
    others.receive([reading(ANA, source="a"), reading(ANA, source="b")])
    others.receive([event("snapshot", {"readers": {"act-2": [ANA]}}, "a")])
    assert [words(others, key) != "" for key in ("a act-1", "a act-2", "b act-1")] == [False, True, True]
    others.source_lost("b")
    assert words(others, "b act-1") == ""


def test_this_surface_is_not_another_one() -> None:
    others = OtherSurfaces("console", "sam")
    others.receive([reading(OWN)])
    assert words(others) == "being read in another console by sam"  # it is not on screen here
    others.own = {"act-1"}
    assert words(others) == ""
    others.receive([reading({"surface": "console", "name": "bo"}, OWN, ANA)])
    assert [reader.name for reader in others.readers("act-1")] == ["bo", "ana"]
    others.receive([reading({"surface": "console", "name": "enrolled-as-sam"})])
    assert words(others) == ""


def test_who_was_first_is_kept_until_the_request_is_gone() -> None:
    others = OtherSurfaces()
    others.receive([event("resolved", {"id": "act-1", "approved": True, "surface": "page", "by": "ana"})])
    assert others.first("act-1") == FirstAnswer(True, "page", "ana")
    others.keep({"act-1": None})
    assert others.first("act-1")
    others.keep({})
    assert others.first("act-1") is None


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"id": 7, "readers": 7},
        {"id": "act-1", "readers": {}},
        {"id": "act-1", "readers": [7, None, []]},
        {"id": "act-1", "approved": "yes", "surface": "page"},
        {"id": "act-1", "approved": True},
        {"id": "act-1", "approved": True, "surface": 7},
    ],
)
@pytest.mark.parametrize("name", ["snapshot", "reading", "resolved", "alert", "updated"])
def test_odd_events_say_nothing(name: str, data: JsonObject) -> None:
    others = OtherSurfaces()
    others.receive([event(name, data)])
    assert words(others) == ""
    assert others.first("act-1") is None
    assert event("alert", {"surface": 7}).alerted == ""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_are_only_shown(text: str) -> None:
    forms = (*reading_words([Reader(text, text)]), answer_words(FirstAnswer(True, text, text)))
    for form in forms:
        assert form.isprintable()
        assert len(form) < 2000


def test_a_name_cannot_go_on_with_the_sentence() -> None:
    assert answer_words(FirstAnswer(True, "page", "ana: done ✓")) == 'approved on the page by "ana: done ✓"'
    assert answer_words(FirstAnswer(False, "page", "")) == "denied on the page, without a signature"
