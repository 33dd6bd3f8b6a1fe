"""The user's configuration: closed, with the line and the nearest key of what is wrong."""

from pathlib import Path

import pytest

from aileron_tui.core.risk import Level
from aileron_tui.files.config import Config, ConfigError, load_config

WHOLE = """
[policy]
keep_previews = true
timeout = 60
high_risk = "type"

[console]
theme = "aileron-light"
undo_seconds = 0
keys = { approve = "ctrl+y" }

[[risk]]
action = "send-*"
level = "high"

[connectors."local://aileron/mail"]
memory_mib = 64
credential = { command = ["gcloud", "auth", "print-access-token"] }

[connectors."github://acme/tickets".credential]
env = "TICKETS_TOKEN"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text)
    return path


def test_no_file_is_the_default(tmp_path: Path) -> None:
    assert load_config(tmp_path / "config.toml") == Config()


def test_everything_is_read(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, WHOLE))
    assert (config.policy.keep_previews, config.policy.timeout, config.policy.high_risk) == (True, 60, "type")
    assert (config.console.theme, config.console.undo_seconds) == ("aileron-light", 0)
    assert config.console.keys == {"approve": "ctrl+y"}
    assert [(rule.action, rule.level) for rule in config.risk] == [("send-*", Level.HIGH)]
    mail = config.connectors["local://aileron/mail"]
    assert mail.memory_mib == 64
    assert mail.credential is not None
    assert mail.credential.command == ("gcloud", "auth", "print-access-token")
    tickets = config.connectors["github://acme/tickets"]
    assert tickets.credential is not None
    assert tickets.credential.env == "TICKETS_TOKEN"


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        ("[policy]\nkeep_preview = true", 2, "keep_preview", 'Did you mean "keep_previews"?'),
        ("[policy]\ntimeout = 301", 2, "timeout of 301", "1 to 300"),
        ("[policy]\ntimeout = 0", 2, "timeout of 0", "1 to 300"),
        ('[policy]\nheadless_decisions = "yes"', 2, "must be a boolean", ""),
        ('[policy]\nhigh_risk = "never"', 2, "no way to ask once more", "confirm, type, passphrase"),
        ("[console]\nundo_seconds = 61", 2, "undo window of 61", "0 to 60"),
        ("[console]\nlock_minutes = -1", 2, "-1 minutes", "0 for never"),
        ('[[risk]]\nlevel = "extreme"', 2, "extreme", "low, normal, high"),
        ('[[risk]]\naction = "x"', 1, "is not a level of risk", "low, normal, high"),
        ('[connectors."mail"]\nmemory_mib = 1', 1, "does not name a connector", "github://owner/repo"),
        ('[connectors."local://a/b"]\nmemory_mib = 0', 2, "0 MiB", "1 to 4096"),
        ('[connectors."local://a/b".credential]\nregion = "x"', 1, "0 sources", "exactly one"),
        ('[connectors."local://a/b".credential]\nenv = "A"\nkeyring = "b/c"', 1, "2 sources", "exactly one"),
        ('[connectors."local://a/b".credential]\nkeyring = "b"', 2, "service and a user", "service/user"),
        ("[policy\n", 1, "not TOML", ""),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_mend(
    tmp_path: Path, text: str, line: int, words: str, hint: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.title.startswith(f"{path}:{line}: ")
    assert words in caught.value.title
    assert hint in caught.value.hint


def test_a_folder_in_its_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(tmp_path / "config.toml")
