"""Only our own hooks are trusted in Codex, with a fake app-server that answers as the real one does."""

import json
import sys
from pathlib import Path

import pytest

from aileron_tui.doors.codex_trust import TrustFault, trust_hooks, untrusted_hooks

COMMAND = "aileron-tui hook codex --agent codex --timeout 3600"
SERVER = """
import json, sys
hooks = json.load(open(sys.argv[0] + ".hooks"))
for line in sys.stdin:
    message = json.loads(line)
    with open(sys.argv[0] + ".log", "a") as log:
        log.write(line)
    if "id" not in message:
        continue
    print(json.dumps({"method": "notice", "params": {}}), flush=True)
    result = {"data": [{"hooks": hooks}]} if message["method"] == "hooks/list" else {}
    print(json.dumps({"id": message["id"], "result": result}), flush=True)
"""


def program(folder: Path, hooks: list[dict[str, object]], code: str = SERVER) -> Path:
    path = folder / "codex"
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(0o755)
    path.with_name("codex.hooks").write_text(json.dumps(hooks))
    return path


def hook(path: Path, command: str = COMMAND, status: str = "untrusted") -> dict[str, object]:
    key = f"{path}:{command}"
    return {"key": key, "sourcePath": str(path), "command": command, "currentHash": "h", "trustStatus": status}


def test_only_our_own_hooks_are_trusted(tmp_path: Path) -> None:
    own, other = tmp_path / "hooks.json", tmp_path / "other.json"
    hooks = [hook(own), hook(own, "evil"), hook(other)]
    codex = program(tmp_path, hooks)
    assert trust_hooks(codex, own, COMMAND, tmp_path, {}) == 1
    sent = [json.loads(line) for line in codex.with_name("codex.log").read_text().splitlines()]
    edits = next(message["params"]["edits"] for message in sent if message.get("method") == "config/batchWrite")
    assert [list(edit["value"]) for edit in edits] == [[f"{own}:{COMMAND}"]]


def test_hooks_that_are_trusted_need_nothing(tmp_path: Path) -> None:
    own = tmp_path / "hooks.json"
    assert untrusted_hooks(program(tmp_path, [hook(own, status="trusted")]), own, COMMAND, tmp_path, {}) == []
    assert len(untrusted_hooks(program(tmp_path, [hook(own)]), own, COMMAND, tmp_path, {})) == 1


@pytest.mark.parametrize("code", ["", "print('garbage', flush=True)", "print('{}' * 9, flush=True)"])
def test_a_server_that_fails_is_reported(tmp_path: Path, code: str) -> None:
    with pytest.raises(TrustFault) as caught:
        trust_hooks(program(tmp_path, [], code), tmp_path / "hooks.json", COMMAND, tmp_path, {})
    assert "/hooks" in caught.value.hint


def test_a_missing_program_and_missing_hooks_are_reported(tmp_path: Path) -> None:
    with pytest.raises(TrustFault):
        untrusted_hooks(tmp_path / "none", tmp_path / "hooks.json", COMMAND, tmp_path, {})
    with pytest.raises(TrustFault, match="does not list"):
        untrusted_hooks(program(tmp_path, []), tmp_path / "hooks.json", COMMAND, tmp_path, {})
