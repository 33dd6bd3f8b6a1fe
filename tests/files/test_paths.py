"""Folders of the user and of the program."""

from pathlib import Path

import pytest

from aileron_tui.files.paths import bundled, paths


def test_a_home_folder_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AILERON_TUI_HOME", str(tmp_path))
    here = paths()
    assert here.config == tmp_path / "config.toml"
    assert {here.data, here.keys, here.cache} == {tmp_path / "data", tmp_path / "keys", tmp_path / "cache"}
    assert not any(tmp_path.iterdir()), "nothing is created"


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("AILERON_TUI_HOME", "here")
    assert paths().config == tmp_path / "here" / "config.toml"
    monkeypatch.setenv("AILERON_TUI_HOME", "~/there")
    assert paths().config == Path("/home/somebody/there/config.toml")


def test_the_standard_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AILERON_TUI_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    here = paths()
    assert here.config == tmp_path / ".aileron" / "config.toml"
    assert here.keys.is_relative_to(here.data)
    assert here.data.is_relative_to(tmp_path)
    assert here.cache.is_relative_to(tmp_path)
    assert here.cache != here.data


def test_bundled_folders_are_there() -> None:
    assert (bundled("manifests") / "suite.toml").is_file()
    assert list(bundled("styles").glob("*.tcss"))
