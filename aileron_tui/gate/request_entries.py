"""The ledger entries for a new request."""

from aileron_tui.core.entry_kinds import EntryKind
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import PreviewResult
from aileron_tui.core.tool_call import ResolvedTool
from aileron_tui.gate.gate_request import GateRequest
from aileron_tui.ledger.preview_entry import preview_body
from aileron_tui.ledger.store import EntryDraft


def request_entries(request: GateRequest) -> list[EntryDraft]:
    """The entries for a new request: the request, and the digest of what the gate read for a tool call."""
    preview = request.tool.shown.preview if request.tool else None
    return [request_entry(request), *([tool_preview_entry(request, preview)] if preview else [])]


def request_entry(request: GateRequest) -> EntryDraft:
    """The entry that makes a request."""
    body: JsonObject = {
        "action": request.name,
        **(_tool_fields(request, request.tool) if request.tool else _action_fields(request)),
        "agent": request.agent,
        "says": request.asker.says,
        "session": request.asker.session,
        "folder": request.asker.folder,
        "risk": request.risk.level,
        "args": request.args,
        **request.deadline.body(),
    }
    if request.repeats:
        body["after"] = request.repeats
    return EntryDraft(EntryKind.REQUESTED, body, request.id)


def tool_preview_entry(request: GateRequest, preview: PreviewResult) -> EntryDraft:
    """The entry about what the gate read for a tool call. It is never kept: it is the content of somebody's files."""
    return EntryDraft(EntryKind.PREVIEWED, preview_body(preview, keep=False), request.id)


def _action_fields(request: GateRequest) -> JsonObject:
    connector, warnings = request.connector, request.action_call.warnings
    return {
        "version": request.action.version,
        "connector": {"name": connector.name, "version": connector.version, "hash": connector.hash},
        **({"warning": f"{len(warnings)} in the prompt"} if warnings else {}),
    }


def _tool_fields(request: GateRequest, tool: ResolvedTool) -> JsonObject:
    """The fields of a tool call. `warning` and `leads_to` are for checking later whether a rule could answer it."""
    door = request.door
    fields: JsonObject = {
        "kind": request.kind,
        "connector": {"name": tool.call.server, "hash": tool.call.definition}
        if tool.call.definition
        else {"name": tool.call.server},
        "door": door.name if door else "",
        "call_id": door.call_id if door else "",
    }
    if door and door.batch:
        fields["batch"] = door.batch
    if tool.leads_to:
        fields["leads_to"] = list(tool.leads_to)
    if tool.shown.warnings:
        fields["warning"] = f"{len(tool.shown.warnings)} in the prompt"
    return fields
