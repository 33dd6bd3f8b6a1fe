"""Rules: a call that a rule answers compared with an ungated call, and replaying a rule over 100,000 requests."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, new_rule_id
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.ledger.rule_replay import replay
from aileron_tui.ledger.sqlite.reader import SqliteReader
from aileron_tui.ledger.sqlite.writer import SqliteLedger
from aileron_tui.ledger.store import EntryDraft
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.signing import key_store
from benchmarks._result import QUICK, Result, against
from benchmarks._running_gate import RunningGate, running_gate

ROUNDS: Final = 60
WARM: Final = 10
REQUESTS: Final = 10_000 if QUICK else 100_000
BATCH: Final = 1_000
REPLAY_SECONDS: Final = 2.0
"""The processor time that replaying a rule over all requests may take."""

HASH: Final = "sha256:" + "c0" * 32
UNGATED: Final = "write-mail"
MAIL: Final[JsonObject] = {"to": "team@example.com", "subject": "Weekly recap", "body": "Text"}


def measure() -> Iterator[Result]:
    """Each measurement."""
    with running_gate() as gate:
        yield _call(gate)
    with tempfile.TemporaryDirectory() as folder:
        yield from _replay(Path(folder) / "data" / "ledger.db")


def _call(gate: RunningGate) -> Result:
    """Both calls do the same with the sample service; one of them is gated."""
    _add_ungated(gate)
    with key_store.unlock(gate.home.root / "keys", "bench", None) as key, ApproverClient(gate.found, key) as approver:
        asked = str(gate.agent.run("draft-mail", MAIL)["approval_id"])
        offers = approver.rule_offers(asked).offers
        rule = next(offer.rule for offer in offers if offer.rule.reach is RuleReach.ANY)
        approver.make_rule(replace(rule, ends=timestamp(utc_now() + timedelta(hours=1))))
        ruled: list[float] = []
        free: list[float] = []
        for number in range(ROUNDS):
            mail = MAIL | {"subject": f"Mail {number}"}
            free.append(_seconds(gate, UNGATED, mail))
            ruled.append(_seconds(gate, "draft-mail", mail))
    ours, base = statistics.median(ruled[WARM:]), statistics.median(free[WARM:])
    return against("a call that a rule allows / an ungated call", ours, base, 1.2)


def _add_ungated(gate: RunningGate) -> None:
    """Adds an action that does the same as `draft-mail` and needs no approval."""
    folder = gate.home.setup.manifests / "actions"
    text = (folder / "draft-mail.md").read_text("utf-8").replace("draft-mail", UNGATED)
    (folder / f"{UNGATED}.md").write_text(text.replace("required = true", "required = false"), "utf-8")
    deadline = time.monotonic() + 30
    while not any(item["name"] == UNGATED for item in gate.agent.actions()["items"]):  # type: ignore[union-attr,call-overload,index]
        if time.monotonic() > deadline:
            raise RuntimeError("the ungated action was not loaded")
        time.sleep(0.2)


def _seconds(gate: RunningGate, action: str, args: JsonObject) -> float:
    began = time.perf_counter()
    reply = gate.agent.run(action, args)
    taken = time.perf_counter() - began
    if "result" not in reply:
        raise RuntimeError(f"the call did not run: {reply}")
    return taken


def _replay(path: Path) -> list[Result]:
    """All requests are of one agent and action, so none can be left out without looking at it."""
    with SqliteLedger(path) as ledger:
        for start in range(0, REQUESTS, BATCH):
            ledger.append_all([draft for number in range(start, start + BATCH) for draft in _drafts(number)])
    exact = Rule(
        id=new_rule_id(),
        verdict=RuleVerdict.ALLOW,
        agent="claude",
        action="draft-mail",
        reach=RuleReach.CALL,
        ends=timestamp(utc_now() + timedelta(hours=1)),
        args=_args(1),
        connector=HASH,
        runs=HASH,
        shown=HASH,
        risk=RiskLevel.NORMAL,
    )
    wide = replace(exact, reach=RuleReach.ANY, args=None, shown="")
    with SqliteReader(path) as reader:
        return [_replayed(reader, rule, words) for rule, words in ((exact, "an exact call"), (wide, "any inputs"))]


def _replayed(reader: SqliteReader, rule: Rule, words: str) -> Result:
    began = time.process_time()
    found = replay(reader, rule)
    taken = time.process_time() - began
    if found.asked != REQUESTS or not found.answered:
        raise RuntimeError(f"not everything was replayed: {found}")
    note = f"{found.answered:,} of {found.asked:,}"
    title = f"replaying {words} over {REQUESTS:,} requests / 2 s of processor time"
    return against(title, taken, REPLAY_SECONDS, 1.0, note)


def _args(number: int) -> JsonObject:
    return MAIL | {"subject": f"Mail {number % 10}"}


def _drafts(number: int) -> list[EntryDraft]:
    body: JsonObject = {
        "action": "draft-mail",
        "connector": {"name": "local://aileron/mail", "version": "1.0.0", "hash": HASH},
        "agent": "claude",
        "says": "",
        "risk": "normal",
        "args": _args(number),
    }
    request = f"act-{number}"
    return [
        EntryDraft(EntryKind.REQUESTED, body, request),
        EntryDraft(EntryKind.PREVIEWED, {"digest": HASH}, request),
        EntryDraft(EntryKind.SHOWN, {"digest": HASH}, request),
        EntryDraft(EntryKind.EXPIRED, {}, request),
    ]
