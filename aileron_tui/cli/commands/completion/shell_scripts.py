"""Completion scripts for shells, made from the table of commands. They only complete words, and run nothing."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from aileron_tui.cli.commands.completion.command_table import Argument, CommandHelp

Table = tuple[CommandHelp, ...]

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*|--?[a-z][a-z0-9-]*")


def script(shell: str, table: Table) -> str:
    """The script for one of `SHELLS`."""
    return "".join(SHELLS[shell](table))


def _words(command: CommandHelp) -> list[str]:
    """What can follow a command: its subcommands, its options, and the choices of what follows them."""
    options = [name for option in command.options for name in option.names if name.startswith("--")]
    choices = [choice for argument in command.arguments if not argument.names for choice in argument.choices]
    return [_checked(word) for word in (*(name for name, _ in command.subcommands), *choices, *options)]


def _checked(word: str) -> str:
    """A word that means nothing else to any shell."""
    if not _PLAIN.fullmatch(word):
        raise ValueError(f"{word!r} is not a plain word")
    return word


def _places(table: Table) -> str:
    """The patterns of all words that lead to another command, after the command they follow."""
    return "|".join(f"'{' '.join(command.words[:-1])} {command.words[-1]}'" for command in table if command.words)


def _valued(table: Table) -> Iterator[tuple[CommandHelp, Argument, str]]:
    """The options that have a value, by each of their names."""
    for command in table:
        for option in command.options:
            if option.value:
                yield from ((command, option, _checked(name)) for name in option.names)


def _bash(table: Table) -> Iterator[str]:
    yield (
        "# Load it with: source <(aileron-tui completion bash)\n"
        "_aileron_tui() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} place='' word words=''\n"
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do\n'
        f'        case "$place $word" in {_places(table)}) place="${{place:+$place }}$word" ;; esac\n'
        "    done\n"
        "    COMPREPLY=()\n"
        '    case "$place $before" in\n'
    )
    for command, option, name in _valued(table):
        reply = f'COMPREPLY=($(compgen -W "{" ".join(map(_checked, option.choices))}" -- "$current")); '
        yield f"        '{' '.join(command.words)} {name}') {reply if option.choices else ''}return ;;\n"
    yield '    esac\n    case "$place" in\n'
    for command in table:
        yield f"        '{' '.join(command.words)}') words='{' '.join(_words(command))}' ;;\n"
    yield (
        "    esac\n"
        '    COMPREPLY=($(compgen -W "$words" -- "$current"))\n'
        "}\n"
        "complete -o default -F _aileron_tui aileron-tui\n"
    )


def _zsh(table: Table) -> Iterator[str]:
    yield (
        "#compdef aileron-tui\n"
        "# Load it with: source <(aileron-tui completion zsh), after compinit; or store it as _aileron-tui in $fpath.\n"
        "_aileron_tui() {\n"
        "    local place='' word before=$words[CURRENT-1]\n"
        "    local -a found\n"
        "    for word in ${words[2,CURRENT-1]}; do\n"
        f'        case "$place $word" in {_places(table)}) place="${{place:+$place }}$word" ;; esac\n'
        "    done\n"
        '    case "$place $before" in\n'
    )
    for command, option, name in _valued(table):
        then = f"compadd -- {' '.join(map(_checked, option.choices))}" if option.choices else "_files"
        yield f"        '{' '.join(command.words)} {name}') {then}; return ;;\n"
    yield '    esac\n    case "$place" in\n'
    for command in table:
        described = dict(command.subcommands) | {
            name: option.help for option in command.options for name in option.names if name.startswith("--")
        }
        rows = " ".join(_quoted(f"{word}:{_brief(described.get(word, ''))}") for word in _words(command))
        files = "; [[ $PREFIX == -* ]] || _files" if command.takes_path else ""
        yield f"        '{' '.join(command.words)}') found=({rows}); _describe 'aileron-tui' found{files} ;;\n"
    yield (
        "    esac\n"
        "}\n"
        'if [ "$funcstack[1]" = "_aileron-tui" ]; then _aileron_tui "$@"; else compdef _aileron_tui aileron-tui; fi\n'
    )


def _fish(table: Table) -> Iterator[str]:
    cases = " ".join(_places(table).split("|"))
    yield (
        "# Load it with: aileron-tui completion fish | source\n"
        "function __aileron_tui_at\n"
        "    set -l place ''\n"
        "    for word in (commandline -opc)[2..-1]\n"
        '        switch "$place $word"\n'
        f"            case {cases}\n"
        '                set place (string trim -- "$place $word")\n'
        "        end\n"
        "    end\n"
        '    test "$place" = "$argv[1]"\n'
        "end\n"
        "complete -c aileron-tui -f\n"
    )
    for command in table:
        start = f"complete -c aileron-tui -n \"__aileron_tui_at '{' '.join(command.words)}'\""
        for name, words in command.subcommands:
            yield f"{start} -a {_checked(name)} -d {_quoted(_brief(words))}\n"
        for argument in command.arguments:
            values = " ".join(map(_checked, argument.choices))
            if not argument.names and argument.choices:
                yield f"{start} -a '{values}'\n"
            elif argument.names:
                names = " ".join(f"-l {_checked(name)[2:]}" for name in argument.names if name.startswith("--"))
                takes = f" -x -a '{values}'" if values else " -r -F" if argument.is_path else " -x"
                yield f"{start} {names}{takes if argument.value else ''} -d {_quoted(_brief(argument.help))}\n"
        if command.takes_path:
            yield f"{start} -F\n"


def _brief(words: str) -> str:
    """The first part of a help text, without what separates words and descriptions in zsh."""
    return words.split(";", maxsplit=1)[0].replace(":", ",")


def _quoted(text: str) -> str:
    """A text in single quotes, which all three shells read alike as long as it has neither quotes nor backslashes."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"


SHELLS: Final[Mapping[str, Callable[[Table], Iterator[str]]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
