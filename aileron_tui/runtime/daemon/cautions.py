"""What a person should know about a daemon's request before answering it, in our own words."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from aileron_tui.core.times import moment
from aileron_tui.runtime.daemon.request_kinds import ACTION, HTTP_REQUEST, KINDS, SAVE, SAVE_AS, SHELL
from aileron_tui.runtime.request_reader import Item

SHELL_WAITS: Final = timedelta(minutes=5)


def cautions(item: Item, now: datetime) -> tuple[str, ...]:
    """Short sentences, the gravest first. They may quote the request: make them visible as foreign text is."""
    return tuple(_sentences(item, now)) if item.daemon else ()


def _sentences(item: Item, now: datetime) -> Iterator[str]:
    prompt = item.prompt
    if item.deny_only:
        yield f"cannot be approved here, only denied: {item.deny_only}"
    if prompt.kind not in KINDS and prompt.kind != ACTION:
        yield f'a kind of request that is not known here, "{prompt.kind}": all that was sent is listed'
    if prompt.kind == HTTP_REQUEST and not prompt.args.get("secret_name"):
        yield "goes out without a credential"
    if prompt.kind == SHELL and gave_up(item, now):
        yield "the shell that asked gave up after 5 minutes: answering may change nothing"
    if prompt.kind == SHELL and (saved := prompt.args.get(SAVE)):
        words = dict(SAVE_AS).get(saved if isinstance(saved, str) else "", "")
        yield f"an approval also saves a rule{f' ({words})' if words else ''}: what fits it is not asked again"


def gave_up(item: Item, now: datetime) -> bool:
    """Whether the shell that asked waits no more."""
    try:
        return item.prompt.kind == SHELL and now - moment(item.requested_at) > SHELL_WAITS
    except ValueError:
        return False
