"""What is said about the answers of a batch, and when an approval is outdated."""

from dataclasses import replace
from time import monotonic

import pytest

from aileron_tui.core.decision import Verdict
from aileron_tui.core.request import Request
from aileron_tui.core.request_queue import Arrived, apply_all
from aileron_tui.surface.answer_delivery import Answer, Delivery
from aileron_tui.surface.batch_summary import summarize
from aileron_tui.surface.board import Board, Tone
from aileron_tui.surface.held_approval import HeldApproval, is_outdated
from tests.console.sample_requests import worked

APPROVE, DENY = Verdict.APPROVE, Verdict.DENY


def delivery(verdict: Verdict, why: str = "") -> Delivery:
    return Delivery(Answer(worked(), verdict), not why, why)


@pytest.mark.parametrize(
    ("deliveries", "words", "tone"),
    [
        ([delivery(APPROVE), delivery(APPROVE)], "2 approved", Tone.GOOD),
        ([delivery(APPROVE), delivery(DENY)], "1 approved, 1 denied", Tone.GOOD),
        (
            [delivery(APPROVE), delivery(DENY), delivery(APPROVE, "it changed: look again")],
            "1 approved, 1 denied, 1 skipped (it changed: look again)",
            Tone.WARN,
        ),
        ([delivery(DENY, "gone"), delivery(DENY, "gone")], "2 skipped (gone)", Tone.WARN),
    ],
)
def test_a_batch_is_summed_up_in_one_sentence(deliveries: list[Delivery], words: str, tone: Tone) -> None:
    assert summarize(deliveries) == (words, tone)


def board_with(request: Request) -> Board:
    board = Board()
    board.queue = apply_all(board.queue, [Arrived(request)])
    return board


def test_an_approval_of_what_has_changed_is_outdated() -> None:
    request = worked()
    changed = replace(request, digest="another")
    assert not is_outdated(board_with(request), Answer(request, APPROVE))
    assert is_outdated(board_with(changed), Answer(request, APPROVE))
    assert not is_outdated(board_with(changed), Answer(request, APPROVE, edits={"draft_id": "r-2"}))
    assert not is_outdated(Board(), Answer(request, APPROVE))


def test_a_held_approval_has_time_left_until_it_is_released() -> None:
    class Timer:
        def stop(self) -> None:
            """Nothing runs."""

    answer = Answer(worked(), APPROVE)
    assert 1.0 < HeldApproval(answer, monotonic() + 2.0, Timer()).seconds_left <= 2.0
    assert HeldApproval(answer, monotonic() - 5.0, Timer()).seconds_left > 0
