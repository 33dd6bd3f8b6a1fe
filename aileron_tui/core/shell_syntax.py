"""The shell syntax that is taken apart: kinds of node of tree-sitter's grammar, and texts that evaluate nothing.

Every list here is an allow-list. What is not in it makes a command one that cannot be taken apart.
"""

import re
import unicodedata
from typing import Final

_BODIES: Final = """
    program list pipeline subshell compound_statement negated_command redirected_statement command_substitution
    process_substitution if_statement elif_clause else_clause while_statement do_group for_statement"""
_WORDS: Final = """
    word string raw_string ansi_c_string concatenation simple_expansion expansion number command_substitution
    process_substitution arithmetic_expansion brace_expression"""
_STATEMENTS: Final = "command variable_assignment declaration_command unset_command test_command"
_TOKENS: Final = "&& || | |& ; & ( ) { } $( ` <( >( ! if then elif else fi while until for in do done"
_OPERATORS: Final = "< > >> >| &> &>> <& >& <&- >&-"
_RESERVED: Final = """
    ! { } [[ ]] (( )) if then else elif fi case esac for select while until do done in function coproc repeat foreach
    end always nocorrect noglob begin switch"""

BODIES: Final = frozenset(_BODIES.split())
"""Kinds of node that consist of other statements."""

STATEMENTS: Final = frozenset(_STATEMENTS.split())
WORDS: Final = frozenset(_WORDS.split())
TOKENS: Final = frozenset([*_TOKENS.split(), "\n"])
OPERATORS: Final = frozenset(_OPERATORS.split())
RESERVED: Final = frozenset(_RESERVED.split())

_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_EXPANSION: Final = re.compile(
    rf"""\$(?:{_VARIABLE}|[0-9@*\#?$!-]|\{{
    (?:[0-9@*\#?$!-]|[\#!]?{_VARIABLE}(?:\[(?:[@*]|[0-9]+)\])?)
    (?:(?::?[-+=?]|\#\#?|%%?|//?|\^\^?|,,?)[\w\ ./:%*?=+~,-]*|:[0-9]+(?::[0-9]+)?)?\}})""",
    re.VERBOSE | re.ASCII,
)
_NAME: Final = re.compile(_VARIABLE)
_ARITHMETIC: Final = re.compile(r"\$\(\([0-9 +*/%()-]*\)\)")
_TESTED: Final = r"""(?:"[\w $./:~+-]*"|'[\w ./:~+-]*'|[\w$./:~+-]+)"""
_TEST: Final = re.compile(
    rf"""\[(?P<double>\[)?[ \t]+(?:![ \t]+)?
    (?:-[fdezsnrwxLhpS][ \t]+{_TESTED}|{_TESTED}(?:[ \t]+(?:==?|!=)[ \t]+{_TESTED})?)
    [ \t]+(?(double)\]\]|\])""".replace("\n    ", ""),
    re.ASCII,
)
_DELIMITER: Final = re.compile(r"""(['"]|\\?)([A-Za-z_][A-Za-z0-9_]*)(['"]?)""")
_EVALUATED: Final = re.compile(rf"[`\\]|\$(?!{_VARIABLE}|[\s.,:;%)\]\"'/-]|\Z)")
_ODD: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"))


def is_odd(character: str) -> bool:
    """Whether shells or people may read a character in another way than the grammar does."""
    return character not in " \n\t" and unicodedata.category(character) in _ODD


def is_plain_expansion(text: str) -> bool:
    """Whether `$…` only stands for the value of a variable, or a part of it, and evaluates nothing."""
    return bool(_EXPANSION.fullmatch(text))


def is_plain_name(text: str) -> bool:
    """Whether a text is the name of a variable."""
    return bool(_NAME.fullmatch(text))


def is_plain_arithmetic(text: str) -> bool:
    """Whether `$((…))` has only digits. Names in it would be evaluated, and may run commands."""
    return bool(_ARITHMETIC.fullmatch(text))


def is_plain_test(text: str) -> bool:
    """Whether `[ … ]` only looks at a file or compares texts. Numbers and `-v` evaluate what they are given."""
    return bool(_TEST.fullmatch(text))


def heredoc_problem(start: str, body: str, end: str, *, strips_tabs: bool) -> str:
    """Why a heredoc may do more than pass on its text, or "". The grammar may end it elsewhere than a shell does."""
    found = _DELIMITER.fullmatch(start)
    if found is None or (found[1] if found[1] != "\\" else "") != found[3]:
        return "the end of a heredoc is not certain"
    lines = body.split("\n")
    if found[2] in ([line.lstrip("\t") for line in lines] if strips_tabs else lines):
        return "the end of a heredoc is not certain"
    if (end.lstrip("\t") if strips_tabs else end) != found[2]:
        return "the end of a heredoc is not certain"
    if not found[1] and _EVALUATED.search(body):
        return "the text of a heredoc may run commands"
    return ""
