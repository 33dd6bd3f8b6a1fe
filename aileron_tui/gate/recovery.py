"""Recovery after a crash: waiting requests keep waiting; running ones become `interrupted` and need approval again."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from aileron_tui.core.agent_names import DEFAULT_AGENT
from aileron_tui.core.call_kinds import NOT_RUN_HERE
from aileron_tui.core.entry_chain import Entry
from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.history_record import HistoryRecord
from aileron_tui.core.jsontext import JsonObject, canonical
from aileron_tui.core.prompt import Asker
from aileron_tui.core.states import RequestState
from aileron_tui.core.time_spans import read_span
from aileron_tui.core.times import timestamp
from aileron_tui.gate import agent_replies
from aileron_tui.gate.call_inputs import effect_of, fingerprint, no_longer_possible
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.gate.gate_state import GateState
from aileron_tui.gate.op_runner import OpRunner
from aileron_tui.gate.request_ends import LONGEST_ERROR
from aileron_tui.gate.request_handler import RequestHandler
from aileron_tui.ledger.history_filter import HistoryFilter
from aileron_tui.ledger.history_pages import extended_by
from aileron_tui.ledger.recorded_decision import approved_args
from aileron_tui.ledger.request_deadline import current_deadline
from aileron_tui.ledger.store import EntryDraft, LedgerReader, StoredResult

_KEEP_DELIVERED: Final = timedelta(days=1)
_KEEP_UNDELIVERED: Final = timedelta(days=7)
_MAX_RESTORED: Final = 100
_BATCH: Final = 500


async def recover(gate_state: GateState, requests: RequestHandler, op_runner: OpRunner) -> None:
    """Restores or ends every request without a recorded end, and restores missing results."""
    late: list[HistoryRecord] = []
    opened: list[GateRequest] = []
    unfinished = HistoryFilter(outcomes=(RequestState.PENDING, RequestState.APPROVED, RequestState.RUNNING))
    for record in reversed(list(gate_state.reader.every(unfinished))):
        if record.outcome != RequestState.PENDING and (result := gate_state.outbox.find(record.id)):
            await gate_state.recorder.record(EntryDraft(_end_kind(result), _error_body(result), record.id))
            continue
        entries = gate_state.reader.of_request(record.id)
        if record.outcome == RequestState.PENDING and _is_late(gate_state, entries):
            late.append(record)
            continue
        if is_tool(record):
            await _withdraw_tool(gate_state, record)
            continue
        request = _restored(gate_state, requests, record, entries)
        if request is None:
            await _abandon(gate_state, record)
            continue
        if record.outcome != RequestState.PENDING:
            request = await op_runner.interrupt(request)
        gate_state.add(request)
        opened.append(request)
    requests.open_recovered(opened)
    await _expire(gate_state, late)
    unknown = HistoryFilter(outcomes=(RequestState.UNKNOWN, RequestState.INTERRUPTED))
    of_actions = (record for record in gate_state.reader.every(unknown) if not is_tool(record))
    for record in reversed(list(islice(of_actions, _MAX_RESTORED))):
        _note_unknown(gate_state, record)
    not_run = HistoryFilter(outcomes=(RequestState.DENIED, RequestState.EXPIRED, RequestState.WITHDRAWN))
    for record in gate_state.reader.page(not_run, limit=_MAX_RESTORED):
        await _restore_result(gate_state, record)
    await forget_old_results(gate_state)


async def forget_old_results(gate_state: GateState) -> None:
    """Deletes results that agents have received or will not fetch any more."""
    now = gate_state.clock()
    kept = min(_KEEP_UNDELIVERED, read_span(gate_state.setup.config.ledger.keep) or _KEEP_UNDELIVERED)
    delivered, uncollected = timestamp(now - _KEEP_DELIVERED), timestamp(now - kept)
    await gate_state.in_outbox(gate_state.outbox.forget, delivered, uncollected)


def _is_late(gate_state: GateState, entries: Sequence[Entry]) -> bool:
    """Whether the deadline passed while no gate was running. After a restart of the machine it always has."""
    made, *later = entries
    deadline = current_deadline(made, later)
    return deadline is not None and bool(deadline.passed(gate_state.latest_time(), gate_state.boot_clock))


async def _expire(gate_state: GateState, records: Sequence[HistoryRecord]) -> None:
    """Ends requests whose deadline has passed, many with one commit."""
    for start in range(0, len(records), _BATCH):
        batch = records[start : start + _BATCH]
        await gate_state.recorder.record(*(EntryDraft(EntryKind.EXPIRED, {}, record.id) for record in batch))
    for record in records[-_MAX_RESTORED:]:  # the results of the others are rebuilt from the ledger when asked for
        result = agent_replies.ended(record.id, RequestState.EXPIRED)
        await gate_state.store_result(result, _call_of(gate_state, record))


def result_from_ledger(reader: LedgerReader, record: HistoryRecord) -> StoredResult | None:
    """Rebuilds the result of a request that did not complete, from the ledger."""
    match RequestState(record.outcome):
        case RequestState.DENIED:
            return agent_replies.denied(record.id, record.reason)
        case RequestState.INTERRUPTED as state:
            found = (entry.body.get("asked_again") for entry in reader.of_request(record.id))
            new_id = next((id_ for id_ in found if isinstance(id_, str)), None)
            return agent_replies.ended(record.id, state, **({"asked_again": new_id} if new_id else {}))
        case RequestState.WITHDRAWN as state:
            return agent_replies.ended(record.id, state, _why_withdrawn(record))
        case RequestState.EXPIRED | RequestState.UNKNOWN as state:
            return agent_replies.ended(record.id, state)
        case _:
            return None


def _why_withdrawn(record: HistoryRecord) -> str:
    """Says why a request was withdrawn; "" if its agent disconnected."""
    nothing = "nothing was executed" if is_tool(record) else "nothing was run"
    return record.error if not record.error or record.error.startswith(nothing) else f"{nothing}: {record.error}"


def _restored(
    gate_state: GateState, requests: RequestHandler, record: HistoryRecord, entries: Sequence[Entry]
) -> GateRequest | None:
    """Rebuilds a request from its entries; returns None if it can no longer be approved."""
    body = entries[0].body
    action = gate_state.installed.actions.get(record.action)
    deadline = current_deadline(entries[0], entries)
    if action is None or not isinstance(body.get("args"), dict) or deadline is None:
        return None
    original_args, args = _original_args(gate_state.reader, entries[0]), approved_args(entries)
    if no_longer_possible(action, args):
        return None
    request = requests.new_request(action, args, _asker(record, body), owner(record), record.id)
    request.asked_at, request.deadline = datetime.fromisoformat(record.asked), deadline
    request.extended_by = extended_by(entries, gate_state.reader)
    request.repeats, request.polled = str(body.get("after", "")), True
    if original_args != args:
        request.edited_from = request.prompt_for(gate_state.installed.resolve(action, original_args), None)
    return request


def _original_args(reader: LedgerReader, made: Entry) -> JsonObject:
    """Returns the inputs that the agent sent, even if the gate asks again about an edited call that was interrupted."""
    while (after := made.body.get("after")) and (earlier := reader.of_request(str(after))):
        if earlier[0].removed or all(entry.body.get("asked_again") != made.request for entry in earlier):
            break  # the agent itself made the call again
        made = earlier[0]
    args = made.body.get("args")
    return args if isinstance(args, dict) else {}


def is_tool(record: HistoryRecord) -> bool:
    """Whether a request of a gate is a tool call."""
    return record.kind in NOT_RUN_HERE and not record.daemon


async def _withdraw_tool(gate_state: GateState, record: HistoryRecord) -> None:
    """Ends a tool call that was not handed over. Its program was waiting for the gate that stopped."""
    why = "the gate was restarted before the answer was handed over"
    await gate_state.recorder.record(EntryDraft(EntryKind.WITHDRAWN, {"error": why}, record.id))
    result = agent_replies.ended(record.id, RequestState.WITHDRAWN, f"nothing was executed: {why}")
    await gate_state.store_result(result, "")


def owner(record: HistoryRecord) -> str:
    """The agent that may fetch the result of a request.

    Before agents had tokens of their own, they shared one, which now belongs to the default agent.
    """
    return record.agent or DEFAULT_AGENT


def _asker(record: HistoryRecord, body: JsonObject) -> Asker:
    return Asker(record.agent, str(body.get("session", "")), str(body.get("folder", "")), record.says)


async def _abandon(gate_state: GateState, record: HistoryRecord) -> None:
    """Ends a request that can no longer be shown as it was made."""
    why = "its action has been changed or removed since the request was made"
    if record.outcome == RequestState.PENDING:
        await gate_state.recorder.record(EntryDraft(EntryKind.WITHDRAWN, {"error": why}, record.id))
        await gate_state.store_result(
            agent_replies.ended(record.id, RequestState.WITHDRAWN, f"nothing was run: {why}"), ""
        )
    else:
        await gate_state.recorder.record(EntryDraft(EntryKind.INTERRUPTED, {"error": why}, record.id))
        await gate_state.store_result(agent_replies.ended(record.id, RequestState.INTERRUPTED), "")


async def _restore_result(gate_state: GateState, record: HistoryRecord) -> None:
    """Stores the result of a request if a crash prevented that after its end was recorded."""
    if gate_state.outbox.find(record.id) is not None:
        return
    entries = gate_state.reader.of_request(record.id)
    result, call = result_from_ledger(gate_state.reader, record), _call_of(gate_state, record)
    if result and call and not any(entry.kind == EntryKind.DELIVERED for entry in entries):
        await gate_state.store_result(result, call)


def _call_of(gate_state: GateState, record: HistoryRecord) -> str:
    """The fingerprint of the call that made a request, or "" if its inputs are not known."""
    body = gate_state.reader.of_request(record.id)[0].body
    args = body.get("args")
    if not isinstance(args, dict):
        return ""
    return fingerprint(owner(record), _asker(record, body), record.action, canonical(args))


def _note_unknown(gate_state: GateState, record: HistoryRecord) -> None:
    """Notes that a call may have taken effect, unless it was interrupted, asked about again, and ran after that.

    The agent may repeat the call that it made or the one that ran, which can be an edited one.
    """
    reader = gate_state.reader
    made, *later = entries = reader.of_request(record.id)
    original, approved = made.body.get("args"), approved_args(entries)
    for id_ in (entry.body.get("asked_again") for entry in later):
        again = reader.find(id_) if isinstance(id_, str) else None
        if again and again.outcome == RequestState.EXECUTED and approved_args(reader.of_request(again.id)) == approved:
            return
    if isinstance(original, dict):
        for args in (original, approved):
            gate_state.note_unknown(effect_of(owner(record), record.action, args), record.id)


def _end_kind(result: StoredResult) -> EntryKind:
    match result.body.get("failure"):
        case {"error": {"class": "outcome_unknown"}}:
            return EntryKind.UNKNOWN
        case None:
            return EntryKind.EXECUTED
    return EntryKind.FAILED


def _error_body(result: StoredResult) -> JsonObject:
    """Returns the ledger entry body for a failed result."""
    failure = result.body.get("failure")
    error = failure.get("error") if isinstance(failure, dict) else None
    return {"error": f"{error.get('class')}: {error.get('message')}"[:LONGEST_ERROR]} if isinstance(error, dict) else {}
