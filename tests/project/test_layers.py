"""The core runs without I/O libraries, the command line starts without anything heavy, and no imports go in circles."""

import json
import pkgutil
import subprocess
import sys

import grimp
import pytest

import aileron_tui.core

HEAVY = {"textual", "rich", "httpx", "wasmtime", "cryptography", "sqlite3", "keyring", "mcp", "pydantic"}


def loaded_by(code: str) -> set[str]:
    """Returns the modules that a new interpreter has loaded after running this code."""
    report = "import json, sys; sys.stderr.write(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr))


def test_the_core_imports_no_io_and_no_terminal() -> None:
    modules = [f"aileron_tui.core.{module.name}" for module in pkgutil.iter_modules(aileron_tui.core.__path__)]
    assert len(modules) > 15
    loaded = loaded_by("import " + ", ".join(modules))
    assert not loaded & (HEAVY | {"asyncio", "socket", "ssl", "subprocess", "selectors", "tempfile"})


def test_version_imports_nothing_but_itself() -> None:
    bare = loaded_by("import sys")
    loaded = loaded_by("from aileron_tui.cli import main; main(['--version'])") - bare
    assert not loaded & (HEAVY | {"argparse", "dataclasses", "re", "tomli", "importlib.metadata"})


@pytest.mark.parametrize(
    ("words", "allowed"),
    [(["lint", "--help"], set[str]()), (["--help"], set[str]()), (["lint"], set[str]()), (["mcp", "-h"], set[str]())],
    ids=["lint --help", "--help", "lint", "mcp -h"],
)
def test_a_command_imports_only_what_it_needs(words: list[str], allowed: set[str]) -> None:
    code = f"from aileron_tui.cli import main\ntry:\n    main({words!r})\nexcept SystemExit:\n    pass"
    assert not loaded_by(code) & (HEAVY - allowed)


def test_a_hook_starts_without_a_parser_and_an_http_client() -> None:
    code = (
        "import os\nos.environ['AILERON_TUI_HOME'] = '/nonexistent'\n"
        "reads, writes = os.pipe()\nos.dup2(reads, 0)\nos.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
        """os.write(writes, b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}')\n"""
        "os.close(writes)\nfrom aileron_tui.cli import main\nassert main(['hook', 'claude']) == 0"
    )
    slow = {"argparse", "http.client", "ssl", "email", "asyncio", "platformdirs", "rfc8785", "decimal", "subprocess"}
    assert not loaded_by(code) & (HEAVY | slow)


def test_the_mcp_proxy_starts_without_an_http_client_and_cryptography() -> None:
    code = (
        "import os\nos.dup2(os.open(os.devnull, os.O_RDWR), 0)\nos.dup2(0, 1)\nerrors = os.dup(2)\nos.dup2(0, 2)\n"
        "from aileron_tui.cli import main\n"
        "assert main(['mcp-proxy', '--name', 'x', '--data', '/nonexistent', '--', 'true']) == 0\nos.dup2(errors, 2)"
    )
    slow = {"http.client", "ssl", "email", "asyncio", "platformdirs", "rfc8785", "decimal", "mcp", "tomli"}
    assert not loaded_by(code) & (HEAVY | slow)


def test_the_decorator_for_python_functions_is_light() -> None:
    heavy = {"asyncio", "http.client", "ssl", "email", "platformdirs", "rfc8785", "subprocess", "argparse", "tomli"}
    assert not loaded_by("import aileron_tui.gated") & (HEAVY | heavy)


def import_graph() -> dict[str, set[str]]:
    """What every module imports, also inside functions and for type checking only."""
    graph = grimp.build_graph("aileron_tui", exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """One circle of imports for each group of modules that import each other."""
    found: list[list[str]] = []
    done: set[str] = set()
    for start in sorted(imports):
        if start not in done and (circle := shortest_circle(imports, start)):
            found.append(circle)
            done.update(circle)
    return found


def shortest_circle(imports: dict[str, set[str]], start: str) -> list[str]:
    """The shortest way from a module over its imports back to itself, or nothing."""
    came_from: dict[str, str] = {}
    to_visit = [start]
    for module in to_visit:
        for imported in sorted(imports[module]):
            if imported == start:
                way = [start, module]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if imported not in came_from:
                came_from[imported] = module
                to_visit.append(imported)
    return []


def test_no_modules_import_each_other() -> None:
    imports = import_graph()
    assert len(imports) > 200
    named = [" -> ".join(circle) for circle in circles(imports)]
    assert named == []


def test_circles_of_imports_are_found_and_named() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}, "g": set()}) == [
        ["a", "b", "c", "a"],
        ["e", "f", "e"],
    ]


def test_imports_in_functions_and_for_type_checking_count() -> None:
    imports = import_graph()
    assert "aileron_tui.console.screens.history" in imports["aileron_tui.console.screens.opening"]
    assert "aileron_tui.core.request" in imports["aileron_tui.surface.answer_delivery"]


@pytest.mark.parametrize(
    "module", ["answer_flow", "vault_unlocking", "port", "key_reasons", "key_actions", "source_listeners"]
)
def test_what_decides_in_the_console_runs_without_textual(module: str) -> None:
    assert not loaded_by(f"import aileron_tui.console.{module}") & {"textual", "rich"}
