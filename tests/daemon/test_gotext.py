"""Values as Go writes them."""

from typing import Any

import pytest

from tests.daemon.gotext import encode, field_text, from_go_time, go_time, plain_v, sort_keys


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (True, "true"),
        ("as it is\n", "as it is\n"),
        (0, "0"),
        (-1.5, "-1.5"),
        (999999, "999999"),
        (1000000, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        ([], "[]"),
        ({}, "map[]"),
        ({"b": [1, "x y"], "a": None}, "map[a:<nil> b:[1 x y]]"),
    ],
)
def test_v(value: Any, text: str) -> None:
    assert plain_v(value) == text


def test_rows_write_whole_numbers_out() -> None:
    assert field_text(1000000) == "1000000"
    assert field_text(1e21) == "1" + "0" * 21
    assert field_text(True) == "true"
    assert field_text([1000000]) == "[1e+06]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
        ("<a&b>\u2028\té", r'"\u003ca\u0026b\u003e\u2028\té"'),
        ("\ud800", '"\ufffd"'),
        (2.0, "2"),
        (12345678901234567890, "12345678901234567000"),
        (1e21, "1e+21"),
        (0.000001, "0.000001"),
        (0.0000001, "1e-7"),
        (1.5e-10, "1.5e-10"),
    ],
)
def test_json(value: Any, text: str) -> None:
    assert encode(value) == text.encode()


def test_keys_of_maps_are_sorted_all_the_way_down() -> None:
    assert encode(sort_keys({"b": [{"d": 1, "c": 2}], "a": 3})) == b'{"a":3,"b":[{"c":2,"d":1}]}'


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-12T12:15:30.123456789+02:00",
        "2026-05-12T12:15:30.1-03:30",
        "2026-05-12T12:15:30Z",
        "1969-12-31T23:59:59.999999999Z",
    ],
)
def test_times_come_back(text: str) -> None:
    offset = "Z" if text.endswith("Z") else text[-6:]
    assert go_time(from_go_time(text), offset) == text


def test_what_is_no_time() -> None:
    for text in ("", "2026-05-12 12:15:30Z", "2026-05-12T12:15:30", "2026-05-12T12:15:30.1234567890Z"):
        with pytest.raises(ValueError, match="not a time"):
            from_go_time(text)
