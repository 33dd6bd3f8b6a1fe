r"""Shell commands taken apart: the programs that run, their words, assignments and redirections.

tree-sitter's grammar for bash is used as an allow-list. A command counts as taken apart only if it consists of known
kinds of node, every character belongs to one of them, and none of the places occurs where bash runs something that the
grammar does not show: heredocs whose text is expanded, `${…}` and `$((…))` that evaluate more than a name, subscripts,
`[[ -v … ]]`, `coproc`. Everything else has a `problem`, and the caller must expect anything of it.

What this cannot know: aliases and functions of the shell, and which file a name leads to.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from aileron_tui.core.shell_syntax import (
    BODIES,
    OPERATORS,
    RESERVED,
    STATEMENTS,
    TOKENS,
    WORDS,
    heredoc_problem,
    is_odd,
    is_plain_arithmetic,
    is_plain_expansion,
    is_plain_name,
    is_plain_test,
)
from aileron_tui.core.shell_words import ShellWord, UnknownSyntax, plain_text, quoted_text
from aileron_tui.core.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST_COMMAND: Final = 64 * 1024
_MOST_PARTS: Final = 500
_MOST_NODES: Final = 5000
_DEEPEST: Final = 40
_LONGEST_TEXT: Final = 400

_NOT_UNDERSTOOD: Final = "it is not plain shell"
_EXPANSION: Final = "an expansion may run commands"

_WITH_BLANKS: Final = frozenset(("command", "for_statement", "array", "declaration_command", "unset_command"))
"""Kinds of node whose words have blanks between them."""

_ONE_LINE: Final = frozenset(
    ("command", "command_name", "declaration_command", "unset_command", "variable_assignment", "redirected_statement")
)
"""Kinds of node that a newline ends, even where the grammar goes on after `\\`."""

_LINE_GAP: Final = re.compile(rb"(?:[ \t]|\\\n)*")
_GAP: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_JOINED: Final = re.compile(r"[^ \t\n]\\\n[^ \t\n]")
_BRACE: Final = re.compile(r"[{}]")
_HIDDEN: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[({\[])")
_SPECIAL_IN_QUOTES: Final = re.compile(r"[$`\\]")


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
    """The command `text` taken apart. `problem` says why it could not be, in words; then `parts` may be incomplete."""

    text: str
    parts: tuple[ShellPart, ...] = ()
    problem: str = ""
    has_heredoc: bool = False


@lru_cache(maxsize=16)
def take_apart(command: str) -> ShellParts:
    """Takes a command apart. Never raises; what is not understood has a `problem`."""
    if len(command) > LONGEST_COMMAND:
        return ShellParts(command, problem="it is longer than 64 KiB")
    if any(map(is_odd, set(command))):
        return ShellParts(command, problem="it has control characters or unusual blanks")
    if _JOINED.search(command):
        return ShellParts(command, problem="a backslash at the end of a line joins words")
    reader = _Reader(command.encode())
    problem = ""
    try:
        reader.read()
    except UnknownSyntax as error:
        problem = str(error) or _NOT_UNDERSTOOD
    found = sorted(reader.found, key=lambda place_and_part: place_and_part[0])
    return ShellParts(command, tuple(part for _, part in found), problem, reader.has_heredoc)


@cache
def _parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415  # only prompts of shell tools need it
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _is_word(node: "Node") -> bool:
    return node.type in WORDS or node.type in ("command_name", "variable_assignment", "variable_name")


class _Reader:
    """Collects the parts of one command with their places, without recursion into nested commands."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.found: list[tuple[int, ShellPart]] = []
        self.has_heredoc = False
        # Nodes to read, each with the number of substitutions around it and the redirections that count for it.
        self._waiting: list[tuple[Node, int, tuple[Redirection, ...]]] = []

    def read(self) -> None:
        """Reads everything. Raises UnknownSyntax where the command cannot be taken apart."""
        root = _parser().parse(self.source).root_node
        self._waiting = [(root, 0, ())]
        self._check_gap(0, root.start_byte)
        self._check_gap(root.end_byte, len(self.source))
        for _ in range(_MOST_NODES):
            if not self._waiting:
                break
            node, depth, redirections = self._waiting.pop()
            if depth > _DEEPEST or len(self.found) > _MOST_PARTS:
                raise UnknownSyntax("it has too many parts")
            self._read_node(node, depth, redirections)
        if self._waiting:
            raise UnknownSyntax("it has too many parts")
        if root.has_error:
            raise UnknownSyntax

    def _read_node(self, node: "Node", depth: int, redirections: tuple[Redirection, ...]) -> None:
        match node.type:
            case "command":
                self._read_command(node, depth, redirections)
            case "variable_assignment":
                self._add(node, depth, redirections, assignments=(self._assignment(node, depth),))
            case "declaration_command" | "unset_command":
                self._read_declaration(node, depth, redirections)
            case "test_command":
                if not is_plain_test(self._text(node)):
                    raise UnknownSyntax(_EXPANSION)
                self._add(node, depth, redirections, (ShellWord("test"),))
            case kind if kind in BODIES:
                self._read_body(node, depth, redirections)
            case _:
                raise UnknownSyntax

    def _read_body(self, node: "Node", depth: int, redirections: tuple[Redirection, ...]) -> None:
        """Reads a statement that consists of others. A redirection counts for the last of them."""
        if node.type == "negated_command" and not self._text(node).startswith(("! ", "!\t")):
            raise UnknownSyntax
        is_quoted_by_backticks = self.source[node.start_byte : node.start_byte + 1] == b"`"
        if is_quoted_by_backticks and b"\\" in self.source[node.start_byte : node.end_byte]:
            raise UnknownSyntax(_EXPANSION)
        inner: list[Node] = []
        own = list(redirections)
        for child in self._children(node):
            if child.type in BODIES or child.type in STATEMENTS:
                inner.append(child)
            elif child.type.endswith("redirect"):
                own.extend(self._redirections(child, depth, inner))
            elif node.type == "for_statement" and child.type in WORDS:
                self._word(child, depth)
            elif child.type == "comment":
                self._check_comment(child)
            elif not (node.type == "for_statement" and child.type == "variable_name") and (
                child.is_named or child.type not in TOKENS
            ):
                raise UnknownSyntax
        if own and not inner:
            self._add(node, depth, tuple(own))
        place = 0 if node.type == "redirected_statement" else len(inner) - 1
        for number, child in enumerate(inner):
            self._waiting.append((child, depth, tuple(own) if number == place else ()))

    def _read_command(self, node: "Node", depth: int, redirections: tuple[Redirection, ...]) -> None:
        words: list[ShellWord] = []
        assignments: list[tuple[str, ShellWord]] = []
        own = list(redirections)
        for child in self._children(node):
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, depth))
            elif child.type == "command_name":
                (name,) = self._children(child)
                words.append(self._word(name, depth))
                if words[0].is_known and words[0].text in RESERVED:
                    raise UnknownSyntax
            elif child.type in WORDS:
                words.append(self._word(child, depth))
            elif child.type.endswith("redirect"):
                own.extend(self._redirections(child, depth, []))
            else:
                raise UnknownSyntax
        self._add(node, depth, tuple(own), tuple(words), tuple(assignments))

    def _read_declaration(self, node: "Node", depth: int, redirections: tuple[Redirection, ...]) -> None:
        """`export`, `readonly`, `local` and `unset` with plain names. `declare` may evaluate what it assigns."""
        first, *rest = self._children(node)
        if first.type not in ("export", "readonly", "local", "unset"):
            raise UnknownSyntax(_EXPANSION)
        words = [ShellWord(first.type)]
        assignments = []
        for child in rest:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, depth))
            elif child.type in ("variable_name", "word") and is_plain_name(self._text(child)):
                words.append(ShellWord(self._text(child)))
            else:
                raise UnknownSyntax(_EXPANSION)
        self._add(node, depth, redirections, tuple(words), tuple(assignments))

    def _assignment(self, node: "Node", depth: int) -> tuple[str, ShellWord]:
        name, operator, *values = self._children(node)
        if name.type != "variable_name" or operator.type not in ("=", "+=") or len(values) > 1:
            raise UnknownSyntax(_EXPANSION)
        if not is_plain_name(self._text(name)):
            raise UnknownSyntax(_EXPANSION)
        if not values:
            return self._text(name), ShellWord("")
        if values[0].type != "array":
            return self._text(name), self._word(values[0], depth)
        for child in self._children(values[0]):
            if child.type in WORDS:
                self._word(child, depth)
            elif child.type not in ("(", ")"):
                raise UnknownSyntax
        return self._text(name), ShellWord("", is_known=False)

    def _redirections(self, node: "Node", depth: int, inner: "list[Node]") -> Iterator[Redirection]:
        """The redirections in a node. Commands that follow a heredoc on its line are added to `inner`."""
        if node.type == "heredoc_redirect":
            yield from self._heredoc(node, depth, inner)
            return
        operator = ""
        target: ShellWord | None = None
        for child in self._children(node):
            if child.type in OPERATORS or child.type == "<<<":
                operator = child.type
            elif child.type in WORDS and target is None:
                target = self._word(child, depth)
            elif child.type != "file_descriptor":
                raise UnknownSyntax
        if not operator or (target is None and not operator.endswith("-")):
            raise UnknownSyntax
        yield Redirection(operator, target or ShellWord(""))

    def _heredoc(self, node: "Node", depth: int, inner: "list[Node]") -> Iterator[Redirection]:
        self.has_heredoc = True
        texts = dict.fromkeys(("<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end"), "")
        for child in self._children(node):
            if child.type == "heredoc_end":
                texts[child.type] = self._line(child)
            elif child.type in texts:
                texts[child.type] += self._text(child)
            elif child.type in ("file_redirect", "herestring_redirect"):
                yield from self._redirections(child, depth, inner)
            elif child.type in ("pipeline", "list", "command"):
                inner.append(child)
            elif child.type not in ("&&", "||", ";", "|"):
                raise UnknownSyntax
        if problem := heredoc_problem(
            texts["heredoc_start"], texts["heredoc_body"], texts["heredoc_end"], strips_tabs=bool(texts["<<-"])
        ):
            raise UnknownSyntax(problem)
        if self._line(node).count("<<") > 1:
            raise UnknownSyntax("two heredocs begin on one line")
        yield Redirection("<<", ShellWord(""))

    def _word(self, node: "Node", depth: int) -> ShellWord:
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
            case "simple_expansion" | "expansion" | "arithmetic_expansion":
                if not is_plain_expansion(text) and not is_plain_arithmetic(text):
                    raise UnknownSyntax(_EXPANSION)
                return ShellWord("", is_known=False)
            case "command_substitution" | "process_substitution":
                self._waiting.append((node, depth + 1, ()))
                is_file = node.type == "process_substitution"
                return ShellWord("/dev/fd/" if is_file else "", is_known=False, is_one=is_file)
            case "string":
                return self._string(node, text, depth)
            case "concatenation":
                return self._joined(node, depth)
            case _:
                raise UnknownSyntax

    def _string(self, node: "Node", text: str, depth: int) -> ShellWord:
        if "$" not in text and "`" not in text:
            return ShellWord(quoted_text(text[1:-1]))
        for child in self._children(node):
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                self._word(child, depth)
            elif child.type not in ("string_content", '"', "$"):
                raise UnknownSyntax
            elif child.type == "string_content" and _HIDDEN.search(self._text(child)):
                raise UnknownSyntax(_EXPANSION)
        prefix = _SPECIAL_IN_QUOTES.split(text[1:-1], maxsplit=1)[0]
        return ShellWord(prefix, is_known=False, is_one="$@" not in text and "[@]" not in text and "{@" not in text)

    def _joined(self, node: "Node", depth: int) -> ShellWord:
        """A word of several pieces. `{a,b}` in it makes several words, which are not known."""
        children = self._children(node, gaps=False)
        pieces = [self._word(child, depth) for child in children]
        if self._text(node) == "{}":
            return ShellWord("{}")
        if any(child.type == "word" and _BRACE.search(self._text(child)) for child in children):
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
        depth: int,
        redirections: tuple[Redirection, ...],
        words: tuple[ShellWord, ...] = (),
        assignments: tuple[tuple[str, ShellWord], ...] = (),
    ) -> None:
        text = self._text(node, _LONGEST_TEXT)
        self.found.append((node.start_byte, ShellPart(text, words, assignments, redirections, depth > 0)))

    def _children(self, node: "Node", *, gaps: bool = True) -> "list[Node]":
        """The children of a node, which must cover it but for blanks."""
        end = node.start_byte
        children = node.children
        for number, child in enumerate(children):
            self._check_gap(end, child.start_byte, self._gap(node, child) if gaps else None)
            touches = number and end == child.start_byte and children[number - 1].is_named
            if touches and node.type in _WITH_BLANKS and _is_word(child):
                raise UnknownSyntax  # for a shell, words that touch each other are one word
            end = child.end_byte
        self._check_gap(end, node.end_byte, _GAP if gaps else None)
        return children

    def _gap(self, node: "Node", child: "Node") -> "re.Pattern[bytes]":
        """What may be before a child of a node."""
        if child.type in ("heredoc_body", "heredoc_end"):
            return _GAP
        is_word_of_loop = node.type == "for_statement" and child.type in WORDS
        is_one_line = node.type in _ONE_LINE or node.type.endswith("redirect") or is_word_of_loop
        return _LINE_GAP if is_one_line else _GAP

    def _check_gap(self, start: int, end: int, allowed: "re.Pattern[bytes] | None" = _GAP) -> None:
        if start < end and not (allowed and allowed.fullmatch(self.source, start, end)):
            raise UnknownSyntax

    def _check_comment(self, node: "Node") -> None:
        if node.start_byte and self.source[node.start_byte - 1 : node.start_byte] not in (b" ", b"\t", b"\n", b";"):
            raise UnknownSyntax

    def _line(self, node: "Node") -> str:
        """The whole line in which a node begins."""
        start, end = self.source.rfind(b"\n", 0, node.start_byte) + 1, self.source.find(b"\n", node.start_byte)
        return self.source[start : end if end >= 0 else None].decode(errors="ignore")

    def _text(self, node: "Node", longest: int = LONGEST_COMMAND * 4) -> str:
        end = min(node.end_byte, node.start_byte + longest)
        text = self.source[node.start_byte : end].decode(errors="ignore")
        return text if end == node.end_byte else f"{text}…"
