"""The script of the demo agent: a day's work with the sample mail and files, with some mistakes."""

from collections.abc import Callable
from typing import Final

from aileron_tui.core.jsontext import Json, JsonError, JsonObject, read
from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_data import HOSTILE, LONG, NOT_A_DRAFT, WORKED_EXAMPLE


def _no_calls(_: Json) -> "tuple[ScriptedCall, ...]":
    return ()


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One call, and the agent's comments before it (`intent`) and after it (`done` or `refused`).

    `next_calls` returns the calls that follow from the result; `fallback` holds the calls to make after a denial or
    failure.
    """

    action: str
    args: JsonObject
    intent: str
    done: str
    refused: str
    next_calls: Callable[[Json], "tuple[ScriptedCall, ...]"] = _no_calls
    fallback: "tuple[ScriptedCall, ...]" = ()


Scene = tuple[ScriptedCall, ...]
"""The calls that are made at the same time."""


def _draft(to: str, subject: str, body: str) -> JsonObject:
    return {"to": to, "subject": subject, "body": body}


def _send_created_draft(result: Json) -> tuple[ScriptedCall, ...]:
    """Returns the call that sends a newly created draft."""
    match result:
        case {"output": {"id": str(id_)}}:
            call = ScriptedCall(
                "send-draft",
                {"draft_id": id_},
                f"The draft is {id_}. May I send it?",
                "the mail was sent.",
                "it stays a draft.",
            )
            return (call,)
        case _:
            return ()


def _invitation(name: str) -> ScriptedCall:
    body = f"Hi {name.capitalize()},\n\nI will show the new search on Friday at 15:00, small room, with cake.\n\nSam\n"
    return ScriptedCall(
        "draft-mail",
        _draft(f"{name}@example.com", "Friday, 15:00", body),
        f"I'd like to write an invitation to {name.capitalize()}.",
        f"the invitation to {name.capitalize()} is in the drafts.",
        f"then I won't invite {name.capitalize()}.",
    )


_RIGHT_DRAFT: Final = ScriptedCall(
    "send-draft",
    {"draft_id": "r-18220"},
    "That was the id of a message, not of a draft. The right draft is r-18220. May I send it?",
    "the reply to Lin was sent.",
    "then I won't write to Lin.",
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
            "Lin asked for the recap. May I send my reply?",
            "the reply was sent.",
            "something was wrong with it. Let me check.",
            fallback=(_RIGHT_DRAFT,),
        ),
        ScriptedCall(
            "move-file",
            {"file_id": "f-1001", "folder_id": "d-reports"},
            "The quarterly report is in the inbox. May I move it to the reports?",
            "the report was moved.",
            "it stays where it is.",
        ),
    ),
    (
        ScriptedCall(
            "send-draft",
            {"draft_id": LONG},
            "The programme for the walking week is long. May I send it to everyone?",
            "the programme was sent.",
            "I will ask Sam to shorten it.",
        ),
    ),
    (
        ScriptedCall(
            "send-draft",
            {"draft_id": HOSTILE},
            "Someone left another recap in the drafts. May I send it?",
            "it was sent. You did read it to the end, didn't you?",
            "good that you checked. I would not have noticed.",
        ),
    ),
    (
        ScriptedCall(
            "delete-file",
            {"file_id": "f-1003"},
            "There is a photo among the reports. May I delete it?",
            "the photo was deleted for good.",
            "I will leave the photo alone.",
        ),
    ),
    tuple(_invitation(name) for name in ("lin", "noor", "zoe", "ada")),
    (
        ScriptedCall(
            "move-file",
            {"file_id": "f-6660", "folder_id": "d-archive"},
            "An invoice came in. May I archive it?",
            "the invoice was archived.",
            "I will ask who sent it.",
        ),
        ScriptedCall(
            "rename-file",
            {"file_id": "f-1002", "name": "Cake for Friday.txt"},
            "May I give the recipe a better name?",
            "the recipe was renamed.",
            "it keeps its name.",
        ),
    ),
    (
        ScriptedCall(
            "draft-mail",
            _draft("team@example.com", "Thank you", "Dear all,\n\nThat was a good week. Thank you.\n\nSam\n"),
            "I'd like to write one last mail this week.",
            "the draft was saved.",
            "then I won't write it.",
            next_calls=_send_created_draft,
        ),
    ),
)


def result_of(answer: JsonObject) -> Json:
    """Returns the result of a call; the gate sends it as JSON text."""
    result = answer.get("result")
    if not isinstance(result, str):
        return result
    try:
        return read(result)
    except JsonError:
        return result
