"""What the demo's agent wants, in order: a day's work with the sample mail and files, some of it not quite right."""

from collections.abc import Callable
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, read
from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_data import HOSTILE, LONG, NOT_A_DRAFT, WORKED_EXAMPLE


def _nothing(_: Json) -> "tuple[ScriptedCall, ...]":
    return ()


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One call, and how the agent speaks of it: what it wants, what it says when it may and when it may not.

    `then` makes what it asks for next from the result; `instead` is what it tries when it was denied or it failed.
    """

    action: str
    args: JsonObject
    intent: str
    done: str
    refused: str
    then: Callable[[Json], "tuple[ScriptedCall, ...]"] = _nothing
    instead: "tuple[ScriptedCall, ...]" = ()


Scene = tuple[ScriptedCall, ...]
"""What is asked for at once."""


def _draft(to: str, subject: str, body: str) -> JsonObject:
    return {"to": to, "subject": subject, "body": body}


def _send_it(result: Json) -> tuple[ScriptedCall, ...]:
    """Asks to send a draft that was just written."""
    match result:
        case {"output": {"id": str(id_)}}:
            wish = ScriptedCall(
                "send-draft",
                {"draft_id": id_},
                f"The draft is {id_}. May I send it?",
                "the mail was sent.",
                "it stays a draft.",
            )
            return (wish,)
        case _:
            return ()


def _invitation(name: str) -> ScriptedCall:
    body = f"Hi {name.capitalize()},\n\nthe new search is shown on Friday at 15:00, small room. With cake.\n\nSam\n"
    return ScriptedCall(
        "draft-mail",
        _draft(f"{name}@example.com", "Friday, 15:00", body),
        f"I want to write an invitation to {name.capitalize()}.",
        f"the invitation to {name.capitalize()} is in the drafts.",
        f"no invitation to {name.capitalize()}, then.",
    )


_RIGHT_DRAFT: Final = ScriptedCall(
    "send-draft",
    {"draft_id": "r-18220"},
    "That was a message's id, not a draft's. The right draft is r-18220. May I send it?",
    "Lin has the answer.",
    "I will not write to Lin, then.",
)

SCRIPT: Final[tuple[Scene, ...]] = (
    (
        ScriptedCall(
            "send-draft",
            {"draft_id": WORKED_EXAMPLE},
            "The weekly recap is ready. May I send it to the team?",
            "the mail was sent.",
            "I will ask for the right recipient.",
        ),
        ScriptedCall(
            "send-draft",
            {"draft_id": NOT_A_DRAFT},
            "Lin asked for the recap. May I send the answer?",
            "the answer was sent.",
            "something was wrong with it. Let me look.",
            instead=(_RIGHT_DRAFT,),
        ),
        ScriptedCall(
            "move-file",
            {"file_id": "f-1001", "folder_id": "d-reports"},
            "The quarterly report lies in the inbox. May I put it where reports go?",
            "the report is in its folder.",
            "it stays where it is.",
        ),
    ),
    (
        ScriptedCall(
            "send-draft",
            {"draft_id": LONG},
            "The programme of the walking week is long. May I send it to everybody?",
            "the programme was sent.",
            "I will ask Sam to shorten it.",
        ),
    ),
    (
        ScriptedCall(
            "send-draft",
            {"draft_id": HOSTILE},
            "Here is another recap that somebody left in the drafts. May I send it?",
            "it was sent. You did read to the end, did you?",
            "good that you looked. I would not have noticed.",
        ),
    ),
    (
        ScriptedCall(
            "delete-file",
            {"file_id": "f-1003"},
            "There is a picture among the reports. May I delete it?",
            "the picture is gone for good.",
            "I will leave the picture alone.",
        ),
    ),
    tuple(_invitation(name) for name in ("lin", "noor", "zoe", "ada")),
    (
        ScriptedCall(
            "move-file",
            {"file_id": "f-6660", "folder_id": "d-archive"},
            "An invoice came in. May I archive it?",
            "it is archived.",
            "I will ask who sent it.",
        ),
        ScriptedCall(
            "rename-file",
            {"file_id": "f-1002", "name": "Cake for Friday.txt"},
            "May I give the recipe a better name?",
            "the recipe has a better name.",
            "it keeps its name.",
        ),
    ),
    (
        ScriptedCall(
            "draft-mail",
            _draft("team@example.com", "Thank you", "Dear all,\n\nthat was a good week. Thank you.\n\nSam\n"),
            "I want to write a last mail for this week.",
            "the draft is written.",
            "no mail, then.",
            then=_send_it,
        ),
    ),
)


def result_of(answer: JsonObject) -> Json:
    """What a call that was run gave back; the gate passes it on as text."""
    result = answer.get("result")
    if not isinstance(result, str):
        return result
    try:
        return read(result)
    except JsonError:
        return result
