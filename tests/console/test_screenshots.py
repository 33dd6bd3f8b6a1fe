"""The pictures that the README and the docs show are what the program draws today."""

import pytest

from tests.console.fixed_clock import fixed_time
from tests.console.screen_app import async_test
from tools.agent_picture import PICTURE
from tools.screenshots import FOLDER, SHOTS, Shot, draw


@pytest.mark.parametrize("shot", SHOTS, ids=[shot.name for shot in SHOTS])
@async_test
async def test_a_picture_is_true(shot: Shot) -> None:
    with fixed_time():
        drawn = await draw(shot)
    if drawn != (FOLDER / f"{shot.name}.svg").read_text("utf-8"):
        pytest.fail("the console looks different: if that is meant, `make screenshots`", pytrace=False)


def test_every_picture_is_drawn() -> None:
    # A browser draws those of the page.
    assert {file.stem for file in FOLDER.iterdir() if not file.stem.startswith("page-")} == {
        PICTURE.stem,
        *(shot.name for shot in SHOTS),
    }
