r"""Shell commands taken apart: the programs that run, their words, assignments and redirections.

tree-sitter's grammar for bash is used as an allow-list. A command counts as taken apart only if it consists of known
kinds of node, every character belongs to one of them, and none of the places occurs where bash runs something that the
grammar does not show: heredocs whose text is expanded, `${…}` and `$((…))` that evaluate more than a name, subscripts,
`[[ -v … ]]`, `coproc`. Everything else has a `problem`, and the caller must expect anything of it.

What this cannot know: aliases and functions of the shell, and which file a name leads to.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from aileron_tui.core.shell_words import ShellWord, UnknownSyntax, is_plain_expansion, plain_text, quoted_text
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST_COMMAND: Final = 64 * 1024
_MOST_PARTS: Final = 2000

_TOO_LONG: Final = "it is longer than 64 KiB"
_ODD_CHARACTERS: Final = "it has control characters or unusual blanks"
_NOT_UNDERSTOOD: Final = "it is not plain shell"
_HEREDOC: Final = "the text of a heredoc may run commands"
_EXPANSION: Final = "an expansion may run commands"
_TOO_MANY: Final = "it has too many parts"

_BODIES: Final = frozenset(
    [
        "program",
        "list",
        "pipeline",
        "subshell",
        "compound_statement",
        "negated_command",
        "redirected_statement",
        "command_substitution",
        "process_substitution",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "do_group",
        "for_statement",
    ]
)
_WORDS: Final = frozenset(
    [
        "word",
        "string",
        "raw_string",
        "ansi_c_string",
        "concatenation",
        "simple_expansion",
        "expansion",
        "number",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "brace_expression",
    ]
)
_TOKENS: Final = frozenset(
    [
        "&&",
        "||",
        "|",
        "|&",
        ";",
        "&",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "`",
        "<(",
        ">(",
        "!",
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "while",
        "until",
        "for",
        "in",
        "do",
        "done",
        "\n",
    ]
)
_OPERATORS: Final = frozenset(["<", ">", ">>", ">|", "&>", "&>>", "<&", ">&", "<&-", ">&-"])
_RESERVED: Final = frozenset(
    [
        "!",
        "{",
        "}",
        "[[",
        "]]",
        "((",
        "))",
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "case",
        "esac",
        "for",
        "select",
        "while",
        "until",
        "do",
        "done",
        "in",
        "function",
        "coproc",
        "repeat",
        "foreach",
        "end",
        "always",
        "nocorrect",
        "noglob",
        "begin",
        "switch",
    ]
)
_GAP: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_JOINED: Final = re.compile(r"[^ \t\n]\\\n[^ \t\n]")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DELIMITER: Final = re.compile(r"""(['"]?)\\?([A-Za-z_][A-Za-z0-9_]*)\1""")
_ACTIVE: Final = re.compile(r"[`\\]|\$(?![A-Za-z_]\w*|[\s.,:;%)\]\"'/-]|$)")
_TESTED: Final = r"""(?:"[\w $./:~+-]*"|'[\w ./:~+-]*'|[\w$./:~+-]+)"""
_TEST: Final = re.compile(
    rf"\[(?P<double>\[)?[ \t]+(?:![ \t]+)?(?:-[fdezsnrwxLhpS][ \t]+{_TESTED}|{_TESTED}(?:[ \t]+(?:==?|!=)[ \t]+{_TESTED})?)"
    r"[ \t]+(?(double)\]\]|\])"
)
_DIGITS_ONLY: Final = re.compile(r"\$\(\([0-9 +*/%()-]*\)\)")


@dataclass(frozen=True, slots=True)
class Redirection:
    """A redirection of input or output. `target` is a file, or a descriptor after `>&` and `<&`."""

    operator: str
    target: ShellWord

    @property
    def writes(self) -> bool:
        """Whether a file may be written. `>&2` and `2>&-` only name descriptors."""
        if self.operator in ("<", "<&", "<<<", "<<") or self.operator.endswith("&-"):
            return False
        return not (self.operator == ">&" and self.target.is_known and self.target.text.rstrip("-").isdigit())


@dataclass(frozen=True, slots=True)
class ShellPart:
    """One simple command of a composition. `text` is how it is written; `words` are empty if it only assigns.

    `is_nested` means that it runs inside a substitution, so that its output becomes part of another command.
    """

    text: str
    words: tuple[ShellWord, ...] = ()
    assignments: tuple[tuple[str, ShellWord], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    is_nested: bool = False


@dataclass(frozen=True, slots=True)
class ShellParts:
    """A command taken apart. `problem` says why it could not be, in words; then `parts` may be incomplete."""

    parts: tuple[ShellPart, ...] = ()
    problem: str = ""
    has_heredoc: bool = False


def take_apart(command: str) -> ShellParts:
    """Takes a command apart. Never raises; what is not understood has a `problem`."""
    if len(command) > LONGEST_COMMAND:
        return ShellParts(problem=_TOO_LONG)
    if any(map(_is_odd, set(command))):
        return ShellParts(problem=_ODD_CHARACTERS)
    if _JOINED.search(command):
        return ShellParts(problem="a backslash at the end of a line joins words")
    reader = _Reader(command.encode())
    try:
        reader.read()
    except UnknownSyntax as error:
        return ShellParts(tuple(reader.parts), str(error) or _NOT_UNDERSTOOD, reader.has_heredoc)
    return ShellParts(tuple(reader.parts), has_heredoc=reader.has_heredoc)


def _is_odd(character: str) -> bool:
    """Whether shells or people may read a character in another way than the grammar does."""
    return character not in " \n\t" and unicodedata.category(character) in (
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Zs",
        "Zl",
        "Zp",
    )


@cache
def _parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415  # only prompts of shell tools need it
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


class _Reader:
    """Collects the parts of one command, without recursion into nested commands."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.parts: list[ShellPart] = []
        self.has_heredoc = False
        self._waiting: list[tuple[Node, bool, tuple[Redirection, ...]]] = []

    def read(self) -> None:
        root = _parser().parse(self.source).root_node
        self._waiting = [(root, False, ())]
        self._check_gap(0, root.start_byte)
        self._check_gap(root.end_byte, len(self.source))
        broken = root.has_error
        while self._waiting:
            node, nested, redirections = self._waiting.pop()
            self._read_node(node, nested, redirections)
            if len(self.parts) > _MOST_PARTS:
                raise UnknownSyntax(_TOO_MANY)
        if broken:
            raise UnknownSyntax
        self.parts.sort(key=lambda part: part.is_nested)

    def _read_node(self, node: "Node", nested: bool, redirections: tuple[Redirection, ...]) -> None:
        match node.type:
            case "command":
                self._read_command(node, nested, redirections)
            case "variable_assignment":
                self._add(node, nested, redirections, assignments=(self._assignment(node, nested),))
            case "declaration_command" | "unset_command":
                self._read_declaration(node, nested, redirections)
            case "test_command":
                if not _TEST.fullmatch(self._text(node)):
                    raise UnknownSyntax(_EXPANSION)
                self._add(node, nested, redirections, (ShellWord("test"),))
            case kind if kind in _BODIES:
                self._read_body(node, nested or kind.endswith("substitution"), redirections)
            case _:
                raise UnknownSyntax

    def _read_body(self, node: "Node", nested: bool, redirections: tuple[Redirection, ...]) -> None:
        """Reads a statement that consists of others. A redirection of the whole counts for its last command."""
        if node.type == "command_substitution" and self._text(node).startswith("`") and "\\" in self._text(node):
            raise UnknownSyntax(_EXPANSION)
        inner: list[Node] = []
        own: list[Redirection] = []
        for child in self._children(node):
            if child.type in _BODIES or child.type in _STATEMENTS:
                inner.append(child)
            elif child.type.endswith("redirect"):
                own.extend(self._redirections(child, nested, inner))
            elif child.type in _WORDS and node.type == "for_statement":
                self._word(child, nested)
            elif child.type == "comment":
                self._check_comment(child)
            elif child.type == "variable_name" and node.type == "for_statement":
                continue
            elif child.is_named or child.type not in _TOKENS:
                raise UnknownSyntax
        found = (*redirections, *own)
        if found and not inner:
            self._add(node, nested, found)
        for number, child in enumerate(reversed(inner)):
            self._waiting.append((child, nested, found if number == len(inner) - 1 else ()))

    def _read_command(self, node: "Node", nested: bool, redirections: tuple[Redirection, ...]) -> None:
        words: list[ShellWord] = []
        assignments: list[tuple[str, ShellWord]] = []
        own = list(redirections)
        for child in self._children(node):
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, nested))
            elif child.type == "command_name":
                (name,) = self._children(child)
                words.append(self._word(name, nested))
                if words[0].is_known and name.type == "word" and words[0].text in _RESERVED:
                    raise UnknownSyntax
            elif child.type in _WORDS:
                words.append(self._word(child, nested))
            elif child.type.endswith("redirect"):
                own.extend(self._redirections(child, nested, []))
            else:
                raise UnknownSyntax
        self._add(node, nested, tuple(own), tuple(words), tuple(assignments))

    def _read_declaration(self, node: "Node", nested: bool, redirections: tuple[Redirection, ...]) -> None:
        """`export`, `readonly`, `local` and `unset` with plain names. `declare` may evaluate what it assigns."""
        first, *rest = self._children(node)
        if first.type not in ("export", "readonly", "local", "unset"):
            raise UnknownSyntax(_EXPANSION)
        words = [ShellWord(first.type)]
        assignments = []
        for child in rest:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, nested))
            elif child.type in ("variable_name", "word") and _NAME.fullmatch(self._text(child)):
                words.append(ShellWord(self._text(child)))
            else:
                raise UnknownSyntax(_EXPANSION)
        self._add(node, nested, redirections, tuple(words), tuple(assignments))

    def _assignment(self, node: "Node", nested: bool) -> tuple[str, ShellWord]:
        name, operator, *values = self._children(node)
        if name.type != "variable_name" or operator.type not in ("=", "+=") or len(values) > 1:
            raise UnknownSyntax(_EXPANSION)
        if not values:
            return self._text(name), ShellWord("")
        if values[0].type == "array":
            for child in self._children(values[0]):
                if child.type in _WORDS:
                    self._word(child, nested)
                elif child.type not in ("(", ")"):
                    raise UnknownSyntax
            return self._text(name), ShellWord("", is_known=False)
        return self._text(name), self._word(values[0], nested)

    def _redirections(self, node: "Node", nested: bool, inner: "list[Node]") -> Iterator[Redirection]:
        """The redirections in a node. Commands that follow a heredoc on its line are added to `inner`."""
        if node.type == "heredoc_redirect":
            yield from self._heredoc(node, nested, inner)
            return
        operator = ""
        target: ShellWord | None = None
        for child in self._children(node):
            if child.type in _OPERATORS or child.type == "<<<":
                operator = child.type
            elif child.type in _WORDS and target is None:
                target = self._word(child, nested)
            elif child.type != "file_descriptor":
                raise UnknownSyntax
        if not operator or (target is None and not operator.endswith("-")):
            raise UnknownSyntax
        yield Redirection(operator, target or ShellWord(""))

    def _heredoc(self, node: "Node", nested: bool, inner: "list[Node]") -> Iterator[Redirection]:
        self.has_heredoc = True
        start = body = end = ""
        strip = False
        for child in self._children(node):
            match child.type:
                case "<<" | "<<-":
                    strip = child.type == "<<-"
                case "heredoc_start":
                    start = self._text(child)
                case "heredoc_body":
                    body = self._text(child)
                case "heredoc_end":
                    end = self._text(child)
                case "file_redirect" | "herestring_redirect":
                    yield from self._redirections(child, nested, inner)
                case "pipeline" | "list" | "command":
                    inner.append(child)
                case "&&" | "||" | ";" | "|":
                    pass
                case _:
                    raise UnknownSyntax(_HEREDOC)
        found = _DELIMITER.fullmatch(start)
        if found is None or (strip and not found[1]):
            raise UnknownSyntax(_HEREDOC)
        lines = [line.lstrip("\t") if strip else line for line in body.split("\n")]
        if found[2] in lines or end.strip(" \t" if strip else "") != found[2]:
            raise UnknownSyntax(_HEREDOC)
        if start == found[2] and _ACTIVE.search(body):
            raise UnknownSyntax(_HEREDOC)
        if self.source.count(b"<<", node.start_byte, self._end_of_line(node.start_byte)) > 1:
            raise UnknownSyntax(_HEREDOC)
        yield Redirection("<<", ShellWord(""))

    def _word(self, node: "Node", nested: bool) -> ShellWord:
        """A word as the shell passes it on, as far as that is known. Commands in it are left to be read."""
        text = self._text(node)
        match node.type:
            case "word" | "number":
                return plain_text(text)
            case "raw_string":
                return ShellWord(text[1:-1])
            case "ansi_c_string":
                return ShellWord(text[2:-1]) if "\\" not in text else ShellWord("", is_known=False, is_one=True)
            case "brace_expression":
                return ShellWord("", is_known=False)
            case "simple_expansion" | "expansion":
                if not is_plain_expansion(text):
                    raise UnknownSyntax(_EXPANSION)
                return ShellWord("", is_known=False)
            case "arithmetic_expansion":
                if not _DIGITS_ONLY.fullmatch(text):
                    raise UnknownSyntax(_EXPANSION)
                return ShellWord("", is_known=False)
            case "command_substitution" | "process_substitution":
                self._waiting.append((node, True, ()))
                return ShellWord("", is_known=False)
            case "string":
                return self._string(node, text, nested)
            case "concatenation":
                return self._joined(node, nested)
            case _:
                raise UnknownSyntax

    def _string(self, node: "Node", text: str, nested: bool) -> ShellWord:
        if "$" not in text and "`" not in text:
            return ShellWord(quoted_text(text[1:-1]))
        prefix = re.split(r"[$`\\]", text[1:-1], maxsplit=1)[0]
        for child in self._children(node):
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                self._word(child, nested)
            elif child.type not in ("string_content", '"', "$"):
                raise UnknownSyntax
            elif child.type == "string_content" and re.search(r"(?<!\\)`|(?<!\\)\$[({]", self._text(child)):
                raise UnknownSyntax(_EXPANSION)
        return ShellWord(prefix, is_known=False, is_one="$@" not in text and "[@]" not in text)

    def _joined(self, node: "Node", nested: bool) -> ShellWord:
        """A word of several pieces. `{a,b}` in it makes several words, which are not known."""
        pieces = [self._word(child, nested) for child in self._children(node)]
        if any(child.type == "word" and re.search(r"(?<!\\)[{}]", self._text(child)) for child in node.children):
            return ShellWord("", is_known=False)
        text = ""
        for piece in pieces:
            text += piece.text
            if not piece.is_known:
                return ShellWord(text, is_known=False, is_one=all(one.is_known or one.is_one for one in pieces))
        return ShellWord(text, has_pattern=any(piece.has_pattern for piece in pieces))

    def _add(
        self,
        node: "Node",
        nested: bool,
        redirections: tuple[Redirection, ...],
        words: tuple[ShellWord, ...] = (),
        assignments: tuple[tuple[str, ShellWord], ...] = (),
    ) -> None:
        self.parts.append(ShellPart(self._text(node), words, assignments, redirections, nested))

    def _children(self, node: "Node") -> "list[Node]":
        """The children of a node, which must cover it but for blanks. Strings have blanks of their own."""
        end = node.start_byte
        children = node.children
        for child in children:
            self._check_gap(end, child.start_byte)
            end = child.end_byte
        self._check_gap(end, node.end_byte)
        return children

    def _check_gap(self, start: int, end: int) -> None:
        if start < end and not _GAP.fullmatch(self.source, start, end):
            raise UnknownSyntax

    def _check_comment(self, node: "Node") -> None:
        if node.start_byte and self.source[node.start_byte - 1 : node.start_byte] not in (b" ", b"\t", b"\n", b";"):
            raise UnknownSyntax

    def _end_of_line(self, position: int) -> int:
        found = self.source.find(b"\n", position)
        return found if found >= 0 else len(self.source)

    def _text(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")


_STATEMENTS: Final = frozenset(
    ("command", "variable_assignment", "declaration_command", "unset_command", "test_command")
)
