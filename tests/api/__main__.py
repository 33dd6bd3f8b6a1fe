"""Calls every route of a running gate with generated input, and compares each reply with the API document.

Run it as `python -m tests.api`; `make api` installs Schemathesis into `.api` first. The gate is a process of its own
with a home of its own and the sample service behind it. No reply may be an error of the gate itself, and none may have
a status, a type, a header or a field that the document does not name.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from aileron_tui.files.agent_tokens import read_token
from aileron_tui.signing import key_store
from tests.cli.test_gate_commands import Home, gate
from tests.compiled import compile_samples
from tests.gate.served_gate import session

ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAM: Final = ROOT / ".api" / "bin" / "st"

_POLICY: Final = "asks_per_10_minutes = 0"
_SETTINGS: Final = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 502, 503]
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 403, 404, 409, 412, 422, 429, 502]
[checks.negative_data_rejection]
expected-statuses = ["4xx"]
[[operations]]
include-path = "/hooks/claude"
checks.negative_data_rejection.enabled = false
"""
"""Claude Code would run a call after an error, so its hook gets 200 whatever it sends."""

_EXCLUDED: Final = "unsupported_method,allow_header_conformance"
"""An agent is told nothing about methods and routes that it may not use: it gets 403 and not 405."""


def closed(schema: Any) -> Any:
    """The schemas of a document with no other fields than those they name, so that undocumented ones are found."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(item) for name, item in schema.items()}
    has_fields = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    return {"additionalProperties": False, **inner} if has_fields else inner


def main(words: list[str]) -> int:
    """Returns 1 if a reply was not as documented."""
    parser = argparse.ArgumentParser(prog="python -m tests.api", description=__doc__)
    parser.add_argument("--examples", type=int, default=25, help="how many calls to generate for each route")
    parser.add_argument("--seed", type=int, default=1, help="where the generator starts")
    options = parser.parse_args(words)
    if not PROGRAM.exists():
        sys.stderr.write("Schemathesis is not installed: run make api\n")
        return 2
    with tempfile.TemporaryDirectory() as folder, running_gate(Path(folder)) as home:
        url, work = home.place["url"], Path(folder) / "work"
        work.mkdir()
        (work / "schemathesis.toml").write_text(_SETTINGS)
        document = httpx.get(f"{url}/v1/openapi.json", trust_env=False).json()
        (work / "openapi.json").write_text(json.dumps(closed(document)).replace("wait=60", "wait=1"))
        runs = {
            read_token(Path(home.place["agent_token_file"])): ["--include-tag", "agents", "--include-tag", "open"],
            asyncio.run(_session(home)): ["--include-tag", "approvers", "--exclude-path-regex", "watch|approver"],
        }
        failed = 0
        for token, chosen in runs.items():
            line = [str(PROGRAM), "run", "openapi.json", "--url", url, "-H", f"Authorization: Bearer {token}", *chosen]
            line += ["--max-examples", str(options.examples), "--seed", str(options.seed), "--request-timeout", "20"]
            line += [
                "--phases",
                "examples,coverage,fuzzing,stateful",
                "--exclude-checks",
                _EXCLUDED,
                "--continue-on-failure",
            ]
            failed |= subprocess.run(line, cwd=work, env=_environment(), check=False).returncode
        if broken := re.findall(r"^.* error .*$", (home.folder / "gate.log").read_text(), re.MULTILINE):
            sys.stderr.write("\n  ".join(["The gate logged errors:", *broken[:20]]) + "\n")
            failed = 1
    return 1 if failed else 0


@contextmanager
def running_gate(folder: Path) -> Iterator[Home]:
    """A gate with a key and the sample service."""
    compiled = folder / "compiled"
    compile_samples(compiled)
    with gate(folder / "home", None, compiled=compiled, policy=_POLICY) as home:
        yield home


async def _session(home: Home) -> str:
    """Opens the session of an approver; returns its token."""
    key = key_store.unlock(home.folder / "keys", "default", None)
    async with httpx.AsyncClient(base_url=home.place["url"], trust_env=False) as client:
        return await session(client, key)


def _environment() -> dict[str, str]:
    """Without proxies, so that everything stays on this machine."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
