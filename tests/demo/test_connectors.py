"""The sample connectors: reproducible builds from the source next to them, and pinned."""

from pathlib import Path

import pytest

from tools import connectors


def _toolchain() -> tuple[Path | None, str]:
    try:
        return connectors.find_go(), ""
    except connectors.ToolchainMissing as error:
        return None, str(error)


GO, MISSING = _toolchain()


def test_the_modules_match_their_source() -> None:
    assert connectors.SUMS.read_text("utf-8") == connectors.sums(), "run `make connectors`"


def test_the_pins_match_the_connectors() -> None:
    hashes = connectors.pins()
    actions = list(connectors.MANIFESTS.glob("actions/*.md"))
    assert len(actions) == 12
    for action in actions:
        text = action.read_text("utf-8")
        assert connectors.repinned(text, hashes) == text
        assert sum(text.count(pin) for pin in hashes.values()) == 1


def test_pins_are_updated_in_the_actions() -> None:
    text = (connectors.MANIFESTS / "actions" / "send-draft.md").read_text("utf-8")
    old = connectors.pins()["local://aileron/mail"]
    renewed = connectors.repinned(text, {"local://aileron/mail": "sha256:new", "local://aileron/files": "sha256:no"})
    assert renewed == text.replace(old, "sha256:new")


@pytest.mark.parametrize("connector", connectors.CONNECTORS)
def test_the_committed_module_was_built_with_the_pinned_toolchain(connector: str) -> None:
    module = (connectors.MANIFESTS / "connectors" / connector / "connector.wasm").read_bytes()
    assert module.startswith(b"\0asm\1\0\0\0")
    assert connectors.GO_VERSION.encode() in module
    assert str(connectors.MANIFESTS).encode() not in module


@pytest.mark.skipif(GO is None, reason=MISSING or "the toolchain is there")
@pytest.mark.parametrize("connector", connectors.CONNECTORS)
def test_a_rebuild_gives_the_committed_module(connector: str, tmp_path: Path) -> None:
    assert GO is not None
    built = tmp_path / "connector.wasm"
    connectors.build(GO, connector, built)
    assert built.read_bytes() == (connectors.MANIFESTS / "connectors" / connector / "connector.wasm").read_bytes()


def test_another_compiler_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "go"
    other.write_text("#!/bin/sh\necho go1.0.1\n")
    other.chmod(0o755)
    monkeypatch.setenv("GO", str(other))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(connectors.ToolchainMissing, match=r"go1\.26\.6 is required; .*/go is go1\.0\.1"):
        connectors.find_go()
