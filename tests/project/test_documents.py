"""What the documents say is true: their links, their commands and their TOML."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from aileron_tui import __version__, cli
from aileron_tui.cli.commands import COMMANDS
from aileron_tui.cli.exit_codes import FAILED, USAGE
from aileron_tui.console.keymap import checked_keymap
from aileron_tui.console.settings import THEMES
from aileron_tui.core.action import read_action
from aileron_tui.core.connector import read_connector
from aileron_tui.core.mcp_policy import policy_reading
from aileron_tui.core.suite import read_suite
from aileron_tui.files.config_file import load_config
from aileron_tui.gate import openapi
from tests.compiled import shared_cache
from tests.gate.documented_replies import undocumented
from tests.skeletons.guide import GUIDE
from tests.skeletons.guide import commands as guide
from tools.http_api import routes

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"`(aileron-tui(?: [^`]*)?)`")

NO_TERMINAL = "terminal"
"""Marks a command that needs a terminal: here it must get as far as the check for one. Other tests do the rest."""

RUN: dict[str, int | str] = {
    "aileron-tui add SOURCE": NO_TERMINAL,
    "aileron-tui add ~/src/mail-suite": NO_TERMINAL,
    "aileron-tui add https://example.com/releases/aileron.tar.gz": NO_TERMINAL,
    "aileron-tui installed": 0,
    "aileron-tui installed --history": 0,
    "aileron-tui bind CONNECTOR": NO_TERMINAL,
    "aileron-tui bind google": NO_TERMINAL,
    "aileron-tui bind google --account work": NO_TERMINAL,
    "aileron-tui bindings": 0,
    "aileron-tui bindings --unlock": 1,  # there is nothing to unlock
    "aileron-tui unbind google --account work": NO_TERMINAL,
    "aileron-tui update": NO_TERMINAL,
    "aileron-tui update mail ~/src/mail-suite": NO_TERMINAL,
    "aileron-tui remove mail": NO_TERMINAL,
    "aileron-tui trust github://owner publisher.pub": NO_TERMINAL,
    "aileron-tui trust github://owner/repo publisher.pub": NO_TERMINAL,
    "aileron-tui trust --list": 0,
    "aileron-tui trust --remove github://owner": NO_TERMINAL,
    "aileron-tui pin .": 1,  # this is not the repository of a connector
    "aileron-tui pin . --check": 1,
    "aileron-tui pin . --sign publisher.pem --pack dist": 1,
    "aileron-tui --help": 0,
    "aileron-tui completion bash": 0,
    "aileron-tui": NO_TERMINAL,
    "aileron-tui --url http://127.0.0.1:54321 --token-file ~/.aileron/builder.token": NO_TERMINAL,
    "aileron-tui agent add laptop-claude": NO_TERMINAL,
    "aileron-tui agent add python": NO_TERMINAL,
    "aileron-tui agent add mcp": NO_TERMINAL,
    "aileron-tui agent list": 0,
    "aileron-tui setup claude": NO_TERMINAL,
    "aileron-tui setup codex": NO_TERMINAL,
    "aileron-tui setup gemini": NO_TERMINAL,
    "aileron-tui setup copilot": NO_TERMINAL,
    "aileron-tui setup opencode": NO_TERMINAL,
    "aileron-tui setup claude --print": 0,
    "aileron-tui setup claude --undo": NO_TERMINAL,
    "aileron-tui setup codex --undo": NO_TERMINAL,
    "aileron-tui setup gemini --undo": NO_TERMINAL,
    "aileron-tui setup copilot --undo": NO_TERMINAL,
    "aileron-tui setup opencode --undo": NO_TERMINAL,
    "aileron-tui setup mcp": 0,
    "aileron-tui setup mcp --client codex": NO_TERMINAL,
    "aileron-tui setup mcp --client codex --undo": NO_TERMINAL,
    "aileron-tui setup mcp --client cursor --wrap files": NO_TERMINAL,
    "aileron-tui setup mcp --client claude --name files -- npx -y SERVER /srv/files": NO_TERMINAL,
    "aileron-tui setup mcp --client claude --name docs --url https://example.com/mcp": NO_TERMINAL,
    "aileron-tui setup mcp --client claude --name files --undo": NO_TERMINAL,
    "aileron-tui doctor --start-servers": 0,
    "aileron-tui doctor --alerts": 0,
    "aileron-tui rules add allow --agent mcp-files --server files --tool read_file --definition pinned --for 30d": (
        NO_TERMINAL
    ),
    "aileron-tui agent revoke laptop-claude": NO_TERMINAL,
    "aileron-tui agent rotate laptop-claude": NO_TERMINAL,
    "aileron-tui rules list": 0,
    "aileron-tui rules add allow --from act-1 --for 8h": NO_TERMINAL,
    "aileron-tui rules add allow --from act-1 --reach any --until 2026-05-20": NO_TERMINAL,
    "aileron-tui rules add deny --agent laptop-claude --action delete-file --for 2d": NO_TERMINAL,
    "aileron-tui rules add allow --agent laptop-claude --tool Read --for 30d": NO_TERMINAL,
    'aileron-tui rules add allow --agent laptop-claude --tool Bash --folder ~/src --command "make test" --for 8h': (
        NO_TERMINAL
    ),
    "aileron-tui rules end rule-0123": NO_TERMINAL,
    "aileron-tui rules explain act-1": 5,
    "aileron-tui rules replay rule-0123 --since 7d": 5,
    "aileron-tui doctor": 0,
    "aileron-tui gate": 0,
    "aileron-tui gate --service": 0,
    "aileron-tui gate --service --print": 0,
    "aileron-tui history --source here": 1,  # there is no such source in an empty home
    "aileron-tui history head": 0,
    "aileron-tui history reduce --dry-run": 1,  # the configuration does not say for how long
    "aileron-tui history reduce": 1,
    "aileron-tui history verify": 0,
    "aileron-tui history verify --all": 0,
    f"aileron-tui history verify --against 1042:sha256:{'2c26b46b68ffc68ff99b453c1d304134' * 2}": 1,  # an empty ledger
    "aileron-tui history backup ledger-2026-05.db": 1,  # there is nothing to back up or export
    "aileron-tui history export --output ledger.jsonl": 1,
    "aileron-tui history export --format csv --since 30d --output requests.csv": 1,
    "aileron-tui history export --format ocsf --output events.jsonl": 1,
    "aileron-tui history restore ledger-2026-05.db": NO_TERMINAL,
    "aileron-tui history set-aside": 0,
    "aileron-tui key init": 0,
    "aileron-tui key security-key add --name blue": NO_TERMINAL,
    "aileron-tui key security-key add --name laptop --page": NO_TERMINAL,
    "aileron-tui key security-key list": 0,
    "aileron-tui key security-key remove blue": NO_TERMINAL,
    "aileron-tui lint manifests/": 0,
    "aileron-tui lint manifests/mcp": 0,
    "aileron-tui preview write_file --mcp files --arg path=plan.txt --arg content=later": 5,  # it is not set up
    "aileron-tui page": NO_TERMINAL,
    "aileron-tui page --print": NO_TERMINAL,
    "aileron-tui preview send-draft --arg draft_id=r-12345 --demo": 0,
    "aileron-tui preview send-draft --arg draft_id=r-12345 --record draft.json": 1,  # it has no credential
    "aileron-tui preview send-draft --arg draft_id=r-12345 --replay draft.json": 1,  # nothing was recorded
    "aileron-tui prompt": NO_TERMINAL,
    "aileron-tui prompt --once --plain": NO_TERMINAL,
    "aileron-tui result ID --wait 60": 1,  # no gate is running
    "aileron-tui run send-draft --arg draft_id=r-12345 --wait 60": 75,  # nobody answers, so it still waits
}
"""Every `aileron-tui` command of the documents, and how it ends in a new home."""

OTHERS = {
    "pipx install .",
    ".venv/bin/python -m pytest -q -n 2 tests/core",
    ".venv/bin/uv build --no-build-isolation --out-dir dist",
    "cd dist",
    "../.venv/bin/uv tool run --isolated --from ./aileron_tui-*.whl aileron-tui --version",
    "../.venv/bin/uv tool run --isolated --from ./aileron_tui-*.whl aileron-tui lint",
}
"""Commands of other programs. tests/project/test_package.py builds, installs and runs the wheel."""


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """The blocks in a language, each with its document and line."""
    for document in DOCUMENTS:
        text = document.read_text()
        for block in BLOCK.finditer(text):
            if block[1].split()[:1] == ([language] if language else []):
                yield f"{document.name}:{text.count(chr(10), 0, block.start()) + 1}", block[2]


def command_lines() -> Iterator[str]:
    """The commands in blocks without a language, without their comments."""
    for place, text in blocks(""):
        if place.startswith(f"{GUIDE.name}:"):
            continue  # tests/skeletons runs these one after another
        lines = [line.partition(" #")[0].strip() for line in text.splitlines()]
        if any(line.startswith(("make ", "aileron-tui", ".venv/", "cd ")) for line in lines):
            yield from filter(None, lines)


def documented() -> set[str]:
    """The `aileron-tui` commands in blocks and in the text; words alone name a command and are no example."""
    inline = {command for document in DOCUMENTS for command in COMMAND.findall(document.read_text())} - set(guide())
    return {command for command in [*command_lines(), *inline] if command.startswith("aileron-tui")}


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_links_and_targets_exist(document: Path) -> None:
    text = document.read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (document.parent / link).exists(), link
    for target in re.findall(r"`make ([a-z-]+)`", text) + re.findall(r"^ *make ([a-z][a-z-]*)", text, re.MULTILINE):
        if document == GUIDE:  # its targets are those of the new repository
            assert f"\n{target}:" in (ROOT / "skeletons" / "repository" / "Makefile").read_text(), target
            continue
        assert subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=False).returncode == 0, (
            target
        )
    for command in re.findall(r"`aileron-tui ([a-z]+)", text):
        assert command in COMMANDS


def anchors(document: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_links_lead_to_headings_that_exist(document: Path) -> None:
    for page, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
        target = document.parent / page if page else document
        assert anchor in anchors(target), f"{page}#{anchor}"


def test_the_first_page_lists_every_page_once() -> None:
    text = (ROOT / "docs" / "start.md").read_text()
    listed = re.findall(r"^\| \[[^]]+\]\(([a-z-]+\.md)\) \|", text, re.MULTILINE)
    assert listed == sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name != "start.md")


def test_every_command_of_the_documents_is_run() -> None:
    assert documented() == set(RUN)
    others = {line for line in command_lines() if not line.startswith(("make ", "aileron-tui"))}
    assert others == OTHERS


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample connectors, compiled."""
    return shared_cache(tmp_path_factory)


@pytest.fixture
def home(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new home in which nothing has to be compiled, and a person who types a passphrase."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(compiled, home / "cache", copy_function=os.link)
    monkeypatch.setenv("AILERON_TUI_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("AILERON_API_URL", raising=False)
    monkeypatch.delenv("AILERON_TOKEN", raising=False)
    monkeypatch.chdir(ROOT)
    for module in ("agent", "key", "rules.add", "rules.end", "trust"):  # pytest stays debuggable
        monkeypatch.setattr(f"aileron_tui.cli.commands.{module}.protect_process", lambda: None)
    monkeypatch.setattr("aileron_tui.cli.commands.key.ask_new_passphrase", lambda _: bytearray(b"correct horse"))
    return home


@pytest.mark.parametrize("command", sorted(RUN.keys() - {"aileron-tui gate", *filter(lambda c: " run " in c, RUN)}))
def test_a_documented_command_works(command: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    if RUN[command] == NO_TERMINAL:
        assert code in (FAILED, USAGE)
        assert NO_TERMINAL in printed.err or "usage: aileron-tui" in printed.err
    else:
        assert code == RUN[command], printed.out + printed.err


def test_an_agent_calls_the_gate_as_documented(home: Path) -> None:
    (call,) = (shlex.split(command)[1:] for command in RUN if " run " in command)
    program = [sys.executable, "-m", "aileron_tui"]
    call[call.index("--wait") + 1] = "1"
    with subprocess.Popen([*program, "gate", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gate:
        try:
            assert gate.stdout
            assert gate.stdout.readline()
            called = subprocess.run([*program, *call], capture_output=True, text=True, check=False)
        finally:
            gate.terminate()
    assert called.returncode == 75, called.stdout + called.stderr
    assert gate.returncode == 0


@pytest.fixture
def with_curl(tmp_path: Path) -> dict[str, str]:
    """An environment in which curl is a small one of our own, so that none has to be installed."""
    curl = tmp_path / "bin" / "curl"
    curl.parent.mkdir()
    curl.write_text(f"#!{sys.executable}\n{Path(__file__).with_name('small_curl.py').read_text()}")
    curl.chmod(0o700)
    return {**os.environ, "PATH": f"{curl.parent}:{os.environ['PATH']}"}


def test_the_first_lines_of_a_gate_say_how_to_call_it(home: Path, with_curl: dict[str, str]) -> None:
    program = [sys.executable, "-m", "aileron_tui", "gate", "--port", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as gate:
        try:
            assert gate.stdout
            assert gate.stderr
            ready = json.loads(gate.stdout.readline())
            lines = iter(gate.stderr.readline, "")
            said = next(line for line in lines if " agents " in line)
            assert said.rstrip().endswith(f"Agents call {ready['url']} with the token in {ready['agent_token_file']}")
            command = next(lines).partition(" try ")[2]
            ran = subprocess.run(["sh", "-c", command], env=with_curl, capture_output=True, text=True, check=False)
        finally:
            gate.terminate()
    assert ran.stderr == "202\n", ran.stdout
    assert json.loads(ran.stdout)["status"] == "pending_approval"


def test_the_documented_curl_commands_work(home: Path, tmp_path: Path, with_curl: dict[str, str]) -> None:
    """Runs every curl command of the documents in a shell, in order."""
    scripts: dict[str, str] = {}
    for place, text in blocks("sh"):
        document = place.partition(":")[0]
        scripts[document] = scripts.get(document, "set -e\n") + text
    assert set(scripts) >= {"README.md", "agents.md", "http-api.md"}
    program = [sys.executable, "-m", "aileron_tui"]
    with subprocess.Popen([*program, "gate", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gate:
        try:
            assert gate.stdout
            ready = json.loads(gate.stdout.readline())
            for document, text in scripts.items():
                script = re.sub(r"wait=\d+", "wait=1", text).replace("http://127.0.0.1:8722", ready["url"])
                script = script.replace("TOKEN_FILE", shlex.quote(ready["agent_token_file"]))
                ran = subprocess.run(
                    ["sh", "-c", script], env=with_curl, capture_output=True, text=True, check=False, cwd=tmp_path
                )
                assert ran.returncode == 0, f"{document}: {ran.stdout}{ran.stderr}"
                calls = ran.stderr.split()
                assert len(calls) == text.count("curl -sS"), document
                assert set(calls) <= {"200", "202", "204"}, f"{document}: {ran.stdout}{ran.stderr}"
        finally:
            gate.terminate()


def test_json_of_the_api_document_is_as_the_gate_sends_it() -> None:
    """Each reply in the text fits one of the documented objects, and every field of it is documented."""
    described = json.loads(json.dumps(openapi.document(routes())))
    examples = [json.dumps(route.docs.example) for route in routes()]
    replies = [text.strip() for place, text in blocks("json") if place.startswith("http-api.md")]
    tried = 0
    for reply in replies:
        if reply in examples:
            continue
        schemas = [described["components"]["schemas"][name] for name in ("Pending", "Result", "Ungated", "Error")]
        assert any(not list(undocumented(described, schema, json.loads(reply))) for schema in schemas), reply
        tried += 1
    assert tried >= 6


CONFIGURATIONS = list(blocks("toml"))


def test_the_documents_have_toml_to_check() -> None:
    assert len(CONFIGURATIONS) >= 8


@pytest.mark.parametrize(("place", "text"), [pytest.param(*block, id=block[0]) for block in CONFIGURATIONS])
def test_toml_of_the_documents_is_valid(place: str, text: str, tmp_path: Path) -> None:
    if "[[execute]]" in text:
        assert read_action(f"+++\n{text}+++\n", place).findings == ()
    elif text.startswith("[connector]"):
        assert read_connector(text, place).findings == ()
    elif re.search(r"^\[tools\.", text, re.MULTILINE):
        assert policy_reading(text, place).findings == ()
    elif re.search(r"^actions = ", text, re.MULTILINE):
        assert read_suite(text, place).findings == ()
    else:
        file = tmp_path / "config.toml"
        file.write_text(text)
        console = load_config(file).console
        checked_keymap(console.keys)
        assert console.theme in ("", *THEMES)


def test_the_changelog_knows_this_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_command_is_a_module_with_help() -> None:
    for command, words in COMMANDS.items():
        assert find_spec(f"aileron_tui.cli.commands.{command.replace('-', '_')}")
        assert words


@pytest.mark.parametrize("pattern", [r"https?://[^\s]*(?:simple|index)", r"--index-url", r"--find-links"])
def test_the_lock_names_no_registry_and_hashes_everything(pattern: str) -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert not re.search(pattern, lock)
    blocks = re.split(r"^(?=[A-Za-z0-9._-]+==)", lock, flags=re.MULTILINE)[1:]
    assert len(blocks) > 30
    assert all("--hash=sha256:" in block for block in blocks)


def test_no_file_names_a_home_folder() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    if not files:
        pytest.skip("not a git checkout")
    pattern = re.compile(rb"(?<![~\\w])/(?:root|work|Users)/[a-z]")
    guilty = [
        str(path) for path in files if path.is_file() and path.suffix != ".wasm" and pattern.search(path.read_bytes())
    ]
    assert guilty == []
