"""How careful an answer must be."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.core.action import Action, Step
from aileron_tui.core.risk import RiskLevel, RiskRule, assess, by_names, by_rule
from aileron_tui.core.risk_words import risk_word
from tests.core.examples import MAIL, action

# Ops of real connectors and tools. The word is the one that the reason must name.
HIGH = {
    # the words of the product
    "delete_draft": "delete",
    "remove_label": "remove",
    "destroy_cluster": "destroy",
    "drop_table": "drop",
    "wipe_device": "wipe",
    "purge_queue": "purge",
    "archive_thread": "archive",
    "merge_pull_request": "merge",
    "transfer_funds": "transfer",
    "pay_invoice": "pay",
    "refund_payment": "refund",
    "charge_card": "charge",
    "send_draft": "send",
    "post_message": "post",
    "publish_page": "publish",
    "deploy_service": "deploy",
    "push_files": "push",
    "grant_role": "grant",
    "revoke_token": "revoke",
    "modify_message": "modify",
    "update_draft": "update",
    "move_file": "move",
    "rename_file": "rename",
    "share_file": "share",
    "rebuild_index": "rebuild",
    "correct_stock": "correct",
    "fulfill_order": "fulfill",
    "receive_purchase_order": "receive",
    # the noun first
    "issue_delete": "delete",
    "organization_delete": "delete",
    "customer_merge": "merge",
    "issue_update": "update",
    "project_archive": "archive",
    "comment_create": "comment",
    "payment_create": "payment",
    # other spellings
    "bulkDelete": "delete",
    "batchDelete": "delete",
    "DELETEALL": "delete",
    "deleteall": "delete",
    "dElEtE": "delete",
    "HTTPDelete": "delete",
    "v2delete": "delete",
    "chat.postMessage": "post",
    "drive/files.delete": "delete",
    "mcp__files__write_file": "write",
    "sendmail": "send",
    "sendAll": "send",
    "resend": "resend",
    "undelete": "undelete",
    "deletes_items": "deletes",
    "mark_deleted": "deleted",
    "reminder_sending": "sending",
    "tables_dropped": "dropped",
    # neighbours
    "stop_query_execution": "stop",
    "start_query_execution": "start",
    "run_query": "run",
    "execute_sql": "execute",
    "cancel_order": "cancel",
    "create_order": "order",
    "create_or_update_file": "update",
    "find_and_replace": "replace",
    "get_and_run": "run",
    "read_write_file": "write",
    "set_permissions": "set",
    "reset_password": "reset",
    "invite_user": "invite",
    "approve_request": "approve",
    "reply_to_thread": "reply",
    "email_customer": "email",
    "close_issue": "close",
    "Edit": "edit",
    # a word that reads does not cancel what else is done
    "check_out_cart": "checkout",
    "checkOutCart": "checkout",
    "check_payment_release": "payment",
    "preview_and_pay": "pay",
    "validate_payments": "payments",
    "get_order_refunds": "order",
    "list_runs_released": "runs",
    "order_list": "order",
    "deleted_files_list": "deleted",
    "view_roll_back": "rollback",
    "read_payment_release": "payment",
    # letters that only look like ASCII
    "d\u0435lete_all": "delete",
    "\uff44elete_all": "delete",
    "se\u0301nd_mail": "send",
    "de\u200blete": "delete",
    "g\u0435t_and_p\u0430y": "pay",
    # an export may send data somewhere
    "export_contacts": "export",
    "exports": "exports",
}
MORE_HIGH = """
    swap_tokens remit_funds disburse_salary debit_account credit_account void_invoice liquidate_position mint_token
    flush_cache format_disk commit_changes apply_migration save_file persist_state override_limit inject_fault
    stake_coins airdrop_tokens fund_wallet loan_money cash_out wager_all forfeit_bond compensate_user tear_down_stack
    take_down_page scrub_records dispose_asset invalidate_sessions forget_user dismantle_rig cherry_pick transmit_file
    relay_message disclose_secret distribute_keys dial_number reload_config boot_server drain_node failover_db
    roll_out_build hibernate_vm whitelist_host blocklist_user demote_admin entitle_user waive_fee ratify_deal vote_no
    switch_branch relocate_site repair_table backfill_rows committed_write formatted_disk voided_check
    credit_card_charge
"""
NORMAL = [
    "create_draft", "draft-mail", "create_pull_request", "issue_create", "add_label", "insert_row", "copy_file",
    # known words that are part of others
    "postal_code", "dropdown", "address", "sender_info", "important", "emergency", "border", "publisher", "updater",
    "settings", "sendgrid_status", "getPayPalBalance", "SharePointList", "postgres_status",
    # nothing known
    "Bash", "query", "ünknown", "", "touch_file",
    # gated, although they read
    "get_draft", "list_drafts", "search_mail", "get_query_execution", "list_pull_requests", "get_order",
    "list_payments", "list_deleted_files", "issue_list", "get_updates", "batch_get", "comments.list", "list_commits",
    "github_list_releases", "get_exports", "get_release_notes", "get_credit_card", "information", "platform",
    "check_status", "preview_draft", "g\u0435t_draft", "avoid",
]  # fmt: skip


@pytest.mark.parametrize("idempotent", [None, True, False])
@pytest.mark.parametrize("op", HIGH)
def test_any_word_that_changes_or_sends_makes_the_risk_high(op: str, idempotent: bool | None) -> None:
    risk = assess(named(op, idempotent=idempotent))
    assert risk.level is RiskLevel.HIGH
    found = risk_word(op)
    assert found is not None
    assert (found.word, found.effect) == (HIGH[op], risk.reason)


@pytest.mark.parametrize("op", MORE_HIGH.split())
def test_more_words_that_change_send_or_pay(op: str) -> None:
    assert assess(named(op)).level is RiskLevel.HIGH


def test_letters_that_only_look_like_ascii_make_no_call_harmless() -> None:
    assert assess(replace(named("g\u0435t_draft", gated=False), name="g\u0435t_draft")).level is RiskLevel.NORMAL


@pytest.mark.parametrize("op", NORMAL)
def test_other_gated_calls_are_of_normal_risk(op: str) -> None:
    for idempotent in (None, True, False):
        risk = assess(named(op, idempotent=idempotent))
        assert risk.level is RiskLevel.NORMAL
        assert risk.reason in ("effect unknown", "may create something", "gated; only reads")


def named(op: str, *, idempotent: bool | None = None, gated: bool = True) -> Action:
    """An action whose own name says nothing."""
    plain = action(op, idempotent=idempotent)
    return replace(plain, name="x", approval=replace(plain.approval, required=gated))


@pytest.mark.parametrize("op", ["get_draft", "list_drafts", "search_mail", "issue_list"])
def test_only_a_call_that_needs_no_approval_can_be_of_low_risk(op: str) -> None:
    ungated = replace(named(op, gated=False), name=op)
    assert assess(ungated).level is RiskLevel.LOW
    gated = assess(replace(named(op), name=op))
    assert (gated.level, gated.reason == "gated; only reads") == (RiskLevel.NORMAL, True)


def test_an_op_that_says_nothing_is_not_of_low_risk_because_its_action_claims_to_read() -> None:
    assert assess(replace(named("do_it", gated=False), name="get-file")).level is RiskLevel.NORMAL


@pytest.mark.parametrize("place", range(3))
def test_the_riskiest_step_counts_wherever_it_is(place: int) -> None:
    ops = ["get_draft", "list_drafts", "create_draft"]
    ops.insert(place, "issue_delete")
    steps = tuple(Step(f"s{number}", MAIL, op, True, {}) for number, op in enumerate(ops))
    risk = assess(replace(named("get_draft"), execute=steps))
    assert (risk.level, risk.reason == "may remove something") == (RiskLevel.HIGH, True)


def test_the_name_of_the_action_counts_too() -> None:
    risk = assess(replace(named("do_it"), name="delete-everything"))
    assert (risk.level, risk.reason == "may remove something") == (RiskLevel.HIGH, True)


NAMES = st.lists(st.sampled_from(["get", "list", "and", "Issue", "x9", "create", "draft", "ALL", "mail"]), max_size=4)
PRODUCT_WORDS = (
    "delete remove destroy drop wipe purge archive merge transfer pay refund charge send post publish deploy push "
    "grant revoke modify update move share rebuild correct fulfill receive"
)


@given(NAMES, st.sampled_from(PRODUCT_WORDS.split()), NAMES, st.sampled_from("-_./ 0"), st.booleans())
def test_a_dangerous_word_counts_wherever_it_is(
    before: list[str], word: str, after: list[str], separator: str, idempotent: bool
) -> None:
    for spelled in (word, word.upper(), word.title()):
        op = separator.join([*before, spelled, *after])
        assert assess(named(op, idempotent=idempotent)).level is RiskLevel.HIGH
    camel = "".join(part.capitalize() for part in [*before, word, *after])
    assert assess(named(camel, idempotent=idempotent)).level is RiskLevel.HIGH


@given(st.text(), st.booleans())
def test_no_name_of_a_gated_action_makes_it_low(name: str, idempotent: bool) -> None:
    risk = assess(replace(named(name, idempotent=idempotent), name=name))
    assert risk.level is not RiskLevel.LOW
    assert risk.reason


def test_the_users_first_matching_rule_wins() -> None:
    rules = [
        RiskRule(RiskLevel.NORMAL, action="other-*"),
        RiskRule(RiskLevel.LOW, action="send-*"),
        RiskRule(RiskLevel.HIGH),
    ]
    risk = assess(action(), rules)
    assert (risk.level, risk.reason) == (RiskLevel.LOW, "by [[risk]] entry 2")


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (RiskRule(RiskLevel.LOW, connector="local://samples/*"), True),
        (RiskRule(RiskLevel.LOW, connector="github://*"), False),
        (RiskRule(RiskLevel.LOW, op="send_*"), True),
        (RiskRule(RiskLevel.LOW, op="SEND_*"), False),
        (RiskRule(RiskLevel.LOW, action="send-draft", connector="local://*", op="send_draft"), True),
        (RiskRule(RiskLevel.LOW, action="send-draft", op="get_draft"), False),
    ],
)
def test_every_pattern_of_a_rule_must_match(rule: RiskRule, matches: bool) -> None:
    assert (assess(action(), [rule]).level is RiskLevel.LOW) is matches


@pytest.mark.parametrize("said", [None, *RiskLevel])
@pytest.mark.parametrize("op", ["get_draft", "create_draft", "send_draft", "unknown"])
@pytest.mark.parametrize("gated", [True, False])
def test_the_agents_side_can_raise_and_never_lower(op: str, said: RiskLevel | None, gated: bool) -> None:
    declared = assess(named(op, gated=gated)).level
    wanted = max(declared, said or RiskLevel.LOW, key=lambda level: level.rank)
    assert assess(named(op, gated=gated), annotation=said).level is wanted


def test_a_rule_that_lowers_can_still_be_raised_by_the_agents_side() -> None:
    risk = assess(action(), [RiskRule(RiskLevel.LOW)], annotation=RiskLevel.HIGH)
    assert (risk.level, risk.reason) == (RiskLevel.HIGH, "rated by the agent")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("send-draft", RiskLevel.HIGH),
        ("Delete.everything", RiskLevel.HIGH),
        ("move-file", RiskLevel.HIGH),
        ("create-event", RiskLevel.NORMAL),
        ("list-drafts", RiskLevel.NORMAL),
        ("", RiskLevel.NORMAL),
    ],
)
def test_a_name_alone_never_makes_a_call_harmless(name: str, level: RiskLevel) -> None:
    risk = by_names(name, ())
    assert risk.level is level
    assert risk.reason


def test_every_reason_fits_on_one_line_of_the_smallest_screen() -> None:
    reasons = {assess(named(op), annotation=said) for op in (*HIGH, *NORMAL) for said in (None, RiskLevel.HIGH)} | {
        assess(named("send_it"), [RiskRule(RiskLevel.NORMAL)] * 9)
    }
    for risk in reasons:
        assert len(f"● {risk.level} risk  {risk.reason}") <= 35, risk


def test_rules_need_only_a_name_and_steps() -> None:
    steps = action("get_draft").execute
    rules = [RiskRule(RiskLevel.HIGH, op="send_*"), RiskRule(RiskLevel.LOW, action="any-*", connector=MAIL)]
    found = by_rule("any-name", steps, rules)
    assert found is not None
    assert (found.level, found.reason) == (RiskLevel.LOW, "by [[risk]] entry 2")
    assert by_rule("other-name", steps, rules) is None
    assert by_rule("any-name", (), [RiskRule(RiskLevel.LOW)]) is None
