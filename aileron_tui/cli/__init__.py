"""The command line. Each command is a module of its own, imported only when it is called."""

import sys
from typing import TYPE_CHECKING

from aileron_tui import __version__

if TYPE_CHECKING:
    from types import ModuleType

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130

COMMANDS = {
    "demo": "see it work: nothing to set up, nothing kept",
    "gate": "run the gate alone, without a screen",
    "run": "call an action as an agent does",
    "list": "show what waits for an answer",
    "show": "show one request as the operator is asked about it",
    "approve": "approve a waiting request",
    "deny": "deny a waiting request",
    "watch": "show requests as they come and go",
    "history": "what was asked, decided and done; check and export it",
    "key": "make and manage signing keys, and who may approve",
    "preview": "show the prompt of a call as the operator would see it",
    "lint": "check action, connector and suite manifests",
    "doctor": "check the set-up and say what to do",
}

_CONSOLE = "console"


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    words = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return _dispatch(words)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # the reader is gone; nothing may be flushed to it at exit
        return FAILED
    except OSError as error:
        _complain(error.strerror or str(error))
        sys.stdout = None
        return FAILED


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        sys.stdout.write(f"aileron-tui {__version__}\n")
        return OK
    if words[:1] in (["-h"], ["--help"], ["help"]):
        sys.stdout.write(_overview())
        return OK
    if not words and not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write(_overview())
        return USAGE
    if not words or words[0].startswith("-"):
        return _run(_CONSOLE, words)
    if words[0] not in COMMANDS:
        return _unknown(words[0])
    return _run(words[0], words[1:])


def _run(command: str, words: list[str]) -> int:
    from importlib import import_module  # noqa: PLC0415  # imports wait until needed: `--version` must be instant

    from aileron_tui.core.errors import AileronError  # noqa: PLC0415

    module = import_module(f"aileron_tui.cli.commands.{command}")
    try:
        code: int = module.run(_options(command, module, words))
    except AileronError as error:
        _complain(error.title, error.detail, error.hint)
        return FAILED
    return code


def _options(command: str, module: "ModuleType", words: list[str]) -> object:
    """What the words say; the console without any is opened as its defaults say, with no parser to load."""
    if command == _CONSOLE and not words:
        return module.DEFAULTS
    from aileron_tui.cli.parser import Parser  # noqa: PLC0415

    name = "aileron-tui" if command == _CONSOLE else f"aileron-tui {command}"
    parser = Parser(name, description=module.__doc__)
    module.arguments(parser)
    return parser.parse_args(words)


def _overview() -> str:
    rows = "".join(f"  {name:<10} {words}\n" for name, words in COMMANDS.items())
    return (
        "A person approves or denies what AI agents are about to do.\n\n"
        "usage: aileron-tui [--url U] [--token-file FILE] [--standalone] [--manifests DIR] [--key NAME] [--read-only]\n"
        "                   [--theme T]\n"
        "         opens the console: on the daemon or gate at U, else on the configured sources, else on the daemon\n"
        "         or gate that runs here, else with a gate inside\n"
        f"       aileron-tui COMMAND …\n\n{rows}\n"
        "  --version  say which version this is\n"
        "  COMMAND --help explains a command.\n"
    )


def _unknown(word: str) -> int:
    from aileron_tui.core.toml_schema import nearest  # noqa: PLC0415
    from aileron_tui.core.visible_text import inline  # noqa: PLC0415

    close = nearest(word, [*COMMANDS])  # the command module `list` hides the builtin here
    hint = f'Did you mean "{close}"?' if close else "aileron-tui --help lists the commands."
    sys.stderr.write(f'error: there is no command "{inline(word)}"\n  {hint}\n')
    return USAGE


def _complain(title: str, *more: str) -> None:
    from aileron_tui.cli.output import write  # noqa: PLC0415
    from aileron_tui.core.visible_text import inline  # noqa: PLC0415

    write(sys.stderr, f"error: {inline(title)}")
    write(sys.stderr, *(f"  {inline(line)}" for line in more if line))
