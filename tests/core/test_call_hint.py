"""How an agent calls a gate, in words."""

import shlex

from aileron_tui.core.call_hint import NO_AGENT, CallHint


def test_a_path_with_odd_characters_stays_one_word() -> None:
    hint = CallHint("http://127.0.0.1:1", "/tmp/it's $HOME/agent.token")
    inner = hint.command.partition("$(")[2].rpartition(")")[0]
    assert shlex.split(inner) == ["cat", "/tmp/it's $HOME/agent.token"]


def test_without_a_token_it_says_how_to_add_an_agent() -> None:
    hint = CallHint("http://127.0.0.1:1", "")
    assert (hint.words, hint.command) == (NO_AGENT, "")
