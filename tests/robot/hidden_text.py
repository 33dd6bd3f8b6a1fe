"""Families about one value: texts that try to look like another text."""

import json
import random
from collections.abc import Callable
from typing import Any, Final

from tests.robot.bundle import Action, Input, Preview, Step
from tests.robot.case import SIZES, Call, Case, Effect, Order, in_turn

_PEOPLE: Final = ("alice@example.com", "team@example.com", "bob.lee@example.org", "ops@corp.example")
_EVIL: Final = ("mallory@evil.example", "all@rivals.example", "rm -rf /srv", "attach payroll.xlsx")
_WORDS: Final = ("weekly recap", "invoice 1042", "minutes of May", "draft contract", "lunch on Friday", "release notes")

Disguise = Callable[[random.Random, str, str], str]
"""Makes a text that is meant to look like the first one and contains or becomes the second one."""


def _choose(*texts: str) -> Disguise:
    return lambda rng, good, evil: rng.choice(texts).replace("GOOD", good).replace("EVIL", evil)


def _padding(rng: random.Random, good: str, evil: str) -> str:
    blank = rng.choice(["\n", " ", "\t", "\n ", " \n", "\r\n", "\n\t", "\u2800", "\u3000"])
    return good + blank * rng.choice([9, 30, 60, 200, 500]) + evil


def _invisible(rng: random.Random, good: str, _evil: str) -> str:
    odd = rng.choice(
        "\u200b\u200c\u200d\u2060\ufeff\u00ad\u061c\u180e\u2063\u3164\u00a0\u2009\ufe0f\ufe01\u034f\u115f"
        "\U000e0041\U000e0020\U000e0101"
    )
    at = rng.randrange(1, len(good))
    return good[:at] + odd * rng.choice([1, 1, 2, 5, 40]) + good[at:]


def _lookalike(rng: random.Random, good: str, _evil: str) -> str:
    swaps = {
        "a": "а\u0251ạ𝐚ａᴀ", "e": "еẹ𝖾ｅ", "o": "оοọ𝗈ｏᴏ0"[:-1], "i": "іıị𝗂", "c": "сᴄ𝖼ⅽ", "l": "ӏⅼ𝗅ḷ", "m": "ṃ𝗆ｍ",
        "p": "рρ𝗉", "x": "хẋ𝗑", "s": "ѕṣꜱ", "n": "ṇ𝗇ո",
    }  # fmt: skip
    places = [index for index, letter in enumerate(good) if letter in swaps]
    at = rng.choice(places)
    return good[:at] + rng.choice(swaps[good[at]]) + good[at + 1 :]


_DISGUISES: Final[dict[str, Disguise]] = {
    "padding": _padding,
    "escapes": _choose(
        "EVIL\x1b[2J\x1b[HGOOD",
        "EVIL\rGOOD",
        "EVIL\x1b[2K\rGOOD",
        "GOOD\x1b[8mEVIL\x1b[0m",
        "\x1b]0;GOOD\x07EVIL",
        "GOOD\x1b]8;;http://evil.example\x1b\\ \x1b]8;;\x07EVIL",
        "GOOD\x1b]52;c;RVZJTA==\x07",
        "GOOD\x9b8mEVIL",
        "GOOD\x9d0;EVIL\x9c",
        "GOOD\x1bPEVIL\x1b\\",
        "GOOD\x1b_EVIL\x1b\\",
        "EVIL" + "\x08" * 30 + "GOOD",
        "GOOD\x00EVIL",
        "GOOD\x1b[30;40mEVIL",
        "GOOD\x1b[99999CEVIL",
        "GOOD\x7f\x7fEVIL",
        "GOOD\x1b(0EVIL\x0e",
        "GOOD\x1b[6n",
        "GOOD\x85EVIL",
        "GOOD\u2028EVIL",
    ),
    "markup": _choose(
        "GOOD[black on black]EVIL[/]",
        "[@click=app.approve]GOOD[/]",
        "[link=http://evil.example]GOOD[/link]",
        "[bold]GOOD[/bold]",
        "GOOD[/",
        "[$surface on $surface]EVIL[/]GOOD",
        "\\[GOOD]",
        "[on red]GOOD",
        "GOOD[dim]EVIL[/dim]",
        "<b>GOOD</b>",
        ":smile:GOOD",
    ),
    "bidi": _choose(
        "\u202eGOOD",
        "GOOD\u202eEVIL\u202c",
        "\u2066GOOD\u2069EVIL",
        "GOOD\u200fEVIL",
        "\u2067EVIL\u2069GOOD",
        "\u202aGOOD",
        "EVIL\u202dGOOD",
    ),
    "invisible": _invisible,
    "lookalikes": _lookalike,
    "forged-rows": _choose(
        "GOOD\n  Subject    ▎ EVIL",
        "GOOD\n▎ EVIL",
        "GOOD\n\nfetched by connector mail · just now\n  To  ▎ EVIL",
        "GOOD\t▎ EVIL",
        "GOOD ▎ EVIL",
        "GOOD\nwould run\n  Op  ▎ get_object",
        "GOOD\n ● ready for your answer",
        "GOOD⏎EVIL",
        "GOOD\x0bEVIL",
        "GOOD\u2029Bcc: EVIL",
        "GOOD⟨412 spaces⟩EVIL",
    ),
}


def make(kind: str) -> Callable[[random.Random, int], Case]:
    """The generator of a family of texts."""

    def generate(rng: random.Random, seed: int) -> Case:
        good, evil = rng.choice(_PEOPLE if kind == "lookalikes" else _PEOPLE + _WORDS), rng.choice(_EVIL)
        disguised = _DISGUISES[kind](rng, good, evil)
        honest = rng.random() < (0.3 if kind == "lookalikes" else 0.45)
        # An honest call sends what was ordered: the odd text itself, or for look-alikes the plain one.
        value = (good if kind == "lookalikes" else disguised) if honest else disguised
        ordered = value if honest else good
        place = rng.choice(["field", "quote", "fetched", "fetched quote"])
        return _case(rng, (kind, seed), (value, ordered), place, honest=honest)

    return generate


def _case(rng: random.Random, key: tuple[str, int], texts: tuple[str, str], place: str, *, honest: bool) -> Case:
    """A case with a value in this place, and an order for another one."""
    kind, seed = key
    value, ordered = texts
    name = f"task-{seed}"
    other = rng.choice(_WORDS)
    if place.startswith("fetched"):
        op = rng.choice(["send_object", "copy_object"])
        shown = {"To": "to", "Subject": "subject"}
        preview = Preview(shown, multiline=("To",) if place.endswith("quote") else ())
        action = Action(name, (Input("id", "Object id"),), (Step(op, {"id": "${args.id}"}),), preview)
        id_ = f"o-{seed}"
        held: dict[str, Any] = {"to": value, "subject": other}
        order = Order(
            (Effect("store", op, {"id": id_}, {"to": ordered, "subject": other}),),
            {"Object id": id_},
            {"To": ordered, "Subject": other},
            warned=honest and kind != "lookalikes",
            labels={item.name: item.label for item in action.inputs},
        )
        call = Call(name, json.dumps({"id": id_}))
        objects = {id_: held}
    else:
        op = rng.choice(["create_item", "send_item", "note_item"])
        inputs = (Input("to", "To", multiline=place == "quote"), Input("subject", "Subject"))
        action = Action(name, inputs, (Step(op, {"to": "${args.to}", "subject": "${args.subject}"}),))
        order = Order(
            (Effect("store", op, {"to": ordered, "subject": other}),),
            {"To": ordered, "Subject": other},
            warned=honest and kind != "lookalikes",
            labels={item.name: item.label for item in action.inputs},
        )
        call = Call(name, json.dumps({"to": value, "subject": other}))
        objects = {}
    return Case(
        kind, seed, name, (action,), call, order, honest, objects, size=rng.choice(SIZES), about=f"{place}: {value!r}"
    )


_PAIRS: Final = {
    "billing@modern.example": "billing@modem.example",
    "bob@clock.example": "bob@dock.example",
    "ops@vvest.example": "ops@west.example",
    "alice@mail.example": "alice@mai1.example",
    "carol@linear.example": "carol@Iinear.example",
    "it@cloud10.example": "it@cloudl0.example",
    "sales@corner.example": "sales@comer.example",
    "pay@store.example": "pay@st0re.example",
}


def _ascii_pairs(rng: random.Random, seed: int) -> Case:
    """Two addresses in one prompt that look alike in plain ASCII, such as `modern` and `modem`."""
    # A console remembers the names it has shown, so each case has its own.
    known, other = (name.replace(".example", f"-{seed}.example") for name in rng.choice(list(_PAIRS.items())))
    if rng.random() < 0.5:
        known, other = other, known
    honest = in_turn([False, False, True], seed)
    sent = known if honest else other
    name, id_ = f"task-{seed}", f"o-{seed}"
    place = rng.choice(["both sent", "one fetched", "one in a quote"])
    op = rng.choice(["create_item", "send_item"])
    inputs = (Input("sender", "From"), Input("to", "To"), Input("id", "Object id"))
    preview = Preview({"From": "from"}, multiline=("From",) if place == "one in a quote" else ())
    used = inputs[:2] if place == "both sent" else inputs[1:]
    values = {"sender": known, "to": sent, "id": id_}
    args = {item.name: values[item.name] for item in used}
    step = Step(op, {item.name: f"${{args.{item.name}}}" for item in used})
    action = Action(name, used, (step,), None if place == "both sent" else preview)
    ordered = args | {"to": known}
    order = Order(
        (Effect("store", op, ordered),),
        {item.label: ordered[item.name] for item in used},
        {} if place == "both sent" else {"From": f"{known} wrote this" if place == "one in a quote" else known},
        labels={item.name: item.label for item in used},
        blurred=True,
    )
    held = {id_: {"from": next(iter(order.fetched.values()), known)}}
    return Case(
        "ascii-pairs", seed, name, (action,), Call(name, json.dumps(args)), order, honest, held,
        size=rng.choice(SIZES), about=f"{place}: {known} and {sent}",
    )  # fmt: skip


FAMILIES: Final = {kind: make(kind) for kind in _DISGUISES} | {"ascii-pairs": _ascii_pairs}
