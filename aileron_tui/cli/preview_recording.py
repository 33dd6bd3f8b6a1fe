"""Recordings of previews: `preview --record FILE` and `preview --replay FILE`."""

import argparse
import os
import sys
from pathlib import Path

from aileron_tui.cli.output import counted, write
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.sandbox.preview import PreviewOutcome
from aileron_tui.sandbox.recorded_exchanges import (
    LARGEST_RECORDING,
    BadRecording,
    ExchangeRecorder,
    ExchangeReplay,
    read_recording,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options for recordings."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--record", metavar="FILE", type=Path, help="write what is exchanged with services to a new file, for --replay"
    )
    group.add_argument(
        "--replay", metavar="FILE", type=Path, help="use a recording instead of the network and the credentials"
    )


def opened(options: argparse.Namespace, action: str) -> ExchangeRecorder | ExchangeReplay | None:
    """The recording that the options ask for; raises BadRecording if it cannot be made or read."""
    if options.record:
        if os.path.lexists(options.record):
            raise BadRecording(f"{options.record} already exists", hint="Choose another name, or move it away.")
        return ExchangeRecorder()
    if not options.replay:
        return None
    replay = read_recording(_content(options.replay), str(options.replay))
    if replay.action != action:
        raise BadRecording(f"{options.replay} is a recording of {replay.action}, not of {action}")
    return replay


def finish(
    recording: ExchangeRecorder | ExchangeReplay,
    options: argparse.Namespace,
    action: str,
    outcome: PreviewOutcome | None,
) -> None:
    """Writes a recording that was made, or checks that all of one was replayed; raises BadRecording."""
    if isinstance(recording, ExchangeReplay):
        if recording.unused and not (outcome and outcome.failure and not outcome.failure.reported_by_guest):
            raise BadRecording(f"{options.replay} does not match", recording.unused, "Record it again with --record.")
        return
    if outcome is None:
        raise BadRecording("nothing was recorded", f"{action} has no preview")
    if outcome.failure and not outcome.failure.reported_by_guest:
        raise BadRecording("nothing was recorded", "the preview failed, so not every request has an answer")
    _write(options.record, recording.document(action))
    count = counted(len(recording.exchanges), "request")
    write(sys.stderr, f"Recorded {count} in {inline(str(options.record))}. It contains what the services answered.")


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_RECORDING + 1)
    except OSError as error:
        raise BadRecording(f"cannot read {path}", (error.strerror or str(error)).lower()) from None
    if len(data) > LARGEST_RECORDING:
        raise BadRecording(f"cannot replay {path}", f"it is larger than {LARGEST_RECORDING:,} bytes")
    return data


def _write(path: Path, data: bytes) -> None:
    """Writes a new file that only the user can read: it contains what services answered."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise AileronError(f"cannot write {path}", (error.strerror or str(error)).lower()) from None
