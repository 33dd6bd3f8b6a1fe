"""Tries real agents: `python -m tests.agents`, or some cases with `--agent claude --case deny`."""

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aileron_tui.core.errors import AileronError
from tests.agents import claude_cases, codex_cases, hook_cases, mcp_cases, opencode_cases
from tests.agents.agent_lab import AgentLab, CaseFailed
from tests.agents.case_table import CaseResult, table
from tests.agents.open_cases import OPEN
from tests.agents.programs import PACKAGES, NotInstalled, program, version

CASES = dict.fromkeys(("claude", "codex", "gemini", "copilot"), hook_cases.CASES)
CASES["claude"] = hook_cases.CASES | claude_cases.CASES | mcp_cases.CASES
CASES["codex"] = hook_cases.CASES | codex_cases.CASES | mcp_cases.CASES
CASES["opencode"] = opencode_cases.CASES

REQUIRED = ("claude", "codex")
"""The agents that must be tried. The others are where they can be installed."""


def main(words: list[str]) -> int:
    """Runs the cases; returns 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.agents", description=__doc__)
    parser.add_argument("--agent", choices=list(PACKAGES), action="append", help="only this agent; can be repeated")
    parser.add_argument("--case", action="append", help="only this case; can be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="agents at the same time (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the folder with homes, projects and logs")
    options = parser.parse_args(words)
    agents = options.agent or list(PACKAGES)
    chosen = {agent: [case for case in CASES[agent] if not options.case or case in options.case] for agent in agents}
    if not any(chosen.values()):
        parser.error(
            f"no such case; there are {', '.join(dict.fromkeys(case for known in CASES.values() for case in known))}"
        )
    # Some agents refuse files below a folder that others can write to, so /tmp cannot be used.
    cache = Path.home() / ".cache"
    cache.mkdir(exist_ok=True)
    root, began = Path(tempfile.mkdtemp(prefix="aileron-agents-", dir=cache)), time.monotonic()
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            results = [
                result for part in pool.map(lambda agent: _try(agent, chosen[agent], root), agents) for result in part
            ]
    finally:
        if options.keep:
            _say(f"kept {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    _say("", *table(results, agents), f"{time.monotonic() - began:.0f} s")
    return 1 if any(map(_is_failure, results)) else 0


def _is_failure(result: CaseResult) -> bool:
    """Whether a case failed, or could not be tried although its agent installs everywhere."""
    return result.word == "FAILED" or (result.word == "not tried" and result.agent in REQUIRED)


def _try(agent: str, cases: list[str], root: Path) -> list[CaseResult]:
    """The results of one agent, each printed when it is known."""
    if not cases:
        return []
    lab = None
    try:
        lab = AgentLab(agent, program(agent), root / agent)
        lab.set_up()
        _say(f"{agent} {version(agent)} is set up")
        return [_result(lab, case) for case in cases]
    except NotInstalled as error:
        _say(f"{agent} {version(agent)} cannot be tried: {error}")
        return [CaseResult(agent, case, "not tried", str(error)) for case in cases]
    except CaseFailed as error:
        _say(f"{agent}: {error}")
        return [CaseResult(agent, case, "FAILED", str(error)) for case in cases]
    finally:
        if lab is not None:
            lab.close()


def _result(lab: AgentLab, case: str) -> CaseResult:
    began = time.monotonic()
    word, detail = "ok", ""
    try:
        CASES[lab.word][case](lab)
        if why := OPEN.get((lab.word, case)):
            word, detail = "open", why
    except (AssertionError, AileronError, OSError, ValueError, LookupError) as error:
        word, detail = "FAILED", f"{type(error).__name__}: {error}"
    result = CaseResult(lab.word, case, word, detail, time.monotonic() - began)
    _say(result.line())
    return result


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
