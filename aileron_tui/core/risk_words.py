"""Words in the name of an op, tool or action that say what it does.

A name is split into words at punctuation, digits and capitals. Words also count in their usual forms (`deletes`,
`sending`, `payment`), with a prefix (`resend`, `bulkdelete`) and, where no other word contains them, inside a longer
word (`DELETEALL`).
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

from aileron_tui.core.values import dataclass


class Effect(StrEnum):
    """What an op may do by its name, in words that fit on one line of a narrow screen."""

    REMOVES = "may remove something"
    CHANGES = "may change something"
    SENDS = "may send or publish"
    PAYS = "may move money"
    RUNS = "may run or stop things"
    ALLOWS = "may change access"
    CREATES = "may create something"
    READS = "only reads"

    @property
    def is_high(self) -> bool:
        """Whether a person should confirm the call twice."""
        return self not in (Effect.CREATES, Effect.READS)


@dataclass(frozen=True, slots=True)
class RiskWord:
    """A word of a name and its effect. `is_verb` is False for nouns, plurals and participles."""

    word: str
    effect: Effect
    is_verb: bool


_VERBS: Final = {
    Effect.REMOVES: """
        delete remove destroy drop wipe purge archive erase truncate clear clean cleanup discard expunge unlink rm del
        uninstall trash prune evict detach nuke obliterate shred empty deprovision decommission flush format forget
        scrub dispose invalidate teardown takedown dismantle""",
    Effect.CHANGES: """
        modify update move rename merge correct rebuild edit change set patch put write overwrite replace alter
        amend adjust upsert mutate append prepend reset restore revert rollback undo recover rotate migrate convert
        configure enable disable activate deactivate lock unlock pin assign transition resolve reopen close complete
        fulfill fulfil receive accept reject decline rebase squash sync synchronize reindex reschedule resize rewrite
        import install upgrade downgrade toggle mute unmute snooze attach mv chmod chown reconcile commit swap switch
        apply save persist override inject relocate repair backfill cherrypick""",
    Effect.SENDS: """
        send post publish push share submit forward reply respond upload broadcast announce notify invite tweet retweet
        dispatch deliver release deploy expose comment react rsvp subscribe unsubscribe ship promote export transmit
        relay disclose distribute dial""",
    Effect.PAYS: """
        pay transfer refund charge buy purchase sell order book reserve withdraw deposit checkout bill donate wire
        reimburse payout trade bid tip redeem settle invest lend borrow renew remit disburse debit credit void liquidate
        mint stake airdrop fund loan cashout compensate forfeit wager""",
    Effect.RUNS: """
        execute exec run invoke trigger start stop restart reboot shutdown terminate kill abort cancel suspend resume
        pause halt launch schedule eval evaluate rerun retry replay scale provision spawn sudo reload boot drain
        failover rollout hibernate""",
    Effect.ALLOWS: """
        grant revoke approve authorize authorise deny permit ban unban block unblock allow disallow impersonate
        sign enroll enrol elevate escalate delegate join leave kick expel follow unfollow trust whitelist blacklist
        allowlist blocklist denylist demote entitle waive ratify vote""",
}
_CREATING: Final = "create add insert draft new make generate compose copy duplicate clone prepare"
# An export is not among them: it may send the data somewhere.
_READING: Final = (
    "get list search read find fetch describe count lookup show view browse check preview inspect download "
    "retrieve head stat summarize summarise compare validate"
)
# These say what is done with what follows: `get_order`. The others may begin something else: `check_payment_release`.
_ASKING_LIST: Final = "get list search read find fetch describe count lookup show view browse retrieve"
_ASKING: Final = frozenset(_ASKING_LIST.split())
# Often nouns (`get_order`, `list_runs`), so that one of them does not count behind a word that asks for it.
_NOUN_LIST: Final = (
    "order book bill comment invite run trade tip bid release start schedule trigger reply block lock pin change trust "
    "scale wire empty complete clean clear import sync sign reserve deposit purchase follow tweet resume launch "
    "install checkout trash permit set draft copy new clone duplicate export commit format credit debit fund loan "
    "stake swap switch save payout vote rollout"
)
_NOUNS: Final = frozenset(_NOUN_LIST.split())
# Nouns that are verbs only where a name begins with them: `email_customer`, but not `draft_email`.
_VERBS_IN_FRONT: Final = frozenset({"email", "mail", "message", "dm", "fax", "text"})
# Creating an order, a comment or a run means to buy, publish or run something.
_COUNT_IF_CREATED: Final = (Effect.SENDS, Effect.PAYS, Effect.RUNS)
# Forms that the rules below do not find.
_IRREGULAR: Final = {
    "sent": "send", "paid": "pay", "payment": "pay", "bought": "buy", "sold": "sell", "ran": "run", "wrote": "write",
    "written": "write", "published": "publish", "publication": "publish", "removal": "remove", "erasure": "erase",
    "cancellation": "cancel", "modification": "modify", "notification": "notify", "authorization": "authorize",
    "subscription": "subscribe", "invitation": "invite", "submission": "submit", "approval": "approve",
    "revocation": "revoke", "withdrawal": "withdraw", "reservation": "reserve", "replacement": "replace",
    "configuration": "configure", "activation": "activate", "overwritten": "overwrite",
}  # fmt: skip
# Letters that are part of a longer word only if that word is about the same thing.
_INSIDE: Final = re.compile(
    r"(?:delete|remove|destroy|purge|erase|truncate|archive|modify|update|overwrite|rename|publish|deploy|transfer|refund"
    r"|revoke|execute|terminate|uninstall|shutdown|cancel|disable|unsubscribe|impersonate)(?!r?s?\Z|er|able)"
)
_SHORT: Final = "send|pay|drop|wipe|kill|move|push|post|merge|share|grant|charge|run|stop|close|reset|write|edit"
_OBJECTS: Final = (
    "all|any|every|everything|many|bulk|batch|now|to|by|email|mail|message|msg|file|folder|dir|table|db|database|data|user"
    "|group|item|record|row|draft|money|fund|cash|invoice|bill|event|issue|account|branch|tag|repo|project|request"
    "|comment|page|process|task|job|command|cmd|query|script|notification|tweet|card|customer|role|access|permission"
    "|password"
)
_GLUED: Final = re.compile(rf"(?:{_SHORT})(?=(?:{_OBJECTS})s?\Z)|send(?=\Z)")
_PREFIXES: Final = ("un", "re", "bulk", "mass", "batch", "auto", "force", "hard", "soft", "multi", "pre", "do")
# Names of products and things that are not what their parts say.
_PRODUCTS: Final = re.compile(
    r"(?:paypal|dropbox|sharepoint|dropdown|pushover|sendgrid|postman|postgres(?:ql)?|postcode"
    r"|runtime|settings?|credit[-_. ]?cards?)(?-i:(?![a-z]))",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_RUN: Final = re.compile(r"[A-Za-z]+")
_MORE: Final = frozenset({"and", "then", "or"})
_SUFFIXES: Final = ("s", "es", "d", "ed", "ing", "ion", "ment")
_MAX_NAME: Final = 1000

_EFFECTS: Final = {
    **dict.fromkeys(_READING.split(), Effect.READS),
    **dict.fromkeys(_CREATING.split(), Effect.CREATES),
    **{word: effect for effect, words in _VERBS.items() for word in words.split()},
}


@lru_cache(maxsize=1024)
def risk_word(name: str) -> RiskWord | None:
    """The word that says most about the risk of a name, or None if no word of it is known."""
    if name.isascii():
        return _risk_word(name)
    from aileron_tui.core.skeletons import plain_letters  # noqa: PLC0415  # few names need it

    found = _risk_word(plain_letters(name[:_MAX_NAME]))
    # What only looks like a word may make a name riskier, and never harmless.
    return found if found and found.effect.is_high else None


def _risk_word(name: str) -> RiskWord | None:
    words = [word.lower() for word in _words(name)]
    known = [found for word in words if (found := _known(word))]
    # Two words may be one: to `check_out` is a checkout.
    pairs = (first + second for first, second in pairwise(words))
    known += [found for pair in pairs if pair in _EFFECTS and (found := _known(pair))]
    reads = next((word for word in known if word.effect is Effect.READS), None)
    counted = [word for word in known if word.effect is not Effect.READS]
    if _MORE.isdisjoint(words) and _is_asked_for(counted, words):
        counted = []
    creates = next((word for word in counted if word.effect is Effect.CREATES), None)
    for word in counted:
        if word.effect.is_high and (word.is_verb or not creates or word.effect in _COUNT_IF_CREATED):
            return word
    if words and words[0] in _VERBS_IN_FRONT and not reads and not creates:
        return RiskWord(words[0], Effect.SENDS, is_verb=True)
    return creates or reads


def _is_asked_for(counted: list[RiskWord], words: list[str]) -> bool:
    """Whether the only word that counts is a noun of what the name asks for: `get_order`, `list_deleted_files`."""
    nouns = {word.word for word in counted}
    if len(nouns) != 1 or any(word.is_verb for word in counted):
        return False
    before = words[: words.index(noun)] if (noun := nouns.pop()) in words else words
    # A plural is no command, so it may come first: `comments.list`.
    return not _ASKING.isdisjoint(before) or (noun.endswith("s") and noun not in _EFFECTS and words[-1] in _ASKING)


def _words(name: str) -> Iterator[str]:
    """The words of a name, then each run of letters that mixes upper and lower case (`dElete`)."""
    name = _PRODUCTS.sub(" ", name[:_MAX_NAME])
    parts = _WORD.findall(name)
    yield from parts
    yield from (run for run in _RUN.findall(name) if run not in parts)


def _known(word: str) -> RiskWord | None:
    if word in _EFFECTS:
        return RiskWord(word, _EFFECTS[word], word not in _NOUNS)
    for form in _basic_forms(word):
        if form in _EFFECTS:
            return RiskWord(word, _EFFECTS[form], False)
    for prefix in filter(word.startswith, _PREFIXES):
        rest = word.removeprefix(prefix)
        for form in (rest, *_basic_forms(rest)):
            if form in _EFFECTS and _EFFECTS[form].is_high:
                effect = Effect.CHANGES if prefix == "un" else _EFFECTS[form]
                return RiskWord(word, effect, form == rest and rest not in _NOUNS)
    inside = _INSIDE.search(word) or _GLUED.search(word)
    return RiskWord(inside[0], _EFFECTS[inside[0]], True) if inside else None


def _basic_forms(word: str) -> Iterator[str]:
    """The words of which this may be a form: `deletes`, `deleted`, `deleting`, `deletion`, `payments`, `dropped`."""
    singular = word.removesuffix("s")
    for candidate in (word, singular):
        if candidate in _IRREGULAR:
            yield _IRREGULAR[candidate]
    for suffix in _SUFFIXES:
        for candidate in dict.fromkeys((word, singular)):
            stem = candidate.removesuffix(suffix)
            if stem != candidate and len(stem) > 1:
                yield from (stem, f"{stem}e")
                if stem.endswith("i"):
                    yield f"{stem[:-1]}y"
                if suffix in ("ed", "ing") and stem[-1] == stem[-2]:
                    yield stem[:-1]
