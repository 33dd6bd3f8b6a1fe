"""`aileron-tui page`: a private file opens the page in the browser, and its code is in the arguments of no process."""

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from aileron_tui.cli import main
from aileron_tui.cli.page_opening import CODE_SECONDS, has_browser, open_in_browser
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.demo.sample_home import sample_home
from aileron_tui.files.paths import HOME_VARIABLE
from aileron_tui.ledger.file_names import FILE
from aileron_tui.ledger.open_store import open_ledger
from aileron_tui.page.offer import make_page
from aileron_tui.signing import key_store
from aileron_tui.signing.approvers import Approvers
from aileron_tui.surface.embedded_gate import EmbeddedGate
from tests.compiled import shared_cache

URL = "http://localhost:8722/page#code=abc&x=<\"'"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_browser_is_given_a_private_file_that_is_removed(home: Path) -> None:
    opened: list[str] = []
    waited: list[float] = []

    def opens(address: str) -> bool:
        file = Path(unquote(urlsplit(address).path))
        opened.append(address)
        assert address.startswith("file:///")
        assert "abc" not in address
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        text = file.read_text()
        assert 'data-url="http://localhost:8722/page#code=abc&amp;x=&lt;&quot;&#x27;"' in text
        assert 'data-clear="http://localhost:8722/page/clear/' in text
        assert "abc" not in text.partition("<script>")[2]
        return True

    assert open_in_browser(URL, opens, waited.append)
    assert (len(opened), waited) == (1, [CODE_SECONDS])
    assert not list((home / "data" / "page").iterdir())


def test_the_file_is_removed_if_no_browser_starts_or_the_command_is_interrupted(home: Path) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    assert not open_in_browser(URL, lambda _: False, lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        open_in_browser(URL, lambda _: True, interrupted)
    assert not list((home / "data" / "page").iterdir())


def test_what_a_killed_command_left_is_removed_later(home: Path) -> None:
    open_in_browser(URL, lambda _: True, lambda _: None)
    old, new = home / "data" / "page" / "open-1.html", home / "data" / "page" / "open-2.html"
    for file in (old, new):
        file.write_text("left over")
    os.utime(old, (0, 0))
    open_in_browser(URL, lambda _: True, lambda _: None)
    assert (old.exists(), new.exists()) == (False, True)


def test_no_browser_is_started_without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    assert not has_browser()


def test_the_command_prints_an_address_that_opens_the_page_of_the_running_gate(
    home: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with sample_home(shared_cache(tmp_path_factory)) as sample:
        monkeypatch.setenv(HOME_VARIABLE, str(sample.root))
        made = key_store.create(sample.root / "keys", "default", None)
        with open_ledger(sample.setup.data / FILE, role="test") as ledger:
            ledger.append(EntryKind.KEY_ENROLLED, Approvers().enrolment("default", made.public, insecure=True))
        assert main(["page", "--print"]) == 1
        assert "needs a terminal" in capsys.readouterr().err
        (sample.root / "config.toml").write_text("[policy]\nheadless_decisions = true\n")
        assert main(["page", "--print"]) == 1
        said = capsys.readouterr().err
        assert "no gate is running" in said
        assert "--url" not in said, "the page is only on this machine"
        with monkeypatch.context() as without, EmbeddedGate(sample.setup, page=make_page):
            without.setattr("aileron_tui.page.web_page.find_spec", lambda _: None)
            assert main(["page", "--print"]) == 1
            said = " ".join(capsys.readouterr().err.split())
            assert "Run `aileron-tui doctor` where the gate runs" in said
        with EmbeddedGate(sample.setup, page=make_page) as gate:
            assert main(["page", "--print"]) == 0
            shown = capsys.readouterr()
            address, _, code = shown.out.strip().partition("#code=")
            assert address == f"http://localhost:{gate.found.url.rpartition(':')[2]}/page"
            assert len(code) == 43
            assert code not in shown.err
            assert "30 seconds" in shown.err
        with EmbeddedGate(sample.setup):
            assert main(["page", "--print"]) == 1
            assert "serves no page" in capsys.readouterr().err
