"""One browser and one server for each process that runs cases."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.opened_page import browser
from tests.browser.page_gate import PageGate, page_gate
from tests.browser.sample_page import SamplePage, sample_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    with browser() as started:
        yield started


@pytest.fixture(scope="session")
def _server() -> Iterator[SamplePage]:
    with sample_page() as page:
        yield page


@pytest.fixture
def sample(_server: SamplePage) -> SamplePage:
    """The page with sample requests, as if it had just been started."""
    _server.reset()
    return _server


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[PageGate]:
    """A real gate with its page."""
    with page_gate(tmp_path / "home") as started:
        yield started
