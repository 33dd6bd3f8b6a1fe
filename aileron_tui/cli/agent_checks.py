"""The checks of `doctor` on the agents that were set up: their programs, settings and tokens."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from aileron_tui.cli.machine_checks import Check, Status, failed
from aileron_tui.core.agent_change import token_hash
from aileron_tui.core.errors import AileronError
from aileron_tui.core.json_edit import parse, value_at
from aileron_tui.doors.agent_programs import (
    KINDS,
    AgentKind,
    AgentProgram,
    check_command,
    find_program,
    shell_words,
    version_problem,
)
from aileron_tui.doors.agent_settings import findings_for, has_hook, plan_for
from aileron_tui.doors.codex_settings import settings_path
from aileron_tui.doors.codex_trust import untrusted_hooks
from aileron_tui.doors.settings_file import PlannedFile, digest, planned
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import FILE, SetupRecord, read_records
from aileron_tui.files.agent_tokens import read_token, token_path
from aileron_tui.files.paths import Paths
from aileron_tui.files.private_files import PrivateFileError
from aileron_tui.ledger.file_names import FILE as LEDGER
from aileron_tui.ledger.open_store import open_reader
from aileron_tui.signing.agents import Agents


def agents(here: Paths, env: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Checks every agent that was set up."""
    try:
        records = read_records(here.data)
    except AileronError as error:
        yield failed("agents", error, f"Check {here.data / FILE}.")
        return
    for record in records:
        if record.word in KINDS:
            yield from _agent(here, record, env)


def _agent(here: Paths, record: SetupRecord, env: Mapping[str, str]) -> Iterator[Check]:
    kind, id_ = KINDS[record.word], f"agent.{record.word}"
    folder = Path(record.folder) if record.folder else Path.cwd()
    data = here.data.absolute()
    context = SetupContext(record.agent, record.command, Path.home(), folder, env, data, bool(record.folder))
    again = f"Run `aileron-tui setup {record.word}{' --project' if record.folder else ''}`"
    again += f" in {record.folder}." if record.folder else "."
    program = None
    try:
        program = find_program(kind, env)
        yield _program(id_, kind, program)
    except AileronError as error:
        yield Check(id_, Status.WARN, error.title, error.detail, error.hint)
    yield from _settings(id_, record, context, again)
    if has_hook(record.word):
        yield _command(id_, record, again)
        yield token(f"{id_}.token", record.agent, here, again)
    if record.word == "codex" and program is not None:
        yield _trust(id_, program, context, again)
    for found in findings_for(record.word, context):
        status = Status.FAIL if found.switches_off else Status.WARN
        yield Check(f"{id_}.around", status, found.words, fix=found.fix)


def _program(id_: str, kind: AgentKind, program: AgentProgram) -> Check:
    if why := version_problem(kind, program.version):
        return Check(id_, Status.FAIL, why, str(program.path), f"Update {kind.title}.")
    return Check(id_, Status.OK, f"{kind.title} {program.version_text}", str(program.path))


def _settings(id_: str, record: SetupRecord, context: SetupContext, again: str) -> Iterator[Check]:
    id_ = f"{id_}.settings"
    recorded = {file.path: file for file in record.files}
    try:
        files = [planned(file, None) for file in plan_for(record.word, context).files]
    except AileronError as error:
        yield failed(id_, error, again)
        return
    for file in files:
        if file.plan.question and str(file.path) not in recorded:
            continue  # the user did not want it
        known = recorded.get(str(file.path))
        edited = bool(known and file.before is not None and digest(file.before) != known.after)
        yield _file(id_, file, edited=edited, again=again)


def _file(id_: str, file: PlannedFile, *, edited: bool, again: str) -> Check:
    if file.before is None:
        return Check(id_, Status.FAIL, f"{file.path} is gone, so the agent does not ask the gate", fix=again)
    hooks = [change.wanted.path for change in file.changes if change.wanted.kind == "item"]
    values = [change.wanted.path for change in file.changes if change.wanted.kind != "item"]
    if hooks:
        names = ", ".join(".".join(path) for path in hooks)
        words = f"{file.path} does not have the hooks as they were set up: {names}"
        return Check(id_, Status.FAIL, words, fix=again)
    if values:
        names = ", ".join(".".join(path) for path in values)
        words = f"{file.path} has other values than setup wrote: {names}"
        return Check(id_, Status.FAIL, words, fix=again)
    if file.differs or _doubled(file):
        words = f"{file.path} has hooks of aileron-tui more than once, so each call is asked more than once"
        return Check(id_, Status.WARN, words, fix=f"Remove them there. {again}")
    words = f"{file.path}, edited since the setup; everything that matters is there" if edited else str(file.path)
    return Check(id_, Status.OK, words)


def _doubled(file: PlannedFile) -> bool:
    """Whether a hook is there more than once in the same words."""
    if not file.plan.wanted or file.before is None:
        return False
    root = parse(file.before, comments=file.plan.comments)
    for want in file.plan.wanted:
        node = value_at(root, want.path) if want.kind == "item" else None
        if node is not None and sum(item.value == want.value for item in node.items) > 1:
            return True
    return False


def _command(id_: str, record: SetupRecord, again: str) -> Check:
    try:
        check_command(record.command)
    except AileronError as error:
        return Check(f"{id_}.hook", Status.FAIL, error.title, error.detail, again)
    return Check(f"{id_}.hook", Status.OK, shell_words(record.command))


def token(id_: str, agent: str, here: Paths, again: str) -> Check:
    """Checks that the gate accepts the token of an agent."""
    try:
        with open_reader(here.data / LEDGER) as reader:
            known = Agents.of(reader).named(agent)
        path = token_path(here.data, agent)
        if token_hash(read_token(path)) != known.token:
            return Check(id_, Status.FAIL, f"the token in {path} is out of date", fix=again)
    except PrivateFileError as error:
        return failed(id_, error, again)
    except AileronError as error:
        return Check(id_, Status.FAIL, error.title, error.detail, f"{again} Choose another name with --agent.")
    return Check(id_, Status.OK, f"the agent {agent} has a token")


def _trust(id_: str, program: AgentProgram, context: SetupContext, again: str) -> Check:
    command = shell_words(context.hook("codex"))
    try:
        skipped = untrusted_hooks(program.path, settings_path(context), command, context.folder, context.env)
    except AileronError as error:
        return Check(f"{id_}.trust", Status.WARN, error.title, error.detail, error.hint)
    if skipped:
        words = f"Codex does not trust these hooks and skips them: {', '.join(skipped)}"
        return Check(f"{id_}.trust", Status.FAIL, words, fix=again)
    return Check(f"{id_}.trust", Status.OK, "Codex trusts the hooks")
