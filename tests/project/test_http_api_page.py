"""docs/http-api.md is generated, complete and up to date."""

from pathlib import Path

import pytest

from tools import http_api


def test_the_page_is_up_to_date() -> None:
    written = http_api.DOCUMENT.read_text(encoding="utf-8")
    assert written == http_api.document(), "out of date: run make http-api"


def test_the_page_names_every_route() -> None:
    page = http_api.document()
    assert all(f"{route.method} {route.path}" in page for route in http_api.routes())
    assert "@" not in page


def test_check_reports_a_stale_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_api, "DOCUMENT", tmp_path / "http-api.md")
    monkeypatch.setattr("sys.argv", ["http_api", "--check"])
    assert http_api.main() == 1
    monkeypatch.setattr("sys.argv", ["http_api"])
    assert http_api.main() == 0
    monkeypatch.setattr("sys.argv", ["http_api", "--check"])
    assert http_api.main() == 0
