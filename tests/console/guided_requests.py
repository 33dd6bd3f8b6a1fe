"""Requests as the agent of the demo makes them, each with its action and inputs."""

from dataclasses import replace

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt_rows import Row
from aileron_tui.core.request import Request
from aileron_tui.demo.agent_script import SCRIPT
from aileron_tui.demo.guide import LESSONS, Lesson
from tests.console import sample_requests as samples


def calls(lesson: Lesson) -> list[tuple[str, JsonObject]]:
    """The calls of the script that a lesson is about."""
    return [(call.action, call.args) for scene in SCRIPT for call in scene if lesson.is_about(call.action, call.args)]


def guided(number: int, *, fetching: bool = False) -> Request:
    """The first request of a lesson, by its number from 1."""
    action, args = calls(LESSONS[number - 1])[0]
    like = samples.not_found() if number == 2 else samples.worked()
    inputs = tuple(Row(name, str(value)) for name, value in args.items())
    prompt = replace(like.prompt, action=action, args=args, inputs=inputs)
    return samples.item(prompt, id_=f"act-{number}", fetching=fetching)
