"""A token that the other side repeats is not told on, however it is spelled."""

import base64
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.runtime.token_redaction import TOKEN, TokenRedactor

SECRET = "9f3c0a1b2c3d4e5f60718293a4b5c6d7e8f9deadbeefcafe0123456789abcdef"
SPELLINGS = {
    "as it is": SECRET,
    "upper case": SECRET.upper(),
    "percent": "".join(f"%{ord(letter):02x}" for letter in SECRET),
    "percent of percent": "".join(f"%25{ord(letter):02X}" for letter in SECRET),
    "some of it percent": SECRET.replace("a", "%61").replace("c", "%63"),
    "json": "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
    "some of it json": SECRET.replace("a", "\\u0061"),
    "json in json": "".join(f"\\\\u{ord(letter):04x}" for letter in SECRET),
    "python": "".join(f"\\x{ord(letter):02x}" for letter in SECRET),
    "html": "".join(f"&#{ord(letter)};" for letter in SECRET),
    "html in hexadecimal": "".join(f"&#x{ord(letter):x};" for letter in SECRET),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "base64 with more": base64.b64encode(f"Bearer {SECRET}!".encode()).decode(),
    "hexadecimal": SECRET.encode().hex(),
    "zero width": "\u200b".join(SECRET),
    "soft hyphens and joiners": "\u00ad\u2060".join(SECRET),
    "two lines": f"{SECRET[:31]}\r\n{SECRET[31:]}",
    "two pieces": f"{SECRET[:31]} and then {SECRET[31:]}",
    "pairs": ":".join(SECRET[at : at + 2] for at in range(0, 64, 2)),
    "wide": "".join(chr(ord(letter) + 0xFEE0) for letter in SECRET),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_a_spelling_of_it_is_taken_out(spelling: str) -> None:
    said = TokenRedactor(SECRET)(f"no such token <{spelling}> here")
    assert said.startswith("no such token <")
    assert said.endswith("> here")
    assert TOKEN in said
    assert len(said) < 80  # at most a letter or two at its ends is left


def test_other_words_stay_as_they_are() -> None:
    words = "HTTP 404: no draft r-12345 (100 % sure), see https://x.example/?a=%20b&#38;c \\u0041 deadbeefcaf"
    assert TokenRedactor(SECRET)(words) == words
    assert TokenRedactor()(SECRET) == SECRET
    assert TokenRedactor("")(SECRET) == SECRET


def test_a_short_token_is_found_only_as_it_is() -> None:
    assert TokenRedactor("abc")("abc a-b-c ABC") == f"{TOKEN} a-b-c ABC"
    assert TokenRedactor("!?!?!?!?")("so!?!?!?!?") == f"so{TOKEN}"


def test_a_text_too_long_to_be_looked_at_is_cut() -> None:
    said = TokenRedactor(SECRET)("x" * 1_000_000 + SECRET)
    assert SECRET not in said
    assert said.endswith("… (1,000,064 characters)")


def test_a_run_of_backslashes_is_read_once() -> None:
    run = "\\" * 60_000
    before = process_time()
    assert TokenRedactor(SECRET)(run) == run
    assert process_time() - before < 10  # looked at from each of them it takes more than a minute
    assert SECRET[:31] not in TokenRedactor(SECRET)(f"{run}u{ord(SECRET[0]):04x}{SECRET[1:]}")


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_is_around_it(before: str, after: str) -> None:
    assert SECRET not in TokenRedactor(SECRET)(before + SECRET + after)
