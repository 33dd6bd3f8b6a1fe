"""Writing settings that the user has accepted, and recording what is needed to take that back."""

from dataclasses import replace
from pathlib import Path

from aileron_tui.cli.output import print_lines
from aileron_tui.core.errors import AileronError
from aileron_tui.core.visible_text import inline
from aileron_tui.doors.settings_file import PlannedFile, record_of, write
from aileron_tui.doors.setup_plan import SetupContext
from aileron_tui.doors.setup_record import FileRecord, SetupRecord, read_records, remove_record, write_record
from aileron_tui.files.private_files import private_folder


def known_record(data: Path, word: str, context: SetupContext) -> SetupRecord | None:
    """What an earlier setup recorded, or None."""
    folder = str(context.folder) if context.project else ""
    return next((known for known in read_records(data) if known.key == (word, folder)), None)


def known_file(record: SetupRecord | None, path: Path) -> FileRecord | None:
    """What an earlier setup recorded of a file, or None."""
    files = record.files if record else ()
    return next((file for file in files if file.path == str(path.resolve())), None)


def check_places(files: list[PlannedFile], context: SetupContext) -> None:
    """Refuses to write outside of the project where a symbolic link of the project leads there."""
    folder = context.folder.resolve()
    for file in files:
        if context.project and file.plan.path.is_relative_to(context.folder) and not file.path.is_relative_to(folder):
            hint = "Remove the link, then try again."
            raise AileronError(f"{file.plan.path} leads out of this folder", f"to {file.path}", hint)


def write_recorded(data: Path, record: SetupRecord, files: list[PlannedFile], known: SetupRecord | None) -> SetupRecord:
    """Writes the files. What is needed to take that back is recorded before, in what is returned."""
    private_folder(data)
    records = [record_of(file) for file in files]
    written = {made.path for made in records}
    kept = [file for file in known.files if file.path not in written] if known else []
    record = replace(record, files=(*kept, *records))
    write_record(data, record)
    for number, (file, made) in enumerate(zip(files, records, strict=True)):
        try:
            write(file.path, file.after, file.before)
        except AileronError:
            if not number:  # nothing was written
                write_record(data, known) if known else remove_record(data, record)
            raise
        print_lines(f"wrote {inline(str(file.path))}")
        if made.backup:
            print_lines(f"  {inline(made.backup)} has the file from before")
    return record
