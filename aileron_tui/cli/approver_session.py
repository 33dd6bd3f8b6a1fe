"""What the approver's commands share: the gate, the unlocked key, the request that is meant, and how it is printed."""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Final, TextIO

from aileron_tui.cli.output import columns, write
from aileron_tui.core.errors import AileronError
from aileron_tui.core.jsontext import Json
from aileron_tui.core.prompt import lines
from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.times import moment
from aileron_tui.core.visible_text import Visible, cells, clip, inline, wrap
from aileron_tui.files.config import load_config
from aileron_tui.files.paths import paths
from aileron_tui.runtime.daemon.cautions import cautions
from aileron_tui.runtime.request_reader import Item
from aileron_tui.signing import key_store
from aileron_tui.signing.secret_memory import protect_process, wipe
from aileron_tui.signing.terminal_input import ask_passphrase
from aileron_tui.surface.source_choice import Chosen, chosen
from aileron_tui.surface.source_connection import Sources, connecting

PREVIEW_SECONDS: Final = 8.0

_POLL_SECONDS: Final = 0.1
_SHORTEST: Final = 4
_HANG: Final = " " * 12


class NoSuchRequest(AileronError):
    """No request that waits has this id."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options that all of these commands have."""
    parser.add_argument("--url", default="", help="the daemon or gate to talk to; else the one that is found")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="the file with the daemon's token")
    parser.add_argument("--source", metavar="NAME", default="", help="only this one of the configured sources")
    parser.add_argument("--key", metavar="NAME", help="the key to sign with; may be left out if there is only one")


@contextmanager
def approver(options: argparse.Namespace) -> Iterator[Sources]:
    """The sources with an unlocked key. The passphrase is asked on the terminal and nowhere else."""
    protect_process()
    config = load_config(paths().config)
    choices = _wanted(chosen(options, config), options.source)
    for choice in choices:
        if choice.note:
            sys.stderr.write(f"note: {inline(choice.note)}\n")
        if choice.kind == "inside":
            choice.find()  # there is none to talk to: says so before a passphrase is asked for
    with _unlocked(options.key) as key:
        connects = {choice.name: connecting(choice, config, surface="cli") for choice in choices}
        sources = Sources(connects, key, complain)
        try:
            yield sources
        finally:
            sources.close()


def _wanted(choices: list[Chosen], name: str) -> list[Chosen]:
    found = [choice for choice in choices if not name or choice.name == name]
    if not found:
        names = ", ".join(choice.name for choice in choices if choice.name)
        hint = f"There are: {names}." if names else "No sources are configured; leave out --source."
        raise AileronError(f'there is no source "{name}"', hint=hint)
    return found


def pick(sources: Sources, id_: str) -> Item:
    """The waiting request with this id; the beginning or the end of an id is enough if it fits only one."""
    waiting = sources.waiting()
    exact = [item for item in waiting if item.id == id_]
    close = [item for item in waiting if item.id.startswith(id_) or item.id.endswith(id_)]
    # Another source may have made up an id that is the whole, or the end, of this one's.
    ours = exact if exact and {item.source for item in close} == {exact[0].source} else close
    if len(ours) == 1 and (exact or len(id_) >= _SHORTEST):
        return ours[0]
    if len(close) > 1:
        apart = "; name the source with --source" if len({item.source for item in close}) > 1 else ""
        hint = f"It fits {len(close)} requests; give more of the id{apart}."
        raise NoSuchRequest(f"which request is {id_}?", hint=hint)
    hint = "It may have been answered already. `aileron-tui list` shows what waits."
    raise NoSuchRequest(f"no request {id_} is waiting", hint=hint)


def settled(sources: Sources, item: Item) -> Item:
    """The request once its preview has come, or as it is after a while."""
    end = time.monotonic() + PREVIEW_SECONDS
    while item.fetching and item.state.decidable and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
        item = sources.of(item).item(item.id)
    return item


def shown(item: Item, out: TextIO) -> Iterator[str]:
    """The prompt as the operator sees it, and what else there is to know before answering."""
    room = columns(out)
    yield from lines(item.prompt, room, item.edited_from)
    for caution in cautions(item, datetime.now(UTC)):
        yield from wrap(Visible(f"  ! {inline(caution)}"), room, _HANG[:4])
    if item.fetching:
        yield "  (the preview is still being fetched)"
    yield ""
    connector, asker = item.prompt.connector, item.prompt.asker
    told = " · ".join(filter(None, (asker.agent, asker.session, asker.folder)))
    short = connector.hash.removeprefix("sha256:")[:12]
    runs = (connector.name, connector.version, f"{short}…" if short else "", connector.trust)
    about = {
        "request": item.id,
        "source": item.source,
        "state": f"{item.state}{_left(item)}",
        "risk": f"{item.prompt.risk.level}: {item.prompt.risk.reason}",
        "asked by": f"{told} (as it calls itself)" if told else "an agent that gave no name",
        "connector": " ".join(filter(None, runs)),
        "digest": item.digest,
        "asked again": f"{item.asked_again} was interrupted; it may have taken effect" if item.asked_again else "",
        "reason": item.reason,
    }
    for name, value in about.items():
        if value:
            yield from wrap(Visible(f"{name:<11} {inline(value)}"), room, _HANG)


def hint(item: Item) -> Iterator[str]:
    """How to answer."""
    # The id may be anything, and these lines are made to be pasted into a shell.
    short = quote(inline(item.id[-8:] if item.id[-8:].isalnum() else item.id))
    where = f" --source {item.source}" if item.source else ""
    yield f"[Approve]   aileron-tui approve{where} -- {short}"
    yield f"[Deny]      aileron-tui deny{where} --reason … -- {short}"


def row(item: Item, now: datetime, width: int) -> Iterator[str]:
    """A request in a list: action and time left, then its id and first input."""
    mark = "⚠ " if item.prompt.risk.level is RiskLevel.HIGH else ""
    left = _clock(item.seconds_left(now)) if item.expires_at else _since(item, now)
    name = clip(Visible(f"{mark}{inline(item.prompt.action)}"), max(width - len(left) - 1, 10))
    yield f"{name}{' ' * max(1, width - cells(name) - len(left))}{left}"
    inputs = ", ".join(f"{row.label}: {'n/a' if row.missing else row.value}" for row in item.prompt.inputs)
    yield f"  {inline(item.id)}{f' · {item.source}' if item.source else ''}"
    if inputs:
        yield f"  {clip(inline(inputs), max(width - 2, 10))}"


def width() -> int:
    """How wide a line may be."""
    return min(shutil.get_terminal_size().columns, 100)


def say(*texts: str) -> None:
    """Lines on standard output; foreign text in them was made visible before."""
    write(sys.stdout, *texts)


def say_json(value: Json, *, lines: bool = False) -> None:
    """One document, or one line of many."""
    sys.stdout.write(json.dumps(value, indent=None if lines else 2) + "\n")
    sys.stdout.flush()


def complain(error: AileronError) -> None:
    """An error of ours that has an exit code of its own."""
    write(sys.stderr, f"error: {inline(error.title)}")
    write(sys.stderr, *(f"  {inline(line)}" for line in (error.detail, error.hint) if line))


@contextmanager
def _unlocked(name: str | None) -> Iterator[key_store.UnlockedKey]:
    folder = paths().keys
    stored = key_store.choose(paths().keys, name)
    passphrase = None
    if stored.insecure:
        sys.stderr.write(f"warning: the key {inline(stored.name)} is {key_store.INSECURE}\n")
    else:
        passphrase = ask_passphrase(f"Passphrase of {stored.name}")
    try:
        key = key_store.unlock(folder, stored.name, passphrase)
    finally:
        if passphrase is not None:
            wipe(passphrase)
    with key:
        yield key


def _left(item: Item) -> str:
    if not item.state.decidable or not item.expires_at:
        return ""
    return f", {_clock(item.seconds_left(datetime.now(UTC)))} left"


def _since(item: Item, now: datetime) -> str:
    """How long a request without a deadline has waited."""
    try:
        return f"since {_clock(max(0.0, (now - moment(item.requested_at)).total_seconds()))}"
    except ValueError:
        return "time not known"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
