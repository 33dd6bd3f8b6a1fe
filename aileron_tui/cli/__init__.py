"""The command line. Each command is a module of its own, imported only when it is called."""

import sys
from typing import TYPE_CHECKING, Final

from aileron_tui import __version__

if TYPE_CHECKING:
    from aileron_tui.core.errors import AileronError

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

COMMANDS: Final = {
    "lint": "check action, connector and suite manifests",
}


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["--version"]:
        sys.stdout.write(f"aileron-tui {__version__}\n")
        return OK
    if not words or words[0] in ("-h", "--help", "help"):
        (sys.stdout if words else sys.stderr).write(_overview())
        return OK if words else USAGE
    if words[0] not in COMMANDS:
        return _unknown(words[0])
    return _run(words[0], words[1:])


def _run(command: str, words: list[str]) -> int:
    import argparse  # noqa: PLC0415  # imports wait until a command needs them: `--version` must be instant
    from importlib import import_module  # noqa: PLC0415

    from aileron_tui.core.errors import AileronError  # noqa: PLC0415

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    module = import_module(f"aileron_tui.cli.{command}")
    parser = argparse.ArgumentParser(f"aileron-tui {command}", description=module.__doc__)
    module.arguments(parser)
    try:
        code: int = module.run(parser.parse_args(words))
        sys.stdout.flush()
    except AileronError as error:
        _complain(error)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # type: ignore[assignment]  # the reader is gone; nothing may be flushed to it at exit
        return FAILED
    return code


def _overview() -> str:
    rows = "".join(f"  {name:<10} {words}\n" for name, words in COMMANDS.items())
    return (
        "A person approves or denies what AI agents are about to do.\n\n"
        f"usage: aileron-tui COMMAND …\n\n{rows}\n"
        "  --version  say which version this is\n"
        "  COMMAND --help explains a command.\n"
    )


def _unknown(word: str) -> int:
    from aileron_tui.core.schema import nearest  # noqa: PLC0415
    from aileron_tui.core.text import inline  # noqa: PLC0415

    close = nearest(word, list(COMMANDS))
    hint = f'Did you mean "{close}"?' if close else "aileron-tui --help lists the commands."
    sys.stderr.write(f'error: there is no command "{inline(word)}"\n  {hint}\n')
    return USAGE


def _complain(error: "AileronError") -> None:
    from aileron_tui.core.text import inline  # noqa: PLC0415

    sys.stderr.write(f"error: {inline(error.title)}\n")
    for line in (error.detail, error.hint):
        if line:
            sys.stderr.write(f"  {inline(line)}\n")
