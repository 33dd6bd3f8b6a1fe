"""The command that installs an extra fits how the program was installed, and drops no extra."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import pathname2url

import pytest

from aileron_tui.files.extras import install_command

Installed = Callable[..., None]
METADATA = """\
Metadata-Version: 2.4
Name: aileron-tui
Version: 1.0
Requires-Dist: httpx<0.29,>=0.28
Provides-Extra: dev
Requires-Dist: pytest<9,>=8.4; extra == 'dev'
Provides-Extra: mcp
Requires-Dist: mcp==2.3.0; extra == 'mcp'
Provides-Extra: metrics
Requires-Dist: no-such-package<1; (python_version > '3') and extra == "metrics"
Provides-Extra: page
Requires-Dist: fido2<3,>=2.2.1; extra == 'page'
Requires-Dist: no-such-package; extra == 'page'
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Installs the program: into which kind of environment, and what the installer wrote down about its source."""

    def install(receipt: str = "", source: object = None) -> None:
        packages, prefix = tmp_path / "packages" / "aileron_tui-1.0.dist-info", tmp_path / "environment"
        packages.mkdir(parents=True)
        prefix.mkdir()
        (packages / "METADATA").write_text(METADATA)
        if source is not None:
            (packages / "direct_url.json").write_text(source if isinstance(source, str) else json.dumps(source))
        if receipt:
            (prefix / receipt).touch()
        monkeypatch.syspath_prepend(str(packages.parent))
        monkeypatch.setattr(sys, "prefix", str(prefix))
        monkeypatch.setattr(sys, "executable", "/home/me/.venv/bin/python")

    return install


def folder(path: Path, **more: object) -> dict[str, object]:
    path.mkdir()
    return {"url": f"file://{pathname2url(str(path))}", "dir_info": more}


def test_pipx_keeps_the_extras_that_are_complete(installed: Installed, tmp_path: Path) -> None:
    source = tmp_path / "aileron-tui"
    installed("pipx_metadata.json", folder(source))
    assert install_command("accounts") == f"pipx install --force '{source}[accounts,mcp]'"
    assert install_command("mcp") == f"pipx install --force '{source}[mcp]'"


def test_uv_installs_from_the_wheel(installed: Installed, tmp_path: Path) -> None:
    wheel = tmp_path / "aileron_tui-1.0-py3-none-any.whl"
    wheel.touch()
    installed("uv-receipt.toml", {"url": wheel.as_uri(), "archive_info": {"hashes": {}}})
    assert install_command("page") == f"uv tool install --force '{wheel}[mcp,page]'"


def test_pip_of_the_same_environment_adds_only_what_is_missing(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("", folder(tmp_path / "source"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: "pip")
    assert install_command("page") == f"/home/me/.venv/bin/python -m pip install '{tmp_path}/source[page]'"


def test_uv_installs_where_there_is_no_pip(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("", folder(tmp_path / "source"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    python = "/home/me/.venv/bin/python"
    assert install_command("page") == f"uv pip install --python {python} '{tmp_path}/source[page]'"


def test_a_folder_that_is_used_in_place_stays_so(installed: Installed, tmp_path: Path) -> None:
    installed("pipx_metadata.json", folder(tmp_path / "source", editable=True))
    assert install_command("mcp") == f"pipx install --force --editable '{tmp_path}/source[mcp]'"


def test_an_address_is_named_with_its_commit(installed: Installed) -> None:
    version = {"vcs": "git", "commit_id": "5e" * 20}
    installed("uv-receipt.toml", {"url": "https://example.com/a.git", "vcs_info": version})
    wanted = f"aileron-tui[mcp] @ git+https://example.com/a.git@{'5e' * 20}"
    assert install_command("mcp") == f"uv tool install --force '{wanted}'"


@pytest.mark.parametrize(
    "source",
    [None, "{", "[]", {"url": "file:///no/such/folder", "dir_info": {}}],
    ids=["registry", "broken", "list", "gone"],
)
def test_a_source_that_is_unknown_or_gone_is_for_the_person_to_name(installed: Installed, source: object) -> None:
    installed("pipx_metadata.json", source)
    assert install_command("mcp") == "pipx install --force 'PATH_TO_AILERON_TUI[mcp]'"


def test_a_hostile_folder_is_quoted_and_made_visible(installed: Installed, tmp_path: Path) -> None:
    installed("pipx_metadata.json", folder(tmp_path / "it's $(here)\x1b[2J"))
    command = install_command("mcp")
    assert "it'\"'\"'s $(here)⟨ESC⟩[2J[mcp]'" in command
    assert "\x1b" not in command


def test_a_program_that_is_not_installed_has_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: "pip")
    assert install_command("mcp") == "/usr/bin/python3 -m pip install 'PATH_TO_AILERON_TUI[mcp]'"
