"""The output of `aileron-tui lint`."""

import json
import os
import pty
import re
import socket
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aileron_tui.cli import main
from tests.corpus.cases import base
from tests.hostile import HOSTILE

COMMAND = [sys.executable, "-m", "aileron_tui"]
GOOD = base("action")["base.md"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Lint = Callable[..., Outcome]


@pytest.fixture
def lint(capfdbinary: pytest.CaptureFixture[bytes]) -> Lint:
    """Runs the command in this process and checks that its output is safe for a terminal."""

    def run(*words: str | Path) -> Outcome:
        try:
            code = main(["lint", *map(str, words)])
        except SystemExit as exit_:
            code = int(str(exit_.code))
        captured = capfdbinary.readouterr()
        return Outcome(code, safe_text(captured.out), safe_text(captured.err))

    return run


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A valid bundle in which one action depends on another."""
    for name, text in base("bundle").items():
        file = tmp_path / "bundle" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "bundle"


def safe_text(printed: bytes) -> str:
    """Returns the output as text; it must contain no control characters and no traceback."""
    text = printed.decode("utf-8")
    odd = {character for character in set(text) if unicodedata.category(character)[0] == "C" and character != "\n"}
    assert not odd
    assert "Traceback" not in text
    return text


def write(folder: Path, data: bytes | str, name: str = "x.md") -> Path:
    file = folder / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


# What is printed.


def test_nothing_wrong(lint: Lint, bundle: Path) -> None:
    assert lint(bundle) == Outcome(0, "3 files checked: no problems\n", "")


def test_the_bundled_manifests_are_the_default(lint: Lint) -> None:
    code, out, err = lint()
    assert (code, err) == (0, "")
    assert re.fullmatch(r"\d+ files checked: no problems\n", out)


def test_the_caret_points_at_the_key(lint: Lint, tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.replace('"send-draft"', '"Send"').replace("intent = ", "  intnet = "))
    assert lint(file) == Outcome(
        1,
        f"""\
{file}:13:3: error: "match.intnet" is not a known key [unknown-key]
  13 │   intnet = "Send a draft as it is"
     │   ^
  Did you mean "intent"?

{file}:2:1: error: "Send" is not a valid action name [name]
  2 │ name = "Send"
    │ ^
  Use lower-case letters, digits, '.', '_' and '-', starting with a letter or digit.

{file}:12:2: error: match.intent is required [required]
  12 │ [match]
     │  ^
  Describe in one sentence when an agent should call this action.

1 file checked: 3 errors
""",
        "",
    )


def test_the_caret_counts_columns_and_not_characters(lint: Lint, tmp_path: Path) -> None:
    render = '{ "日本" = "a", "e\\u0301" = "b", "tab\t" = "c", bad = 1 }'
    text = re.sub(r"render = .*", lambda _: f"render = {render}", GOOD).replace('["Body"]', "[]")
    out = lint(write(tmp_path, text)).out.split("\n")
    assert out[1] == '  43 │ render = { "日本" = "a", "e\\u0301" = "b", "tab⇥" = "c", bad = 1 }'
    before = out[1].index("bad") + 2
    assert out[2] == "     │".ljust(before) + "^", "two characters of the line are two columns wide"


def test_a_byte_order_mark_and_windows_line_ends_do_not_move_the_caret(lint: Lint, tmp_path: Path) -> None:
    text = "\ufeff" + GOOD.replace('"send-draft"', '"Send"').replace("\n", "\r\n")
    assert '\n  2 │ name = "Send"\n    │ ^\n' in lint(write(tmp_path, text)).out


def test_a_finding_of_the_whole_file_has_no_line(lint: Lint, tmp_path: Path) -> None:
    file = write(tmp_path, "")
    fix = 'Start the file with a line "+++", then TOML, then a second line "+++".'
    assert lint(file).out == (
        f"{file}: error: the file is empty [no-front-matter]\n  {fix}\n\n1 file checked: 1 error\n"
    )


def test_warnings_do_not_fail(lint: Lint, tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.split("[approval]")[0] + "[approval]\nrequired = true\ntimeout = 60\n+++\n")
    code, out, _ = lint(file)
    assert code == 0
    assert f"{file}:39:1: warning: current Aileron daemons reject a manifest with approval.timeout" in out
    assert out.endswith("1 file checked: 1 warning\n")


def test_errors_and_warnings_are_counted(lint: Lint, tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace('op = "send_draft"', 'op = "x"'))
    write(tmp_path, "", "y.md")
    assert lint(tmp_path).out.endswith("2 files checked: 2 errors, 1 warning\n")


def test_long_lines_are_cut_and_say_so(lint: Lint, tmp_path: Path) -> None:
    out = lint(write(tmp_path, GOOD.replace('"send-draft"', f'"{"S" * 5000}"'))).out
    assert max(map(len, out.split("\n"))) < 1000
    assert len(re.findall(r"…⟨\+\d+⟩", out)) == 2


def test_json(lint: Lint, tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.replace('"send-draft"', '"Sénd"').replace("= true", "= true\ntimeout = 9"))
    code, out, err = lint("--json", file)
    assert (code, err) == (1, "")
    assert out.isascii()
    document = json.loads(out)
    findings = document.pop("findings")
    assert document == {"files": 1, "errors": 1, "warnings": 1}
    assert findings[0] == {
        "rule": "name",
        "message": '"Sénd" is not a valid action name',
        "fix": "Use lower-case letters, digits, '.', '_' and '-', starting with a letter or digit.",
        "file": str(file),
        "line": 2,
        "column": 1,
        "severity": "error",
    }
    assert [(finding["rule"], finding["severity"]) for finding in findings[1:]] == [
        ("timeout-unknown-upstream", "warning")
    ]


def test_json_of_a_clean_bundle(lint: Lint, bundle: Path) -> None:
    assert json.loads(lint("--json", bundle).out) == {"files": 3, "errors": 0, "warnings": 0, "findings": []}


# Which files are checked, and how.


def test_a_single_action_is_checked_with_its_neighbours(lint: Lint, bundle: Path) -> None:
    get, send = bundle / "actions" / "get-draft.md", bundle / "actions" / "send-draft.md"
    assert lint(send) == Outcome(0, "1 file checked: no problems\n", "")
    get.write_text(get.read_text().replace("idempotent = true", "idempotent = false"))
    assert lint(get).code == 0, "problems of a neighbour are not reported"
    code, out, _ = lint(send)
    assert code == 1
    assert out.startswith(f"{send}:30:1: error: no action in the bundle declares")
    get.unlink()
    assert lint(send).code == 1


def test_a_single_action_by_a_relative_path(lint: Lint, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, path in [
        (bundle, "actions/send-draft.md"),
        (bundle / "actions", "send-draft.md"),
        (bundle / "actions", "./send-draft.md"),
        (bundle / "connectors", "../actions/send-draft.md"),
    ]:
        monkeypatch.chdir(folder)
        assert lint(path) == Outcome(0, "1 file checked: no problems\n", "")
    write(bundle / "actions", "x")
    monkeypatch.chdir(bundle)
    assert lint("actions/x.md").out.startswith("actions/x.md:1:1: error: ")


def test_a_file_that_its_folder_does_not_load_is_checked_alone(lint: Lint, bundle: Path) -> None:
    assert lint(write(bundle, "# Read me", "README.md")).code == 1
    assert lint(write(bundle, GOOD, "action.txt")).code == 1
    assert lint(bundle).code == 0


def test_a_suite_is_checked_with_its_folder(lint: Lint, bundle: Path) -> None:
    suite = write(bundle, 'name = "x"\ndescription = "x"\nactions = [\n  "actions/none",\n]\n', "suite.toml")
    code, out, _ = lint(suite)
    assert code == 1
    assert out.startswith(f'{suite}:4:3: error: there is no action at "actions/none" [suite-missing]\n')
    assert out.endswith("4 files checked: 1 error\n")


def test_a_suite_in_the_current_folder(lint: Lint, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(bundle, 'name = "x"\ndescription = "x"\nactions = ["actions/get-draft"]\n', "suite.toml")
    monkeypatch.chdir(bundle)
    assert lint(".") == Outcome(0, "4 files checked: no problems\n", "")
    assert lint("suite.toml") == Outcome(0, "4 files checked: no problems\n", "")


def test_a_connector_and_its_folder(lint: Lint, bundle: Path) -> None:
    manifest = bundle / "connectors" / "mail" / "manifest.toml"
    assert lint(manifest) == lint(manifest.parent) == Outcome(0, "1 file checked: no problems\n", "")
    manifest.write_text("")
    assert lint(manifest).code == lint(manifest.parent).code == 1


def test_a_path_given_twice_is_checked_once(lint: Lint, bundle: Path) -> None:
    assert lint(bundle, bundle).out == "3 files checked: no problems\n"


def test_one_bad_path_of_several(lint: Lint, bundle: Path, tmp_path: Path) -> None:
    bad = write(tmp_path, "x", "bad.txt")
    code, out, _ = lint(bundle, bad)
    assert code == 1
    assert out.endswith("4 files checked: 1 error\n")


# Usage.


def test_a_path_that_does_not_exist(lint: Lint, bundle: Path) -> None:
    assert lint(bundle, "/no/such/path") == Outcome(2, "", "error: no such file or folder: /no/such/path\n")
    assert lint("a\0b").code == 2
    assert lint("x" * 5000).code == 2
    assert lint("").code == 2


def test_an_unknown_option(lint: Lint) -> None:
    code, out, err = lint("--jsno")
    assert (code, out) == (2, "")
    assert "--jsno" in err


def test_help(lint: Lint) -> None:
    code, out, err = lint("--help")
    assert (code, err) == (0, "")
    assert "--json" in out


def test_no_command_and_an_unknown_one(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main([]) == 2
    assert main(["lnt"]) == 2
    assert 'Did you mean "lint"?' in safe_text(capfdbinary.readouterr().err)
    assert main(["--help"]) == 0
    assert "lint" in safe_text(capfdbinary.readouterr().out)


# Bad input.

FRONT = "+++\n{}\n+++\n"


@pytest.mark.parametrize(
    ("data", "rule", "line"),
    [
        pytest.param(b"", "no-front-matter", 0, id="empty file"),
        pytest.param(b"\n\n \n", "no-front-matter", 0, id="blank file"),
        pytest.param(b"hello", "text-before-front-matter", 1, id="no delimiters"),
        pytest.param(b"+++\nname = 1", "unclosed-front-matter", 2, id="no closing delimiter"),
        pytest.param(b"\xef\xbb\xbf", "no-front-matter", 0, id="byte order mark alone"),
        pytest.param(b"\xff\xfe+\0+\0+\0", "not-utf8", 1, id="UTF-16"),
        pytest.param(b'+++\nname = "\xe9"\n+++', "not-utf8", 2, id="Latin-1"),
        pytest.param(b"+++\n\0\n+++", "toml", 2, id="NUL"),
        pytest.param(b"\0" * 1000, "text-before-front-matter", 1, id="nothing but NUL"),
        pytest.param(b"+++\r\nname = 1\r\n+++\r\n", "wrong-type", 2, id="Windows line ends"),
        pytest.param(b"+++\rname = 1\r+++\r", "text-before-front-matter", 1, id="old Macintosh line ends"),
        pytest.param(b"+++\n# " + b"x" * 2**20 + b"\n+++", "line-too-long", 2, id="a line of a mebibyte and more"),
        pytest.param(b"+++\n+++\n" + b"x" * 2**21, "line-too-long", 3, id="a long line in the body"),
        pytest.param(b'+++\nname = "' + b"X" * 1_000_000 + b'"\n+++', "name", 2, id="a name of a million letters"),
        pytest.param(b"+++\n" + b"x" * 1_000_000 + b" = 1\n+++", "unknown-key", 2, id="a key of a million letters"),
        pytest.param(b"+++\nname = " + b"[" * 500_000 + b"\n+++", "toml", 2, id="deep arrays"),
        pytest.param(b"+++\nname = " + b"{a=" * 300_000 + b"\n+++", "toml", 2, id="deep tables"),
        pytest.param(b"+++\n" + b"a." * 500_000 + b"a = 1\n+++", "toml", 2, id="deep dotted key"),
        pytest.param(b"+++\n[" + b"a." * 500_000 + b"a]\n+++", "toml", 2, id="deep header"),
        pytest.param(b"+++\nname = " + b"[" * 390 + b"]" * 390 + b"\n+++", "wrong-type", 2, id="rather deep arrays"),
        pytest.param(b"+++\nname = " + b"9" * 500_000 + b"\n+++", "toml", 2, id="a number of half a million digits"),
        pytest.param(b'+++\nname = "a"\nname = "b"\n+++', "toml", 3, id="duplicate key"),
        pytest.param(b"+++\n[match]\n[match]\n+++", "toml", 3, id="duplicate table"),
        pytest.param(b"+++\nname = 5\nmatch = 5\ninputs = 5\n+++", "wrong-type", 4, id="wrong types"),
        pytest.param(b"+++\nnaem = 5\n+++", "unknown-key", 2, id="unknown key"),
        pytest.param(b"+++\n" + b'"""\n' * 100_000 + b"+++", "toml", 2, id="a hundred thousand quotes"),
        pytest.param(b"+++\n" + b"a = '''" * 50_000 + b"\n+++", "toml", 2, id="fifty thousand openings"),
        pytest.param(b" " * 2_000_000, "line-too-long", 1, id="two million blanks"),
        pytest.param(b"\n" * 2_000_000, "no-front-matter", 0, id="two million lines"),
        pytest.param(b"+++\n" * 300_000, "required", 2, id="delimiters only"),
    ],
)
def test_bad_files(lint: Lint, tmp_path: Path, data: bytes, rule: str, line: int) -> None:
    file = write(tmp_path, data)
    code, out, err = lint(file)
    place = f"{file}:{line}:" if line else f"{file}: "
    assert (code, err) == (1, "")
    assert any(row.startswith(place) and row.endswith(f"[{rule}]") for row in out.split("\n"))
    assert len(out) < 10_000


def test_a_file_with_thousands_of_errors(lint: Lint, tmp_path: Path) -> None:
    file = write(tmp_path, FRONT.format("".join(f"key{number} = 1\n" for number in range(20_000))))
    document = json.loads(lint("--json", file).out)
    assert document["errors"] == 20_006
    assert document["findings"][19_999]["line"] == 20_001


def test_special_files(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dangling.md").symlink_to("nowhere")
    Path("loop.md").symlink_to("loop.md")
    Path("a.toml").symlink_to("b.toml")
    Path("b.toml").symlink_to("a.toml")
    Path("suite.toml").symlink_to("suite.toml")
    Path("zero.md").symlink_to("/dev/zero")
    os.mkfifo("pipe.md")
    os.mkfifo("pipe.toml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        for name in ("dangling.md", "loop.md", "a.toml", "suite.toml", "zero.md", "pipe.md", "pipe.toml", "socket.md"):
            code, out, err = lint(name)
            assert (code, err) == (1, ""), name
            assert f"{name}: error: cannot read the file: " in out
        assert lint(".").code == 1


def test_a_folder_instead_of_a_file(lint: Lint, tmp_path: Path) -> None:
    (tmp_path / "x.md").mkdir()
    file = tmp_path / "x.md"
    assert lint(file) == Outcome(
        1,
        f"{file}: error: no manifests found [empty-folder]\n"
        "  Use a folder that contains actions/*.md or mcp/*.toml, or a file.\n\n0 files checked: 1 error\n",
        "",
    )
    assert lint(tmp_path).code == 1


def test_a_folder_that_links_to_itself(lint: Lint, bundle: Path) -> None:
    (bundle / "actions" / "again").symlink_to(bundle / "actions")
    (bundle / "connectors" / "again").symlink_to(bundle)
    assert lint(bundle).code == 0


def test_what_may_not_be_read(lint: Lint, bundle: Path) -> None:
    (bundle / "actions" / "get-draft.md").chmod(0)
    if os.access(bundle / "actions" / "get-draft.md", os.R_OK):
        pytest.skip("this user may read everything")
    assert "get-draft.md: error: cannot read the file: permission denied" in lint(bundle).out
    (bundle / "actions").chmod(0)
    try:
        assert "actions: error: cannot read the folder: permission denied" in lint(bundle).out
        assert lint(bundle / "actions").code == 1
        assert lint(bundle / "actions" / "get-draft.md").code == 2
    finally:
        (bundle / "actions").chmod(0o700)


def test_ten_thousand_files(lint: Lint, tmp_path: Path) -> None:
    text = """+++
name = "a{0}"
version = "1.0.0"
source = "local://acme/a{0}@1.0.0"
requires.connectors = [{{ name = "local://acme/x", version = "1.0.0", hash = "sha256:0", capabilities = ["x"] }}]
match.intent = "x"
execute = [{{ id = "x", connector = "local://acme/x", op = "x" }}]
+++
"""
    for number in range(10_000):
        write(tmp_path, text.format(number) if number else "x", f"{number:05}.md")
    assert lint(tmp_path).out.endswith("10,000 files checked: 1 error\n")


def test_thousands_of_paths(lint: Lint, tmp_path: Path) -> None:
    files = [write(tmp_path, FRONT.format("naem = 1"), f"{number}.md") for number in range(1000)]
    document = json.loads(lint("--json", *files).out)
    assert (document["files"], document["errors"]) == (1000, 7000)
    assert [finding["file"] for finding in document["findings"][::7]] == [str(file) for file in files]


# Hostile text.


def toml_string(text: str) -> str:
    """A TOML string of any text that TOML can hold."""
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text.encode("utf-8", "replace").decode()) + '"'


def test_hostile_text_in_keys_and_values(lint: Lint, tmp_path: Path) -> None:
    for index, text in enumerate(HOSTILE.values()):
        odd = toml_string(text)
        write(
            tmp_path,
            GOOD.replace('name = "send-draft"', f"name = {odd}")
            .replace("label = ", f"{odd} = 1\nlabel = ")
            .replace('version = "2.0.1"', f"version = {odd}")
            .replace("render = { ", f'render = {{ {odd} = "", ')
            .replace('["Body"]', f'[{odd}, {odd[:-1]}x"]'),
            f"{index}.md",
        )
    code, out, err = lint(tmp_path)
    assert (code, err) == (1, "")
    assert out.count("[unknown-key]") == len(HOSTILE)
    assert lint("--json", tmp_path).code == 1


def test_hostile_bytes_in_the_source(lint: Lint, tmp_path: Path) -> None:
    for index, text in enumerate(HOSTILE.values()):
        raw = text.encode("utf-8", "surrogatepass")
        write(tmp_path, b"+++\n# " + raw + b"\nx = '" + raw + b"'\n" + raw + b"\n+++\n" + raw, f"{index}.md")
        write(tmp_path, raw, f"{index}-alone.md")
        write(tmp_path, b"[connector]\nname = 1 # " + raw, f"{index}.toml")
    assert lint(tmp_path).code == 1
    assert lint(*tmp_path.glob("*.toml")).code == 1
    assert lint("--json", tmp_path).code == 1


def test_hostile_names(lint: Lint, tmp_path: Path) -> None:
    written = 0
    for text in HOSTILE.values():
        name = text.encode("utf-8", "surrogateescape" if "\udc80" <= text[:1] <= "\udcff" else "replace")[:200]
        if b"/" in name or b"\0" in name:
            continue
        (tmp_path / os.fsdecode(name + b".md")).write_text("x")
        written += 1
    assert written > 100
    code, out, err = lint(tmp_path)
    assert (code, err) == (1, "")
    assert out.endswith("errors\n")
    listed = list(tmp_path.iterdir())
    assert lint(*listed).code == 1
    assert lint("--json", *listed).code == 1


def test_a_name_that_is_not_utf8(lint: Lint, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\x9b.md")).write_text("x")
    assert "⟨U+DCFF⟩⟨U+DC9B⟩.md" in lint(tmp_path).out
    assert json.loads(lint("--json", tmp_path).out)["findings"][0]["file"].endswith("/\udcff\udc9b.md")


@pytest.mark.few(60)
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_hostile_arguments(lint: Lint, capfdbinary: pytest.CaptureFixture[bytes], text: str) -> None:
    assert lint(f"no-such-{text}").code == 2
    assert lint(f"--{text}").code == 2
    assert lint("--json", f"--json={text}").code == 2
    assert main([f"x{text}"]) == 2
    safe_text(capfdbinary.readouterr().err)


# Terminals and pipes, in separate processes.


def on_a_terminal(*words: str, **environment: str) -> bytes:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        printed += chunk
    os.close(ours)
    assert process.wait() == 1
    return printed.replace(b"\r\n", b"\n")


def test_colour_only_on_a_terminal(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.replace('"send-draft"', '"\\u001b[2J"'))
    coloured = on_a_terminal("lint", str(file), NO_COLOR="")
    plain = on_a_terminal("lint", str(file), NO_COLOR="1")
    assert b"\x1b[31merror\x1b[0m" in coloured
    assert set(re.findall(rb"\x1b\[?[^m]*m?", coloured)) <= {b"\x1b[%dm" % code for code in (0, 1, 2, 31, 33)}
    assert b"\x1b" not in plain
    assert re.sub(rb"\x1b\[\d+m", b"", coloured) == plain
    piped = subprocess.run([*COMMAND, "lint", str(file)], capture_output=True, check=False)
    assert (piped.returncode, piped.stdout, piped.stderr) == (1, plain, b"")


@pytest.mark.parametrize("option", ["--json", "--"])
def test_a_pipe_that_is_closed_while_writing(tmp_path: Path, option: str) -> None:
    write(tmp_path, FRONT.format("".join(f"key{number} = 1\n" for number in range(5000))))
    command = [*COMMAND, "lint", option, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["lint"], ["lint", "--help"]])
def test_a_pipe_that_is_closed_from_the_start(words: list[str]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    process = subprocess.run([*COMMAND, *words], stdout=theirs, stderr=subprocess.PIPE, check=False, env=BUFFERED)
    os.close(theirs)
    assert process.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(bundle: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [*COMMAND, "lint", str(bundle)]
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, env=BUFFERED)
    assert (process.returncode, process.stderr) == (1, b"error: No space left on device\n")


def test_an_ascii_terminal(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.replace('"send-draft"', '"日本"'))
    environment: dict[str, Any] = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for words in (["lint", str(file)], ["--help"], ["no-such-日本"]):
        process = subprocess.run([*COMMAND, *words], capture_output=True, check=False, env=environment)
        assert b"Traceback" not in process.stderr
        assert (process.stdout + process.stderr).isascii()
