"""The command line. Each command is a module of its own, imported only when it is called."""

import os
import sys
from typing import TYPE_CHECKING

from aileron_tui import __version__
from aileron_tui.cli.commands import COMMANDS
from aileron_tui.cli.exit_codes import FAILED, INTERRUPTED, OK, USAGE
from aileron_tui.cli.standard_streams import prepare_streams

if TYPE_CHECKING:
    from types import ModuleType

_CONSOLE = "console"
_HOOK = "hook"
_USE_UTF_8 = "Use a UTF-8 locale, for example `LANG=C.UTF-8 aileron-tui …`."


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == [_HOOK] and words[1:] not in (["-h"], ["--help"]):
        return _run_hook(words[1:], exits=argv is None)
    if not prepare_streams():
        _print_error("standard output is closed", "", "Redirect it to /dev/null if you do not need it.")
        return FAILED
    try:
        try:
            return _dispatch(words)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # the reader is gone: do not flush at exit
        return FAILED
    except UnicodeError:
        _print_error("text could not be encoded", f"the encoding of your locale is {sys.stdout.encoding}", _USE_UTF_8)
        return FAILED
    except OSError as error:
        _print_error(error.strerror or str(error))
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
        stream = "output" if sys.stdin.isatty() else "input"
        sys.stderr.write(f"error: the console needs a terminal; standard {stream} is not one\n\n{_overview()}")
        return USAGE
    if not words or words[0].startswith("-"):
        return _run(_CONSOLE, words)
    if words[0] not in COMMANDS:
        return _unknown_command(words[0])
    return _run(words[0], words[1:])


def _run_hook(words: list[str], exits: bool) -> int:
    """Runs a hook, which refuses whatever goes wrong, even if it cannot be loaded or the program cannot end cleanly."""
    code = USAGE
    try:
        from aileron_tui.cli.commands.hook import run  # noqa: PLC0415

        code = run(words)
    except BaseException:  # noqa: BLE001  # any other exit would let the call run
        os.write(2, b"aileron-tui: the hook cannot be loaded, so the call was not run. Install aileron-tui again.\n")
    finally:
        if exits:
            os._exit(code)
    return code


def _run(command: str, words: list[str]) -> int:
    from importlib import import_module  # noqa: PLC0415  # `--version` must be instant

    from aileron_tui.core.errors import AileronError  # noqa: PLC0415

    module = import_module(f"aileron_tui.cli.commands.{command.replace('-', '_')}")
    try:
        code: int = module.run(_options(command, module, words))
    except AileronError as error:
        _print_error(error.title, error.detail, error.hint)
        return FAILED
    return code


def _options(command: str, module: "ModuleType", words: list[str]) -> object:
    """The parsed options. Without any, the console gets its defaults, so that no parser is loaded."""
    if command == _CONSOLE and not words:
        return module.DEFAULTS
    from aileron_tui.cli.parser import Parser  # noqa: PLC0415

    name = "aileron-tui" if command == _CONSOLE else f"aileron-tui {command}"
    parser = Parser(name, description=module.__doc__)
    module.arguments(parser)
    if not getattr(module, "TAKES_COMMAND", False) or "--" not in words:
        return parser.parse_args(words)
    # The parser would take the words of a command for its own.
    end = words.index("--")
    options = parser.parse_args(words[:end])
    options.command = words[end + 1 :]
    return options


def _overview() -> str:
    rows = "".join(f"  {name:<10} {words}\n" for name, words in COMMANDS.items())
    return (
        "Approve or deny what AI agents are about to do.\n\n"
        "usage: aileron-tui [--url U] [--token-file FILE] [--standalone] [--manifests DIR] [--key NAME] [--read-only]\n"
        "                   [--theme T]\n"
        "         opens the console: on the daemon or gate at U, else on the configured sources, else on the daemon\n"
        "         or gate that runs here, else with an embedded gate\n"
        f"       aileron-tui COMMAND …\n\n{rows}\n"
        "  --version  print the version\n\n"
        "Use `aileron-tui COMMAND --help` for more about a command.\n"
    )


def _unknown_command(word: str) -> int:
    from aileron_tui.core.toml_schema import nearest  # noqa: PLC0415
    from aileron_tui.core.visible_text import inline  # noqa: PLC0415

    close = nearest(word, list(COMMANDS))
    hint = f'Did you mean "{close}"?' if close else "Use `aileron-tui --help` for a list of commands."
    sys.stderr.write(f'error: unknown command "{inline(word)}"\n  {hint}\n')
    return USAGE


def _print_error(title: str, *details: str) -> None:
    from contextlib import suppress  # noqa: PLC0415

    from aileron_tui.cli.output import write_error  # noqa: PLC0415

    with suppress(OSError):  # nobody reads it
        write_error(title, *details)
