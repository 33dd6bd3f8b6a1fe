"""After a crash: what waited waits on; what ran without a known end is `interrupted`, and a person is asked again."""

from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.entry_chain import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker
from aileron_tui.core.states import RequestState
from aileron_tui.core.times import timestamp
from aileron_tui.gate import agent_replies
from aileron_tui.gate.call_inputs import faults, fingerprint
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState
from aileron_tui.gate.op_runner import OpRunner
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.recorded_decision import decision_of
from aileron_tui.ledger.store import EntryDraft, LedgerReader, StoredResult

_ANSWERS_KEPT: Final = timedelta(days=1)
_UNCOLLECTED_KEPT: Final = timedelta(days=7)
_NEWEST: Final = 100


async def recover(context: GateState, asking: RequestHandler, running: OpRunner) -> None:
    """Settles every request the ledger has no end for, and answers that were recorded but not kept."""
    unfinished = HistoryFilter(outcomes=(RequestState.PENDING, RequestState.APPROVED, RequestState.RUNNING))
    for record in reversed(list(context.reader.every(unfinished))):
        if record.outcome != RequestState.PENDING and (answer := context.outbox.find(record.id)):
            error = _error(answer)
            await context.recorder.record(
                EntryDraft(EntryKind.FAILED if error else EntryKind.EXECUTED, error, record.id)
            )
            continue
        live = _revived(context, asking, record)
        if live is None:
            await _abandon(context, record)
            continue
        if record.outcome != RequestState.PENDING:
            live = await running.interrupt(live)
        context.enter(live)
        asking.open(live)
    unrun = HistoryFilter(outcomes=(RequestState.DENIED, RequestState.EXPIRED, RequestState.WITHDRAWN))
    for record in context.reader.page(unrun, limit=_NEWEST):
        await _keep_answer(context, record)
    now = context.clock()
    context.outbox.forget(timestamp(now - _ANSWERS_KEPT), timestamp(now - _UNCOLLECTED_KEPT))


def told(reader: LedgerReader, record: HistoryRecord) -> StoredResult | None:
    """The answer to a request that ended without a known outcome, from what the ledger says."""
    match RequestState(record.outcome):
        case RequestState.DENIED:
            return agent_replies.denied(record.id, record.reason)
        case RequestState.INTERRUPTED as state:
            found = (entry.body.get("asked_again") for entry in reader.of_request(record.id))
            again = next((id_ for id_ in found if isinstance(id_, str)), None)
            return agent_replies.ended(record.id, state, **({"asked_again": again} if again else {}))
        case RequestState.EXPIRED | RequestState.WITHDRAWN as state:
            return agent_replies.ended(record.id, state)
        case _:
            return None


def _revived(context: GateState, asking: RequestHandler, record: HistoryRecord) -> GateRequest | None:
    """A request as the ledger has it, or None if its action is gone or now means other bytes."""
    entries = context.reader.of_request(record.id)
    body = entries[0].body
    action = context.installed.actions.get(record.action)
    args, connector, expires = body.get("args"), body.get("connector"), body.get("expires")
    if action is None or not isinstance(args, dict) or not isinstance(connector, dict) or not isinstance(expires, str):
        return None
    asked = _asked(context.reader, body)
    for entry in entries:
        if found := decision_of(entry):
            args = args | (found[0].edits or {})
    if connector.get("hash") != context.installed.ref(action).hash or faults(action.inputs, args):
        return None
    agent, session, folder = (str(body.get(key, "")) for key in ("agent", "session", "folder"))
    live = asking.made(action, args, Asker(agent, session, folder), str(body.get("caller", "")), record.id)
    live.asked, live.expires = datetime.fromisoformat(record.asked), datetime.fromisoformat(expires)
    live.after, live.polled = str(body.get("after", "")), True
    live.edited_from = live.prompted(asked, None) if asked != args else None
    return live


def _asked(reader: LedgerReader, body: JsonObject) -> JsonObject:
    """The inputs the agent sent, also where what a person made of them was interrupted and is asked again."""
    while body.get("after") and (earlier := reader.of_request(str(body["after"]))):
        body = earlier[0].body
    args = body.get("args")
    return args if isinstance(args, dict) else {}


async def _abandon(context: GateState, record: HistoryRecord) -> None:
    """Ends a request that cannot be shown any more as it was asked."""
    why = "its action is no longer installed as it was when it was asked"
    if record.outcome == RequestState.PENDING:
        await context.recorder.record(EntryDraft(EntryKind.WITHDRAWN, {"error": why}, record.id))
        await context.file(agent_replies.ended(record.id, RequestState.WITHDRAWN, f"nothing was run: {why}"), "")
    else:
        await context.recorder.record(EntryDraft(EntryKind.INTERRUPTED, {"error": why}, record.id))
        await context.file(agent_replies.ended(record.id, RequestState.INTERRUPTED), "")


async def _keep_answer(context: GateState, record: HistoryRecord) -> None:
    """A crash between the record of an end and its answer leaves no answer to collect; this makes up for it."""
    if context.outbox.find(record.id) is not None:
        return
    entries = context.reader.of_request(record.id)
    answer, body = told(context.reader, record), entries[0].body
    args = body.get("args")
    if answer and isinstance(args, dict) and not any(entry.kind == EntryKind.DELIVERED for entry in entries):
        await context.file(answer, fingerprint(str(body.get("caller", "")), record.action, args))


def _error(answer: StoredResult) -> JsonObject:
    """What the ledger says of a failure that only the kept answer knows."""
    failure = answer.body.get("failure")
    error = failure.get("error") if isinstance(failure, dict) else None
    return {"error": f"{error.get('class')}: {error.get('message')}"} if isinstance(error, dict) else {}
