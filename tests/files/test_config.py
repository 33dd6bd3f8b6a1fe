"""The user's configuration: closed, with the line and the nearest key of what is wrong."""

from pathlib import Path

import pytest

from aileron_tui.core.risk import RiskLevel
from aileron_tui.files.config import Config, ConfigError, SourceConfig, WebhookConfig, WebhookSecret
from aileron_tui.files.config_file import load_config

WHOLE = """manifests = ["~/bundle", "/srv/actions"]

[policy]
keep_previews = true
timeout = 60
high_risk = "type"

[console]
theme = "aileron-light"
undo_seconds = 0
keys = { approve = "ctrl+y" }

[notifications]
content = false

[metrics]
enabled = true

[ledger]
keep = "52w"

[webhook]
url = "https://hooks.example.com/aileron?key=1"
content = true

[webhook.secret]
file = "~/.aileron/webhook.secret"

[[risk]]
action = "send-*"
level = "high"

[[sources]]
name = "here"
kind = "daemon"

[[sources]]
name = "work"
kind = "daemon"
url = "http://localhost:9000/v1/"
token_file = "~/.secrets/work"

[[sources]]
name = "far"
kind = "daemon"
url = "https://aileron.example.com"
token_env = "FAR_TOKEN"

[[sources]]
name = "gate-2"
kind = "gate"
url = "http://127.0.0.1:8722"

[connectors."local://aileron/mail"]
memory_mib = 64
seconds = 180
body_mib = 32
upstream = { "API.example.com:443" = "http://127.0.0.1:8080/" }
account = "work"
credential = { command = ["gcloud", "auth", "print-access-token"] }

[connectors."github://acme/tickets".credential]
env = "TICKETS_TOKEN"

[actions.send-draft]
account = "team@example.com"
"""

DAEMON = '[[sources]]\nname = "a"\nkind = "daemon"'
GATE = '[[sources]]\nname = "a"\nkind = "gate"'
OPENCODE = '[[sources]]\nname = "a"\nkind = "opencode"'
HOOK = '[webhook]\nurl = "https://hooks.example.com/a"'
HERE = f'{OPENCODE}\nurl = "http://127.0.0.1:4096"'


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text)
    return path


def test_without_a_file_every_value_is_the_default(tmp_path: Path) -> None:
    assert load_config(tmp_path / "config.toml") == Config()


def test_everything_is_read(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, WHOLE))
    assert (config.policy.keep_previews, config.policy.timeout, config.policy.high_risk) == (True, 60, "type")
    assert (config.console.theme, config.console.undo_seconds) == ("aileron-light", 0)
    assert config.console.keys == {"approve": "ctrl+y"}
    assert config.notifications.content is False
    assert config.metrics.enabled is True
    assert config.ledger.keep == "52w"
    assert config.webhook == WebhookConfig(
        "https://hooks.example.com/aileron?key=1", True, WebhookSecret(file=Path("~/.aileron/webhook.secret"))
    )
    assert [(rule.action, rule.level) for rule in config.risk] == [("send-*", RiskLevel.HIGH)]
    assert config.sources == (
        SourceConfig("here", "daemon"),
        SourceConfig("work", "daemon", "http://localhost:9000", token_file=Path("~/.secrets/work")),
        SourceConfig("far", "daemon", "https://aileron.example.com", token_env="FAR_TOKEN"),
        SourceConfig("gate-2", "gate", "http://127.0.0.1:8722"),
    )
    assert config.manifests == (Path("~/bundle").expanduser(), Path("/srv/actions"))
    mail = config.connectors["local://aileron/mail"]
    assert (mail.memory_mib, mail.seconds, mail.body_mib) == (64, 180, 32)
    assert mail.upstream == {"api.example.com:443": "http://127.0.0.1:8080"}
    assert mail.account == "work"
    assert config.actions["send-draft"].account == "team@example.com"
    assert mail.credential is not None
    assert mail.credential.command == ("gcloud", "auth", "print-access-token")
    tickets = config.connectors["github://acme/tickets"]
    assert tickets.credential is not None
    assert tickets.credential.env == "TICKETS_TOKEN"


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        ('manifests = ["bundle"]', 1, '"bundle" is not a full path', 'Write a path such as manifests = ["~/aileron-'),
        ('manifests = ["~nobody-here/a"]', 1, '"~nobody-here/a" is not a full path', "Write a path such as"),
        ('manifests = ["/a", "/a"]', 1, '"/a" is listed twice', "Remove one of them."),
        ('[surfaces]\norder = ["console", "prompt"]', 2, "the prompt is always alerted last", 'Remove "prompt".'),
        (
            '[surfaces]\norder = ["console", "phone"]',
            2,
            '"phone" is not a surface',
            "console, page, notification, webhook",
        ),
        ('[surfaces]\norder = ["page", "page"]', 2, '"page" is in the order twice', "Name each surface once."),
        ("[surfaces]\nshare = 0", 2, "surfaces.share must be between 1 and 3600, not 0", "between 1 and 3600"),
        ("[policy]\nkeep_preview = true", 2, "keep_preview", 'Did you mean "keep_previews"?'),
        ("[policy]\ntimeout = 301", 2, "policy.timeout must be between 1 and 300, not 301", "between 1 and 300"),
        ("[policy]\ntimeout = 0", 2, "must be between 1 and 300, not 0", "between 1 and 300"),
        ('[policy]\nheadless_decisions = "yes"', 2, "must be a boolean", ""),
        (
            '[policy]\nhigh_risk = "never"',
            2,
            '"never" is not a valid value for policy.high_risk',
            "confirm, type",
        ),
        ("[console]\nundo_seconds = 61", 2, "undo_seconds must be between 0 and 60, not 61", "0 and 60"),
        ("[console]\nlock_minutes = -1", 2, "lock_minutes must be 0 or more, not -1", "0 or more"),
        ('[[risk]]\nlevel = "extreme"', 2, '"extreme" is not a valid value for risk[0].level', "low, normal, high"),
        ('[[risk]]\naction = "x"', 1, "risk[0].level is required", "low, normal, high"),
        ('[connectors."local://a/b"]\naccount = "my work"', 2, '"my work" is not', "bindings"),
        ('[actions.send-draft]\naccount = ""', 2, "account", "bindings"),
        ('[actions.send-draft]\nacount = "work"', 2, "acount", "account"),
        ('[connectors."mail"]\nmemory_mib = 1', 1, "is not a valid connector name", "github://owner/repo"),
        ('[connectors."local://a/b"]\nmemory_mib = 0', 2, "memory_mib must be between 1 and 4096, not 0", "1 and 4096"),
        ('[connectors."local://a/b"]\nseconds = 301', 2, "seconds must be between 1 and 300, not 301", "1 and 300"),
        ('[connectors."local://a/b"]\nbody_mib = 0', 2, "body_mib must be between 1 and 256, not 0", "1 and 256"),
        (
            '[connectors."local://a/b".upstream]\n"api.example" = "http://127.0.0.1:1"',
            2,
            '"api.example" is not a host and a port',
            "api.example.com:443",
        ),
        (
            '[connectors."local://a/b".upstream]\n"a.example:443" = "http://10.0.0.1:1"',
            2,
            '"http://10.0.0.1:1" is not a server on this machine',
            "http://127.0.0.1:8080",
        ),
        (
            '[connectors."local://a/b".upstream]\n"a.example:443" = "http://127.0.0.1:80@evil.example:1"',
            2,
            "is not a server on this machine",
            "http://127.0.0.1:8080",
        ),
        ('[connectors."local://a/b".credential]\nregion = "x"', 1, "0 sources", "exactly one"),
        ('[connectors."local://a/b".credential]\nenv = "A"\nkeyring = "b/c"', 1, "2 sources", "exactly one"),
        ('[connectors."local://a/b".credential]\nkeyring = "b"', 2, "service and a user", "service/user"),
        ("[metrics]\nenabled = 1", 2, "enabled", ""),
        ('[ledger]\nkeep = "0d"', 2, 'ledger.keep must be 1 day or more, not "0d"', "365d"),
        ('[ledger]\nkeep = "12h"', 2, '"12h" is not a valid value for ledger.keep', "365d"),
        ('[ledger]\nkeep = "forever"', 2, '"forever" is not a valid value for ledger.keep', "52w"),
        ('[ledger]\nkeep = ""', 2, '"" is not a valid value for ledger.keep', "52w"),
        ("[ledger]\nkeep = 365", 2, "must be a string", ""),
        ('[ledger]\nkeeps = "1d"', 2, "keeps", 'Did you mean "keep"?'),
        ("[notifications]\ncontents = true", 2, "contents", 'Did you mean "content"?'),
        ('[webhook]\nurl = "http://hooks.example.com/a"', 2, "sent unencrypted over the network", "https://"),
        ('[webhook]\nurl = "https://me:pass@hooks.example.com/"', 2, "user name or a password", "https://"),
        ('[webhook]\nurl = "ftp://hooks.example.com/"', 2, "does not start with https://", "https://"),
        (f'{HOOK}\n[webhook.secret]\nenv = "A"\nkeyring = "b/c"', 3, "2 sources", "exactly one"),
        (f"{HOOK}\n[webhook.secret]", 3, "0 sources", "exactly one"),
        (
            f'{HOOK}\n[webhook.secret]\nenv = "whsec_abc="',
            4,
            "not the name of an environment",
            "AILERON_WEBHOOK_SECRET",
        ),
        (f'{HOOK}\n[webhook.secret]\nkeyring = "b"', 4, "service and a user", "service/user"),
        (f'{HOOK}\n[webhook.secret]\nfile = "secret"', 4, "not a full path", "webhook.secret"),
        ("[policy\n", 1, "invalid TOML", ""),
        ('[[sources]]\nkind = "gate"', 1, "sources[0].name is required", 'name = "work"'),
        ('[[sources]]\nname = "a"', 1, "sources[0].kind is required", "daemon, gate"),
        (f'{GATE}\nurl = "http://gate.example.com"', 4, "sent unencrypted over the network", "ssh tunnel"),
        ('[[sources]]\nname = ""\nkind = "gate"', 2, "sources[0].name is required", 'name = "work"'),
        (f"{DAEMON}\ntokenfile = 1", 4, "tokenfile", 'Did you mean "token_file"?'),
        ("sources = 1", 1, "must be an array of tables", ""),
        ("connectors = 1", 1, "must be a table of tables", ""),
        ("[connectors]\nx = 1", 2, "must be a table", ""),
        ("sources = [1]", 1, "must be a table", ""),
        (
            '[[sources]]\nname = "Work"\nkind = "gate"',
            2,
            "not a valid value for sources[0].name",
            "lower-case",
        ),
        (
            '[[sources]]\nname = "../x"\nkind = "gate"',
            2,
            "not a valid value for sources[0].name",
            "lower-case",
        ),
        (f'[[sources]]\nname = "{"a" * 21}"\nkind = "gate"', 2, "not a valid value for sources[0].name", "1 to 20"),
        (
            '[[sources]]\nname = "a"\nkind = "demon"',
            3,
            "is not a valid value for sources[0].kind",
            "daemon, gate",
        ),
        ('[[sources]]\nname = 1\nkind = "gate"', 2, "must be a string", ""),
        (f"{DAEMON}\n{GATE}", 5, 'two sources are named "a"', "its own name"),
        (DAEMON + "\n" + DAEMON.replace('"a"', '"b"'), 4, 'the same daemon as "a"', "a different url"),
        (f'{DAEMON}\nurl = "127.0.0.1:5"', 4, "does not start with http", "remove url"),
        (f'{DAEMON}\nurl = "http://a:b@127.0.0.1"', 4, "user name or a password", "remove url"),
        (f'{DAEMON}\nurl = ""', 4, "not a valid address", "remove url"),
        (f'{DAEMON}\ntoken_file = "/a"\ntoken_env = "A"', 5, "2 sources", "only one"),
        (f'{DAEMON}\ntoken_file = "a/b"', 4, "not a full path", "~/"),
        (f'{DAEMON}\ntoken_file = ""', 4, "not a full path", "~/"),
        (f'{DAEMON}\ntoken_env = ""', 4, "name of an environment variable", "its name"),
        (f'{DAEMON}\ntoken_env = "5e5e-secret"', 4, "name of an environment variable", "its name"),
        (f'{DAEMON}\nurl = "http://far.example.com"\ntoken_env = "A"', 4, "unencrypted", "ssh tunnel"),
        (f'{GATE}\ntoken_env = "A"', 4, "a gate needs no token", "Remove token_env"),
        (OPENCODE, 1, "opencode needs an address", "http://127.0.0.1:4096"),
        (f'{HERE}\ntoken_env = "A"', 5, "a password, not a token", "password_env"),
        (f'{HERE}\npassword_env = "A"\npassword_file = "/a"', 6, "2 sources", "only one"),
        (f'{HERE}\npassword_env = "s3-cret"', 5, "name of an environment variable", "OPENCODE_SERVER_PASSWORD"),
        (f'{HERE}\npassword_file = "a/b"', 5, "not a full path", "~/"),
        (f'{HERE}\nusername = "a:b"', 5, "colon", "user name"),
        (f'{DAEMON}\npassword_env = "A"', 4, "no user name and no password", "Remove password_env"),
        (f'{GATE}\nusername = "a"', 4, "no user name and no password", "Remove username"),
        (f'{OPENCODE}\nurl = "http://far.example.com"\npassword_env = "A"', 4, "unencrypted", "ssh tunnel"),
    ],
)
def test_an_error_names_the_line_and_how_to_fix_it(tmp_path: Path, text: str, line: int, words: str, hint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.title.startswith(f"{path}:{line}: ")
    assert words in caught.value.title
    assert hint in caught.value.hint


def test_a_folder_instead_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(tmp_path / "config.toml")


def test_the_password_of_opencode_has_three_possible_places(tmp_path: Path) -> None:
    for line, source in (
        ('password_env = "PW"', SourceConfig("a", "opencode", "http://127.0.0.1:4096", password_env="PW")),
        ('password_file = "~/pw"', SourceConfig("a", "opencode", "http://127.0.0.1:4096", password_file=Path("~/pw"))),
        (
            'password_command = ["pass", "x"]\nusername = "me"',
            SourceConfig("a", "opencode", "http://127.0.0.1:4096", password_command=("pass", "x"), username="me"),
        ),
    ):
        assert load_config(written(tmp_path, f"{HERE}\n{line}")).sources == (source,)


def test_errors_never_repeat_what_may_be_a_secret(tmp_path: Path) -> None:
    for line in ('token_env = "s3cret-5e"', 'url = "http://x:s3cret-5e@127.0.0.1"', 'url = "s3cret-5e"'):
        with pytest.raises(ConfigError) as caught:
            load_config(written(tmp_path, f"{DAEMON}\n{line}"))
        assert "s3cret" not in f"{caught.value.title} {caught.value.detail} {caught.value.hint}"


def test_the_daemon_and_the_gate_of_this_machine_are_two_sources(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, DAEMON + "\n" + GATE.replace('"a"', '"b"')))
    assert [(source.name, source.kind) for source in config.sources] == [("a", "daemon"), ("b", "gate")]
