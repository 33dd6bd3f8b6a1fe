"""Sets an agent up: shows what would change, asks, and writes it."""

import argparse
from pathlib import Path

import aileron_tui
from aileron_tui.cli import confirmation
from aileron_tui.cli.commands.setup.agent_access import AgentAccess, give_access, needed_access
from aileron_tui.cli.commands.setup.settings_text import diff_lines, finding_lines, said_yes, tell
from aileron_tui.cli.commands.setup.settings_writing import check_places, known_file, known_record, write_recorded
from aileron_tui.cli.commands.setup.trial import run_opencode_trial, run_trial
from aileron_tui.cli.confirmation import NotDecided
from aileron_tui.cli.exit_codes import OK
from aileron_tui.cli.output import print_lines, write_error
from aileron_tui.cli.source_options import unlocked_key
from aileron_tui.core.errors import AileronError
from aileron_tui.core.rule import Rule
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.agent_programs import (
    KINDS,
    AgentKind,
    AgentProgram,
    check_command,
    find_program,
    version_note,
    version_problem,
)
from aileron_tui.doors.agent_settings import findings_for, has_hook, plan_for
from aileron_tui.doors.codex_trust import TrustFault
from aileron_tui.doors.settings_file import PlannedFile, planned
from aileron_tui.doors.setup_plan import SetupContext, SetupPlan
from aileron_tui.doors.setup_record import SetupRecord, write_record
from aileron_tui.doors.trusted_hooks import trusted_files
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing import key_store
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.local_ledgers import gate_ledger


@dataclass(frozen=True, slots=True)
class _Target:
    """The agent that is set up."""

    kind: AgentKind
    program: AgentProgram
    context: SetupContext


def run(options: argparse.Namespace, context: SetupContext) -> int:
    """Everything that can be refused is refused before anything is asked, and everything is asked before a change."""
    protect_process()
    here, kind = paths(), KINDS[options.word]
    config = load_config(here.config)
    confirmation.check_terminal(config.policy, "setting up an agent")
    program = _usable_program(kind)
    hooked = has_hook(kind.word)
    if hooked:
        key_store.choose(here.keys, options.key)
        check_command(context.command)
    known = known_record(here.data, kind.word, context)
    plan = plan_for(kind.word, context)
    files = [planned(file, known_file(known, file.path)) for file in plan.files]
    check_places(files, context)
    access = needed_access(gate_ledger(), context.agent, kind.word, utc_now()) if hooked else None
    tell(f"{kind.title} {program.version_text}  {inline(str(program.path))}")
    _tell_more(kind, program, plan, context)
    chosen = _chosen_files(plan, files)
    rules = _chosen_rules(access)
    changed = bool(chosen or rules or (access and access.state != "ok") or known is None)
    if not changed:
        tell("Nothing to change.")
        if options.no_check or not said_yes("Check it with one call?"):
            return OK
    elif access and access.words:
        tell(access.words)
    if not hooked:
        _write(here.data, _Target(kind, program, context), chosen, known)
        code = OK if options.no_check else run_opencode_trial(kind, program, context)
        print_lines("", *plan.steps)
        return code
    with unlocked_key(options.key) as key:
        if access is not None:
            give_access(gate_ledger(), access, rules, key)
        _write(here.data, _Target(kind, program, context), chosen, known)
        if plan.steps:  # the agent would not load the hooks in the folder where it is tried
            print_lines(*(inline(step) for step in plan.steps), "It was not tried.")
            return OK
        if options.no_check:
            return OK
        return run_trial(kind, program, context, config, key)


def _usable_program(kind: AgentKind) -> AgentProgram:
    program = find_program(kind)
    if why := version_problem(kind, program.version):
        hint = f"Update {kind.title}. The program is {program.path}."
        raise AileronError(f"this version of {kind.title} cannot be put behind the gate", why, hint)
    return program


def _chosen_files(plan: SetupPlan, files: list[PlannedFile]) -> list[PlannedFile]:
    """The files to write. Raises NotDecided if the user does not want the main one."""
    differing = [file for file in files if file.differs]
    main = [file for file in differing if not file.plan.question]
    for file in main:
        if file.link:
            tell(f"{inline(str(file.link))} is a symbolic link to {inline(str(file.path))}, which is changed.")
        tell("", *diff_lines(str(file.path), file.before, file.after), "")
    tell(*(f"- {inline(reason)}" for reason in plan.reasons if main))
    if main and not said_yes("Write these settings?"):
        raise NotDecided("nothing was changed")
    chosen = [*main]
    for file in differing:
        if file.plan.question:
            tell("", *diff_lines(str(file.path), file.before, file.after), "")
            chosen += [file] if said_yes(file.plan.question) else []
    return chosen


def _tell_more(kind: AgentKind, program: AgentProgram, plan: SetupPlan, context: SetupContext) -> None:
    if note := version_note(kind, program.version):
        tell(f"! {note}.")
    tell(*finding_lines(findings_for(kind.word, context)))
    places = (*context.command, str(Path(aileron_tui.__file__).parent))
    own = next((place for place in places if place.startswith(f"{context.folder}/")), "")
    if own and context.folder != context.home:
        tell(f"! The hook runs {inline(own)}, which the agent can change in this folder.")
        tell("    → Install aileron-tui outside the folder, and run setup again.")
    tell("What stays open:", *(f"  - {inline(words)}" for words in plan.open))


def _chosen_rules(access: AgentAccess | None) -> tuple[Rule, ...]:
    if access is None or not access.rules:
        return ()
    now = utc_now()
    tell("", "These rules let it read and search without asking you. Whatever is outside its folder still asks.")
    tell(*(f"  {inline(rule_words(rule, now))}" for rule in access.rules))
    return access.rules if said_yes("Make these rules?") else ()


def _write(data: Path, target: _Target, files: list[PlannedFile], known: SetupRecord | None) -> None:
    """Writes the files, and lets Codex trust its hooks."""
    kind, program, context = target.kind, target.program, target.context
    record = SetupRecord(
        kind.word,
        context.agent,
        str(context.folder) if context.project else "",
        context.command,
        str(program.path),
        program.version_text,
        timestamp(utc_now()),
        (),
    )
    record = write_recorded(data, record, files, known)
    if kind.word == "codex":
        _trust(data, record, program, context)


def _trust(data: Path, record: SetupRecord, program: AgentProgram, context: SetupContext) -> None:
    """Lets Codex trust the hooks, and records what that changed in its configuration."""
    try:
        trusted = trusted_files(record, program.path, context)
    except TrustFault as error:
        write_error(error.title, error.detail, error.hint)
        return
    if trusted is not None:
        write_record(data, trusted)
        print_lines("Codex trusts the hooks now, as after /hooks")
