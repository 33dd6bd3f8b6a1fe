r"""Shell commands so simple that their arguments are known without running a shell.

The accepted language is tiny, so this is a small lexer of its own and not a shell grammar such as tree-sitter's: it
accepts what it knows and refuses everything else. Accepted are words of safe ASCII characters and of quoted text,
joined by `&&`, `||` and `;`. POSIX shells, bash and zsh read all of these in the same way.

- A pipe is refused because it feeds one command's output to the next: two commands that are harmless by themselves may
  not be harmless together (`echo TEXT | python3`).
- Refused as the first word: programs that run another program, builtins that change the shell for what follows (`cd`,
  `export`) and builtins that evaluate their arguments (`test`, `printf`).
- Shells differ about `!` and `\` inside quotes and about quotes that touch each other, so these are refused too.

What this cannot know: aliases and functions of the shell that will run the command, and which file a program's name or
a path leads to. The caller resolves paths.
"""

import re
from typing import Final

LONGEST_PLAIN_COMMAND: Final = 4096

_PIECE: Final = re.compile(
    r"""
    (?P<space> [ ]+ )
    | (?P<operator> && | \|\| | ; )
    | (?P<bare> [A-Za-z0-9_./:,@%+=-]+ )
    | ' (?P<single> (?: (?!['\\!]) [ -~] )+ ) '
    | " (?P<double> (?: (?!["\\!$`]) [ -~] )+ ) "
    """,
    re.VERBOSE,
)
# zsh replaces `=ls` by its path; `%1` is a job.
_NOT_AT_THE_START: Final = ("=", "%")
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*")

_RESERVED_WORDS: Final = """
    if then else elif fi case esac for select while until do done in function time coproc
    repeat foreach end always nocorrect noglob and or not begin switch"""

_RUNNERS_OF_PROGRAMS: Final = """
    env xargs timeout gtimeout nohup sudo sudoedit doas su runuser pkexec nice ionice chrt taskset numactl stdbuf
    unbuffer setsid setpriv setarch linux chroot unshare nsenter bwrap firejail systemd-run cgexec prlimit flock script
    expect rlwrap watch entr parallel strace ltrace gdb valgrind perf time gtime faketime fakeroot caffeinate
    proxychains torsocks tini dumb-init start-stop-daemon busybox toybox at batch ssh-agent
    sh ash bash dash rbash ksh mksh zsh rzsh csh tcsh fish elvish nu xonsh pwsh powershell cmd"""

_BUILTINS: Final = """
    . : [ alias autoload bg bind bindkey break builtin bye caller cd chdir command compgen complete compopt continue
    declare dirs disable disown echotc echoti emulate enable eval exec exit export fc fg float functions getln getopts
    hash help history integer jobs kill let limit local logout mapfile popd print printf pushd pushln r read readarray
    readonly rehash return sched set setopt shift shopt source suspend test times trap ttyctl type typeset ulimit umask
    unalias unfunction unhash unlimit unset unsetopt vared wait whence where zcompile zformat zle zmodload zparseopts
    zregexparse zstyle"""

_REFUSED_PROGRAMS: Final = frozenset(["", "..", *f"{_RESERVED_WORDS} {_RUNNERS_OF_PROGRAMS} {_BUILTINS}".split()])
# `bash5.2` is bash; some file systems ignore case, and some add `.exe`.
_VERSION: Final = re.compile(r"[0-9.-]*(\.exe)?$")


def plain_commands(text: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the arguments of each command in `text`, or None if `text` is not plain.

    Every command must be allowed by itself, and only exactly: a program may write files if given another flag.
    """
    if len(text) > LONGEST_PLAIN_COMMAND:
        return None
    commands: list[tuple[str, ...]] = []
    words: list[str] = []
    in_word = after_quote = False
    position = 0
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            return None
        position = piece.end()
        if piece["space"]:
            in_word = False
        elif piece["operator"]:
            if not _may_run(words):
                return None
            commands.append(tuple(words))
            words, in_word = [], False
        else:
            is_quoted = piece["bare"] is None
            if in_word and is_quoted and after_quote:
                return None
            if not in_word and piece[0].startswith(_NOT_AT_THE_START):
                return None
            value = piece["bare"] or piece["single"] or piece["double"]
            if in_word:
                words[-1] += value
            else:
                words.append(value)
            in_word, after_quote = True, is_quoted
    if not _may_run(words):
        return None
    return (*commands, tuple(words))


def _may_run(words: list[str]) -> bool:
    """Tell whether the first of `words` is the program that runs, and nothing else decides what it does."""
    if not words or not _PROGRAM.fullmatch(words[0]):
        return False
    name = words[0].rpartition("/")[2].lower()
    return name not in _REFUSED_PROGRAMS and _VERSION.sub("", name) not in _REFUSED_PROGRAMS
