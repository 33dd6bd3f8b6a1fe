"""The guide of the demo: its words fit, its requests are those of the script, and it follows what is done."""

from dataclasses import replace

import pytest

from aileron_tui.core.request import Request
from aileron_tui.core.states import RequestState
from aileron_tui.core.visible_text import cells, inline
from aileron_tui.demo.guide import FINISHED, LATER, LESSONS, DemoGuide, Lesson
from aileron_tui.runtime.source_events import SourceEvent
from aileron_tui.surface.board import Board
from tests.console import sample_requests as samples
from tests.console.guided_requests import calls, guided

FIRST, FAILED, HOSTILE, RULE = LESSONS


def board_of(*requests: Request) -> Board:
    board = Board()
    board.receive([SourceEvent(1, "snapshot", {}, requests, "")])
    return board


def ended(request: Request, state: RequestState = RequestState.DENIED) -> Request:
    return replace(request, state=state, revision=request.revision + 1)


def quiet() -> str:
    return ""


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.heading)
def test_every_lesson_is_about_calls_of_the_script(lesson: Lesson) -> None:
    assert calls(lesson)


def test_no_lesson_is_about_the_same_call() -> None:
    found = [str(call) for lesson in LESSONS for call in calls(lesson)]
    assert len(found) == len(set(found))


def test_the_words_fit_on_every_screen() -> None:
    """80 columns for a sentence, and 40 for its brief form beside the key that hides it."""
    words = [words for lesson in LESSONS for words in (lesson.find, lesson.look)]
    pairs = [(one.text, one.brief) for one in (*words, LATER)] + [(FINISHED.text, FINISHED.brief)]
    for text, brief in pairs:
        assert cells(text) <= 78
        assert cells(brief) <= 30
        assert inline(text) == text
    assert max(cells(lesson.heading) for lesson in LESSONS) <= 50


def test_what_to_look_at_is_said_only_while_it_is_on_screen() -> None:
    first, failed, other = guided(1), guided(2), samples.item(samples.worked().prompt, id_="act-9")
    board, guide = board_of(first, failed, other), DemoGuide(quiet)
    assert guide.line(board, first).text == FIRST.look.text
    assert guide.line(board, failed).text == FAILED.look.text
    assert guide.line(board, other).text == FIRST.find.text
    assert guide.line(board, None).text == FIRST.find.text
    assert guide.line(board_of(other), other).text == LATER.text


@pytest.mark.parametrize("state", [RequestState.EXECUTED, RequestState.DENIED, RequestState.EXPIRED])
def test_a_lesson_ends_however_its_request_ends_and_stays_ended(state: RequestState) -> None:
    guide = DemoGuide(quiet)
    guide.line(board_of(guided(1), guided(2)), guided(1))
    board = board_of(guided(1), guided(2))
    board.receive([SourceEvent(2, "updated", {}, (ended(guided(1), state),), "")])
    assert guide.line(board, guided(2)).heading == FAILED.heading
    assert guide.line(board_of(), None).heading == FAILED.heading, "an ended request leaves the board"


def test_the_lesson_about_rules_ends_with_a_rule_only() -> None:
    guide = DemoGuide(quiet)
    board = board_of(*(guided(number) for number in (1, 2, 3, 4)))
    board.receive([SourceEvent(2, "updated", {}, tuple(ended(guided(number)) for number in (1, 2, 3, 4)), "")])
    assert guide.line(board, None).heading == RULE.heading
    guide.rule_made()
    assert guide.line(board, None) == FINISHED


def test_a_call_that_only_resembles_the_script_gets_no_advice() -> None:
    """The guide must not recommend a call because its action is familiar."""
    request = guided(4)
    altered = replace(request, prompt=replace(request.prompt, args=dict(request.prompt.args) | {"folder_id": "d-x"}))
    assert DemoGuide(quiet).line(board_of(altered), altered).text == LATER.text


def test_compiling_is_told_while_a_preview_waits_for_it() -> None:
    working = ["mail: compiling"]
    guide = DemoGuide(lambda: working[0] if working else "")
    request = guided(1, fetching=True)
    assert "mail: compiling" in guide.line(board_of(request), request).text
    assert guide.line(board_of(guided(1)), guided(1)).text == FIRST.look.text
    working.clear()
    assert guide.line(board_of(request), request).text == FIRST.look.text
