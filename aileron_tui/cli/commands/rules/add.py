"""Makes a rule, from a waiting request or by the names of an agent and an action."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from aileron_tui.cli import confirmation, source_options
from aileron_tui.cli.commands.rules.rule_text import input_lines
from aileron_tui.cli.exit_codes import NOT_FOUND, OK, USAGE
from aileron_tui.cli.output import counted, print_error, print_json, print_lines, write, write_error
from aileron_tui.cli.request_lookup import NoSuchRequest, find_waiting, wait_for_preview
from aileron_tui.cli.request_text import prompt_lines
from aileron_tui.cli.security_key_prompt import touch
from aileron_tui.core.call_kinds import CallKind
from aileron_tui.core.jsontext import JsonError, JsonObject, read_object, with_canonical_numbers
from aileron_tui.core.mcp_tools import is_definition_hash, tool_named
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.rule import Rule, RuleReach, RuleVerdict, allows_high_risk, new_rule_id
from aileron_tui.core.rule_list import RuleOffer, RuleOffers, differs_from
from aileron_tui.core.rule_reader import read_example, read_rule
from aileron_tui.core.rule_words import rule_words
from aileron_tui.core.times import timestamp, utc_now
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.known_servers import read_server
from aileron_tui.files.config import SECURITY_KEY, Policy
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.signing.errors import RuleFault
from aileron_tui.signing.key_store import UnlockedKey
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.surface.local_ledgers import gate_ledger
from aileron_tui.surface.rule_changes import make_rule, make_signed_rule, rule_statement
from aileron_tui.surface.source import signable_rules

_PINNED: Final = "pinned"
_NAMED_TWICE: Final = "--from names the request, so --agent, --action, --tool and --args cannot be given too"


def run(options: argparse.Namespace) -> int:
    """Returns 0 if the rule was made, 1 if not, 2 if the options do not fit, 5 if the request does not wait."""
    if why := _misuse(options):
        write_error(why)
        return USAGE
    protect_process()
    policy = load_config(paths().config).policy
    confirmation.check_terminal(policy, "making a rule")
    return _add_from_request(options, policy) if options.request else _add_named(options, policy)


def _misuse(options: argparse.Namespace) -> str:
    """What is wrong with the combination of options, in words, or ""."""
    tool = options.tool or options.server or options.folder or options.shell or options.definition
    named = options.agent or options.action or tool or options.args is not None
    if options.request:
        return _NAMED_TWICE if named else ""
    if options.verdict == RuleVerdict.ALLOW and not options.tool:
        return "a rule that allows an action is made from a waiting request; give it with --from"
    if not options.agent or bool(options.action) == bool(options.tool):
        return "give --agent and --action (or --tool), or a waiting request with --from"
    if tool and not options.tool:
        return "--server, --definition, --folder and --command need --tool"
    if options.definition and not options.server:
        return "--definition needs --server"
    if options.definition not in ("", _PINNED) and not is_definition_hash(options.definition):
        return f"--definition must be `{_PINNED}`, or sha256: and 64 digits"
    if options.shell and (not options.folder or options.args is not None):
        return "--command needs --folder and no --args"
    if options.reach == RuleReach.CALL and options.args is None:
        return "--reach call needs --args"
    if options.reach and options.reach != _named_reach(options):
        return f"what is given makes a rule of reach {_named_reach(options)}, not {options.reach}"
    return ""


def _named_reach(options: argparse.Namespace) -> RuleReach:
    """How far a rule goes that is made by names."""
    if options.shell:
        return RuleReach.COMMAND
    if options.args is not None:
        return RuleReach.CALL
    return RuleReach.FOLDER if options.folder else RuleReach.ANY


def _named_risk(options: argparse.Namespace, reach: RuleReach) -> RiskLevel:
    """The highest risk that a rule made by names covers. What only reads is low."""
    if options.verdict != RuleVerdict.ALLOW or reach in (RuleReach.COMMAND, RuleReach.CALL):
        return RiskLevel.HIGH
    return RiskLevel.NORMAL if reach is RuleReach.FOLDER or options.definition else RiskLevel.LOW


def _definition(options: argparse.Namespace) -> str:
    """The hash of the definition that a rule is bound to, or "". Raises ServerFault or RuleFault."""
    if options.definition != _PINNED:
        return str(options.definition)
    server = read_server(paths().data, options.server)
    if (tool := tool_named(server.tools, options.tool)) is None:
        known = ", ".join(each.name for each in server.tools)
        raise RuleFault(f"the server {server.name} has no pinned tool named {options.tool}", f"it has: {known}")
    return tool.hash


def _add_named(options: argparse.Namespace, policy: Policy) -> int:
    reach = _named_reach(options)
    rule = Rule(
        id=new_rule_id(),
        verdict=RuleVerdict(options.verdict),
        agent=options.agent,
        action=options.tool or options.action,
        reach=reach,
        ends=timestamp(options.ends),
        args=None if options.args is None else with_canonical_numbers(_json("--args", options.args)),
        kind=CallKind.TOOL if options.tool else CallKind.ACTION,
        command=options.shell,
        folder=options.folder and str(Path(options.folder).expanduser().absolute()),
        connector=options.server,
        runs=_definition(options),
        risk=_named_risk(options, reach),
    )
    rule = _checked(_with_examples(rule, options))
    with source_options.unlocked_key(options.key) as key:
        _confirm(rule, policy, key)
        if _needs_touch(rule, policy):
            change = rule_statement(gate_ledger(), rule)
            make_signed_rule(gate_ledger(), change, touch(change).envelope)
        else:
            make_rule(gate_ledger(), rule, key)
    return _report(rule, options)


def _add_from_request(options: argparse.Namespace, policy: Policy) -> int:
    with source_options.open_sources(options) as sources:
        try:
            request = wait_for_preview(sources, find_waiting(sources, options.request))
        except NoSuchRequest as error:
            print_error(error)
            return NOT_FOUND
        source = sources.of(request)
        sys.stderr.write("".join(f"{line}\n" for line in prompt_lines(request, sys.stderr)))
        offers = source.rule_offers(request.id)
        narrowest = offers.offers[0].rule.reach if offers.offers else RuleReach.CALL
        offer = _chosen(offers, RuleReach(options.reach or narrowest))
        if why := differs_from(offer.rule, request.prompt):
            raise RuleFault("the request has changed while the rule was being made", why, "Try again.")
        verdict, ends = RuleVerdict(options.verdict), timestamp(options.ends)
        rule = _checked(_with_examples(replace(offer.rule, verdict=verdict, ends=ends), options))
        _confirm(rule, policy, sources.key, _past_lines(offer, offers.days))
        if _needs_touch(rule, policy):
            rules = signable_rules(source)
            rules.make_signed_rule(touch(rules.rule_statement(rule)).envelope)
        else:
            source.make_rule(rule)
    return _report(rule, options)


def _chosen(offers: RuleOffers, reach: RuleReach) -> RuleOffer:
    for offer in offers.offers:
        if offer.rule.reach is reach:
            return offer
    why = next((refused.why for refused in offers.refused if refused.reach == reach), "the gate does not offer it")
    raise RuleFault("no such rule can be made from this request", why)


def _with_examples(rule: Rule, options: argparse.Namespace) -> Rule:
    match = [_example("--match", text) for text in options.match]
    not_match = [_example("--not-match", text) for text in options.not_match]
    return replace(rule, match=(*rule.match, *match), not_match=(*rule.not_match, *not_match))


def _example(option: str, text: str) -> JsonObject:
    try:
        return read_example(_json(option, text))
    except JsonError as error:
        raise JsonError(f"{option}: {error.title}", error.path) from None


def _json(option: str, text: str) -> JsonObject:
    try:
        return read_object(text)
    except JsonError as error:
        raise JsonError(f"{option}: {error.title}", error.path, error.hint) from None


def _checked(rule: Rule) -> Rule:
    """The rule, if it is valid and right about its examples."""
    try:
        return read_rule(rule.fields())
    except JsonError as error:
        raise RuleFault("the rule is not valid", str(error)) from None


def _confirm(rule: Rule, policy: Policy, key: UnlockedKey, more: Sequence[str] = ()) -> None:
    """Shows the rule and asks whether to make it."""
    write(sys.stderr, "", inline(rule_words(rule, utc_now())), *input_lines(rule), *more)
    confirmation.confirm_rule(rule.action, policy, key, high=allows_high_risk(rule))


def _needs_touch(rule: Rule, policy: Policy) -> bool:
    """Whether a security key must sign a rule."""
    return allows_high_risk(rule) and policy.high_risk == SECURITY_KEY


def _past_lines(offer: RuleOffer, days: int) -> list[str]:
    calls = counted(offer.asked, "call")
    line = f"  In the last {days} days it would have answered {offer.answered:,} of {calls}."
    return [line, *(f"    {inline(past.id)}  {inline(past.outcome)}" for past in offer.examples)]


def _report(rule: Rule, options: argparse.Namespace) -> int:
    if options.json:
        print_json(rule.fields())
    else:
        print_lines(f"made {rule.id}", f"  {inline(rule_words(rule, utc_now()))}")
        print_lines(f"  End it with `aileron-tui rules end {rule.id}`.")
    return OK
