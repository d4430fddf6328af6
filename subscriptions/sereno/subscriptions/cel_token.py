"""The words of a CEL expression, with their places."""

import re
from dataclasses import dataclass
from typing import Literal, cast

Kind = Literal["string", "number", "name", "operator", "bracket", "mark"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"
        |'(?:\\.|[^\\'\n])*'|"(?:\\.|[^\\"\n])*"))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<operator>&&|\|\||[<>=!]=|[-+*/%<>!?])
    |(?P<bracket>[()\[\]{}])
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its kind, its text and its offset in the expression."""

    kind: Kind
    text: str
    start: int

    @property
    def is_node(self) -> bool:
        """Whether it stands for a node of the expression's tree: a name, a value, an operator, a list or a map."""
        return self.kind in ("string", "number", "name", "operator") or self.text in ("[", "{")

    def where(self, source: str) -> str:
        """Its line and column in `source`, both from 1, as `1:5`."""
        line_start = source.rfind("\n", 0, self.start) + 1
        return f"{source.count(chr(10), 0, self.start) + 1}:{self.start - line_start + 1}"


def tokens_of(source: str) -> tuple[Token, ...]:
    """The words of `source`; blanks and comments are none."""
    return tuple(
        Token(cast("Kind", matched.lastgroup), matched[0], matched.start())
        for matched in _TOKEN.finditer(source)
        if matched.lastgroup != "space"
    )
