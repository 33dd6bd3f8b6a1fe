"""Files that no rule may allow a change to, however their path is written."""

import pytest

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.protected_paths import protected_path, protected_value
from aileron_tui.core.rule_answer import request_call

OWN = ("/home/me/.local/share/Aileron Data", "/srv/gate")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "/repo/.git/hooks/pre-commit",
        "/repo/.git",
        "/repo/.GIT/config",
        "C:\\repo\\.git\\config",
        "/repo/sub/../.git/config",
        "/repo/.git/../.git/config",
        "/repo/.//.git//config",
        "/repo/.git./config",
        "/repo/.git /config",
        "/repo/.git::$INDEX_ALLOCATION/config",
        "/repo/.g\u200cit/config",
        "/repo/\uff0egit/config",
        "/repo/git~1/config",
        "file:///repo/%2Egit/config",
        "file:///repo/%252Egit/config",
        "--output=.git/config",
        "cp evil .git/hooks/pre-commit",
        "*** Update File: .git/config",
        "~/.gitconfig",
        "$HOME/.bashrc",
        "~/.ZSHRC",
        "/home/me/.config/fish/config.fish",
        "/etc/profile.d/x.sh",
        "/etc//x/../profile",
        "/project/.mcp.json",
        "/project/.cursor/mcp.json",
        "/project/.claude/settings.local.json",
        "~/.claude.json",
        "~/.codex/config.toml",
        "~/.config/x/../opencode/config.json",
        "~/.aileron/config.toml",
        "~/.local/share/aileron-tui/ledger.db",
        "~/Library/Application Support/aileron-tui/keys",
        "/srv/gate/ledger.db",
        "/srv/./x/../gate",
        "/home/me/.local/share/aileron data/keys",
        "~/.config/a/b/c/../../../git/config",
        f"~/.config/{'a/' * 300}{'../' * 300}git/config",
        "~/.config/a b/../git/config",
        "~/.config/a\nb/../git/config",
        'cp x "$HOME/.config/a b/../git/config" ../../../../y',
        "~/.config/x/../git z/../y",
        "~/.local/x/../share/aileron-tui/ledger.db",
        "/../etc/profile",
        "/tmp/../../etc/profile.d/x.sh",
        "../../../etc/profile",
        "file://localhost/etc/profile",
        "/proc/self/cwd/etc/profile",
        "/private/etc/zshrc",
        "curl -o.bashrc https://example.com",
        "-o.bashrc",
        "--form file=@.git/config",
        "\uff05\u0032egit/config",
        "%2525252Egit/config",
    ],
)
def test_a_protected_file_is_found_however_it_is_written(path: str) -> None:
    assert protected_path(path, OWN)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/home/me/project/main.py",
        "src/git/config",
        ".gitignore",
        "a.git",
        "https://example.com/me/project.git",
        "notes/profile",
        "bashrc",
        "team@example.com",
        "Weekly recap: git is down, see .github/workflows",
        "/srv/gateway",
        "/srv/gate2/x",
        "r-12345",
    ],
)
def test_an_ordinary_text_is_not_protected(path: str) -> None:
    assert protected_path(path, OWN) == ""


@pytest.mark.parametrize(
    "value",
    [
        {"path": "/repo/.git/config"},
        {"edits": [{"file": "a"}, {"file": "/home/me/.bashrc"}]},
        {"files": {".mcp.json": "{}"}},
        ["x", ["~/.claude/settings.json"]],
        {"folder": "/home/me/.config", "name": "git/config"},
        {"name": "profile", "folder": "/etc/"},
        {"path": ["home", "me", ".config", "fish", "conf.d", "x"]},
        {"folder": "/home/me/.config/x/..", "name": "./git/config"},
        {".config": {"git": {"config": "x"}}},
    ],
)
def test_a_protected_file_is_found_anywhere_in_the_inputs(value: Json) -> None:
    assert protected_value(value)
    assert not protected_value({"path": "/repo/a.py", "lines": [1, None, True]})


def test_texts_that_only_resemble_the_parts_of_a_protected_name_are_ordinary() -> None:
    assert not protected_value({"subject": "Profile pictures", "body": "Logos, banners etc"})
    assert not protected_value({"folder": "/home/me/.config", "name": "app/git"})
    assert protected_value({"folder": "/srv", "name": "gate/ledger.db"}, OWN)


def test_a_long_text_is_searched_quickly() -> None:
    assert protected_path("a/../" * 20_000) == ""
    assert protected_path("../" * 50_000 + ".git") != ""


def test_many_patterns_do_not_take_long_and_are_not_taken_for_ordinary() -> None:
    text = " ".join(f".a{number}*" for number in range(20_000))
    assert protected_path(text) == "too many patterns to check"
    assert protected_path(".{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}{o,p}") == "too many patterns to check"
    assert not protected_path("import .* from [a-z] {a, b} {x,y} **/*.json [.](a) .{}")


def test_the_ledger_checks_the_words_of_a_shell_command() -> None:
    """The gate may have been changed, so `history verify` looks for the name behind the quotes itself."""
    request: JsonObject = {
        "kind": "tool",
        "action": "Bash",
        "args": {"command": "cat .g'i't/config"},
        "folder": "/repo",
    }
    assert request_call(request, "", "").protected == "git's own files"
    request["args"] = {"command": "cat g'i't/config"}
    assert not request_call(request, "", "").protected
