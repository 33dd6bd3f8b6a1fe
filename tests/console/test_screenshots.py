"""The pictures that the README and the docs show are what the program draws today."""

from xml.etree import ElementTree as ET

import pytest

from tests.console.fixed_clock import fixed_time
from tests.console.screen_app import async_test
from tools import animation
from tools.agent_picture import PICTURE
from tools.screenshots import FOLDER, SHOTS, Shot, draw


@pytest.mark.parametrize("shot", SHOTS, ids=[shot.name for shot in SHOTS])
@async_test
async def test_a_picture_is_true(shot: Shot) -> None:
    with fixed_time():
        drawn = await draw(shot)
    if drawn != (FOLDER / f"{shot.name}.svg").read_text("utf-8"):
        pytest.fail("the console looks different: if that is meant, `make screenshots`", pytrace=False)


@async_test
async def test_the_moving_picture_is_true_and_small() -> None:
    with fixed_time():
        drawn = await animation.draw()
    if drawn != animation.PICTURE.read_text("utf-8"):
        pytest.fail("the console looks different: if that is meant, `make screenshots`", pytrace=False)
    ET.fromstring(drawn)  # a browser shows nothing of a picture that is not XML
    assert len(drawn.encode()) < 400_000
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", ""), "it loads nothing"


def test_every_picture_is_drawn() -> None:
    # A browser draws those of the page.
    assert {file.stem for file in FOLDER.iterdir() if not file.stem.startswith("page-")} == {
        PICTURE.stem,
        animation.PICTURE.stem,
        *(shot.name for shot in SHOTS),
    }
