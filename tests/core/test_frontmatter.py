"""Splitting an action manifest into front matter and body."""

import pytest

from aileron_tui.core.findings import Finding, TomlSource
from aileron_tui.core.frontmatter import LONGEST_LINE, ManifestParts, UnreadableManifest, decode, split, tables


def refused(text: str) -> Finding:
    with pytest.raises(UnreadableManifest) as caught:
        tables(split(text, "x.md").source)
    return caught.value.finding


def framed(text: str) -> tuple[str, int, str]:
    result: ManifestParts = split(text, "x.md")
    return result.source.toml, result.source.first_line, result.body


def test_the_two_parts() -> None:
    assert framed("+++\na = 1\n+++\nbody\n") == ("a = 1", 2, "body")
    assert framed("+++\n+++") == ("", 2, "")
    assert framed("\n \n +++ \na = 1\n\n\t+++\r\n") == ("a = 1\n", 4, "")
    assert framed("+++\r\na = 1\r\n+++\r\nx\r\ny") == ("a = 1", 2, "x\ny")
    assert framed("+++\na = 1\n+++\n+++\nb\n+++\n") == ("a = 1", 2, "+++\nb\n+++")
    assert framed("+++\na = '''\n+++\n'''\n+++\n") == ("a = '''", 2, "'''\n+++")
    assert framed("+++\n++++\n+ ++\nx+++\n+++ x\n+++\n") == ("++++\n+ ++\nx+++\n+++ x", 2, "")


def test_unexpected_text_at_the_start_is_quoted_and_clipped() -> None:
    assert refused("\n\nhello\n").message == 'expected "+++" at the start, found "hello"'
    assert (refused("\n\nhello\n").line, refused("\n\nhello\n").column) == (3, 1)
    long = refused("y" * 5000)
    assert long.message == f'expected "+++" at the start, found "{"y" * 40}… (5000 characters)"'


@pytest.mark.parametrize("part", ["front", "body"])
def test_a_line_may_have_one_mebibyte_and_no_more(part: str) -> None:
    def text(size: int, filler: str = "x") -> str:
        line = "# " + filler * ((size - 2) // len(filler.encode()))
        return f"+++\n{line}\n+++\n" if part == "front" else f"+++\n+++\n\n{line}\n"

    assert framed(text(LONGEST_LINE))
    finding = refused(text(LONGEST_LINE + 1))
    assert (finding.rule, finding.line) == ("line-too-long", 2 if part == "front" else 4)
    assert refused(text(LONGEST_LINE + 2, "é")).rule == "line-too-long", "bytes are counted, not characters"
    assert refused(text(LONGEST_LINE + 4, "😀")).rule == "line-too-long"
    assert framed(text(LONGEST_LINE).replace("x" * 1000, "x" * 999 + "\n"))


def test_the_position_of_bad_bytes_counts_characters() -> None:
    with pytest.raises(UnreadableManifest) as caught:
        decode("\ufeff+++\nméh = ".encode() + b"\xff\n", "x.md")
    finding = caught.value.finding
    assert (finding.line, finding.column, finding.message) == (2, 7, "byte 0xff is not UTF-8")
    with pytest.raises(UnreadableManifest) as caught:
        decode(b"\xef\xbb\xbf\xff", "x.md")
    assert (caught.value.finding.line, caught.value.finding.column) == (1, 1)


def test_the_line_of_invalid_toml_counts_from_the_top_of_the_file() -> None:
    finding = refused("\n\n+++\na = 1\nb = ?\n+++\n")
    assert (finding.line, finding.column) == (5, 5)
    assert finding.message == "invalid TOML: invalid value"


@pytest.mark.parametrize(
    ("toml", "line", "column"),
    [
        ("a = 1\n a = 2", 2, 2),
        ("a = 1\nb = { c = 1, c = 2 }", 2, 14),
        ("a = [\n1]\na = [\n2,\n3]", 3, 1),
        ("[a]\nb = 1\n[a]", 3, 2),
        ("a.b = 1\n[a]", 2, 2),
        ("a = 1\n[[a]]", 2, 3),
        ("[[a]]\n[a]", 2, 2),
        ("a = {}\na.b = 1", 2, 1),
    ],
)
def test_a_duplicate_key_is_reported_at_its_second_place(toml: str, line: int, column: int) -> None:
    finding = refused(f"+++\n{toml}\n+++\n")
    assert (finding.line, finding.column) == (line + 1, column)
    assert finding.message == "invalid TOML: this is declared twice"


def test_toml_that_is_too_deep_or_too_large_is_refused() -> None:
    assert refused("+++\na = " + "[" * 100_000 + "\n+++\n").message == "invalid TOML: nested too deeply"
    assert refused("+++\na = " + ".".join(["b"] * 100_000) + "\n+++\n").rule == "toml"
    assert refused("+++\n" + "a." * 100_000 + "a = 1\n+++\n").message == "invalid TOML: nested too deeply"
    finding = refused("+++\na = " + "9" * 5000 + "\n+++\n")
    assert finding.message == "invalid TOML: a number is out of range"
    assert (finding.line, finding.column) == (2, 1)


def test_toml_is_of_version_1_1() -> None:
    toml = 'a = {\n  b = 1, # one\n  c = "\\x41\\e",\n}\nd = 07:30\n'
    assert tables(TomlSource("x", toml))["a"] == {"b": 1, "c": "A\x1b"}
