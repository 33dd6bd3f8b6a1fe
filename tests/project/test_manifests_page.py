"""docs/manifests.md is up to date, and has every rule that the program reports."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.core.test_manifest_corpus import BUNDLES, SINGLE
from tools import manifests

ROOT = Path(__file__).parents[2] / "aileron_tui"
RULE = re.compile(r"[a-z][a-z0-9-]*")
OTHER_FILES = ("config", "webhook_settings")
"""How the names of modules begin that check the configuration, whose page is docs/configuration.md."""


def rules_in_code() -> Iterator[str]:
    """The rules that are written where a problem is reported."""
    modules = (path for layer in ("core", "files", "packages", "cli") for path in (ROOT / layer).rglob("*.py"))
    for module in modules:
        if module.name.startswith(OTHER_FILES):
            continue
        for node in ast.walk(ast.parse(module.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="add" | "warn"), args=[_, ast.Constant(value=str(rule)), _, *_]):
                    yield rule
                case ast.Call(func=ast.Name(id="Finding"), args=[ast.Constant(value=str(rule)), *_]):
                    yield rule


def rules_in_corpus() -> Iterator[str]:
    for case in [*(case for _, case in SINGLE), *BUNDLES]:
        yield from (rule for _, _, rule, _ in case.expected)


def test_the_page_is_fresh() -> None:
    assert manifests.DOCUMENT.read_text("utf-8") == manifests.document(), "run `make manifests`"


def test_every_rule_is_on_the_page() -> None:
    found = {rule for rule in rules_in_code() if RULE.fullmatch(rule)} | set(rules_in_corpus())
    assert len(found) > 60
    page = manifests.document()
    listed = set(re.findall(r"^\| (?:[A-Z][a-z ]+ \| )?`([a-z0-9-]+)`", page, re.MULTILINE))
    assert found - listed == set(), "add a case to tests/corpus, or a row to tools/manifests.py"
    assert listed - found == set(), "the program does not report these"
