"""Diffs, edits and patches: what is shown is what the tool would write."""

from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.patch_text import patched, read_patch
from aileron_tui.core.text_diff import NO_NEWLINE, unified_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-a", "+a", " ", "@@ -1 +1 @@", "\r", "x\u2028y"]), max_size=30)
TEXTS = st.tuples(LINES, st.booleans()).map(lambda both: "\n".join(both[0]) + ("\n" if both[1] else ""))


def with_marks(text: str) -> list[str]:
    """The lines of a text, the last one with a mark if no newline follows it."""
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n{NO_NEWLINE}"] if last else lines


def applied(before: str, diff: str) -> str:
    """What a program that applies unified diffs makes of a text. It reads the numbers of each hunk."""
    old, new = with_marks(before), []
    place = 0
    lines = iter(diff.replace(f"\n{NO_NEWLINE}", "\0").split("\n")) if diff else iter(())
    for header in lines:
        start, size = (int(number) for number in (header[4:].split(" ")[0] + ",1").split(",")[:2])
        new_size = int((header.split("+")[1].split(" ")[0] + ",1").split(",")[1])
        first = start - 1 if size else start
        new += old[place:first]
        place, added = first, 0
        while place < first + size or added < new_size:
            line = next(lines).replace("\0", f"\n{NO_NEWLINE}")
            assert line[0] in " -+"
            if line[0] != "+":
                assert old[place] == line[1:]
                place += 1
            if line[0] != "-":
                new.append(line[1:])
                added += 1
    return "".join(f"{line}\n" for line in [*new, *old[place:]]).replace(f"\n{NO_NEWLINE}\n", "")


@given(TEXTS, TEXTS)
def test_applying_the_diff_gives_the_new_text(before: str, after: str) -> None:
    assert applied(before, unified_diff(before, after)) == after


def test_a_diff_looks_as_usual() -> None:
    before = "".join(f"{number}\n" for number in range(20))
    assert unified_diff(before, before.replace("\n9\n", "\nnine\n")).split("\n") == [
        "@@ -7,7 +7,7 @@",
        *(" 6", " 7", " 8", "-9", "+nine", " 10", " 11", " 12"),
    ]


def test_a_missing_newline_at_the_end_is_shown() -> None:
    assert unified_diff("a\n", "a") == f"@@ -1 +1 @@\n-a\n+a\n{NO_NEWLINE}"


def test_large_texts_with_many_equal_lines_have_one_hunk() -> None:
    before, after = "x\n" * 100_000, "y\nx\n" * 60_000
    diff = unified_diff(before, after)
    assert diff.count("\n-x") + diff.count("\n+") <= 230_000
    assert applied(before, diff) == after


def test_a_patch_changes_the_lines_it_names() -> None:
    files = read_patch(
        "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n x\n-y\n+z\n*** Add File: b\n+1\n"
        "*** Delete File: c\n*** End Patch"
    )
    assert files is not None
    assert [(file.does, file.path) for file in files] == [("update", "a.py"), ("add", "b"), ("delete", "c")]
    assert patched("x\ny\ndef f():\nx\ny\n", files[0].chunks) == "x\ny\ndef f():\nx\nz\n"
    assert patched("other\n", files[0].chunks) is None


def test_patches_of_another_format_are_not_read() -> None:
    for text in ("", "*** Begin Patch\n*** End Patch", "--- a\n+++ b", "*** Begin Patch\nx\n*** End Patch"):
        assert read_patch(text) is None


def test_a_chunk_that_nearly_matches_everywhere_is_bounded() -> None:
    chunk = "*** Begin Patch\n*** Update File: a\n@@\n" + " x\n" * 50_000 + "-y\n*** End Patch"
    files = read_patch(chunk)
    assert files is not None
    assert patched("x\n" * 200_000, files[0].chunks) is None


@given(st.text(), st.text())
def test_any_text_is_read_as_a_patch_or_not(head: str, text: str) -> None:
    read_patch(f"*** Begin Patch\n*** Update File: {head}\n{text}\n*** End Patch")
    read_patch(text)
