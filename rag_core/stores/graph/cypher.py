"""Cypher that only reads: what may be asked, and how each back end is asked it.

A query is parsed by a grammar that has nothing but reading in it, and is written anew from what was parsed: what the
database gets was put together here, word by word. Strings become parameters, names stand in backticks, comments are
gone, so that no escape can mean one thing here and another there. On Neo4j every node that the query names also gets
the label of its collection; relationships never leave a collection, so nothing of another one can be met.

    (MATCH | OPTIONAL MATCH | UNWIND | WITH)* RETURN        patterns, expressions, `FUNCTIONS`

Left out although harmless, because the back ends differ: positions in lists, conditions within lists, labels as
conditions, shortest paths. Left out because a slow one cannot be stopped on Neo4j: regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from rag_core.errors import QueryRefused
from rag_core.stores.graph.base import EDGES, HIDDEN, NODES

MOST_CHARS = 4_000
MOST_HOPS = 4
_MOST_DEPTH = 40
_MOST_SUMS = 12
"""Each `+` of strings or lists may double them: so many of them stay within memory."""

FUNCTIONS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("count", "sum", "avg", "min", "max", "collect"), (1, 1)),
    **dict.fromkeys(("size", "toLower", "toUpper", "lower", "upper", "trim", "ltrim", "rtrim"), (1, 1)),
    **dict.fromkeys(("abs", "ceil", "floor", "sqrt", "sign", "toString"), (1, 1)),
    **dict.fromkeys(("length", "nodes", "relationships", "labels", "type"), (1, 1)),
    **dict.fromkeys(("left", "right", "round"), (2, 2)),
    "coalesce": (1, 8),
}
"""What may be called, with how many arguments."""

_LABELS = {name.lower(): name for name in NODES}
_TYPES = {name.lower(): name for name in EDGES}
_PROPERTIES = {
    name.lower(): name
    for names in (*NODES.values(), *(names for _, _, names in EDGES.values()))
    for name in names
    if name not in HIDDEN
}
_FUNCTIONS = {name.lower(): name for name in FUNCTIONS}
_REFUSED = frozenset(
    """alter analyze attach begin call checkpoint comment commit copy create cypher delete detach drop explain export
    extension finish foreach force grant import insert install load macro merge profile project remove revoke rollback
    set show start terminate union uninstall update use yield""".split()
)
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>\d+(?:\.\d+)?(?![\w.]*\w)|\d+(?=\.\.))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |`(?P<quoted>[\w ]{1,64})`
    |\$(?P<parameter>[A-Za-z][A-Za-z0-9_]*)
    |(?P<sign><>|<=|>=|=~|\.\.|[()\[\]{},:;.|=<>+\-*/%^])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "`": "`"}


class Dialect(NamedTuple):
    """How a back end wants what is meant."""

    scope: str = ""  # a label that every node must have
    functions: Mapping[str, str] = {}  # as templates, where they are not called as they are named
    after_order: str = ""  # what has to follow a WITH that orders


ORDERED = "ordered_"
LADYBUG = Dialect(
    # Version 0.22 forgets the order, and with it which rows a LIMIT keeps, where an aggregate comes next.
    after_order=f"UNWIND [0] AS {ORDERED}",
    functions={
        "relationships": "rels({0})",
        "labels": "[label({0})]",
        "type": "label({0})",
        "toString": "CAST({0} AS STRING)",
    },
)


def neo4j_dialect(scope: str) -> Dialect:
    """The dialect of a collection in Neo4j whose nodes have this label."""
    return Dialect(scope, {"labels": f"[label IN labels({{0}}) WHERE label <> '{scope}']"})


@dataclass(frozen=True)
class Checked:
    """A query that may be run, as it is run."""

    text: str
    parameters: dict[str, Any]
    columns: list[str] = field(default_factory=list)  # as they were asked for; empty for `RETURN *`


def checked(query: str, dialect: Dialect, parameters: Mapping[str, Any], *, limit: int) -> Checked:
    """A query as the back end is to be asked it, for one row more than the limit.

    Raises:
        QueryRefused: It is not allowed; the message says what is.
    """
    if len(query) > MOST_CHARS:
        raise QueryRefused(f"The query is longer than {MOST_CHARS:,} characters: ask for less at once.")
    for name, value in parameters.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or not _is_plain(value):
            raise QueryRefused(f"The parameter {name!r} is not allowed: give texts, numbers, true, false, or lists.")
    return _Parser(query, dialect, parameters, limit).query()


class _Token(NamedTuple):
    kind: str  # string, number, name, quoted, parameter, sign, end
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """A name in small letters; anything else is no word."""
        return self.text.lower() if self.kind == "name" else ""


def _tokens(query: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(query):
        match = _TOKEN.match(query, at)
        if match is None:
            raise QueryRefused(f"The query cannot be read from {query[at : at + 20]!r} on: close quotes, name plainly.")
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match[str(match.lastgroup)], at, match.end()))
        at = match.end()
    return [*found, _Token("end", "", at, at)]


class _Parser:
    """Reads a query from left to right; each method takes one piece of it and gives it as the back end wants it."""

    def __init__(self, query: str, dialect: Dialect, parameters: Mapping[str, Any], limit: int) -> None:
        self._query = query
        self._dialect = dialect
        self._given = parameters
        self._limit = limit
        self._tokens = _tokens(query)
        self._at = 0
        self._depth = 0
        self._sums = 0
        self._parameters: dict[str, Any] = {}
        self._columns: list[str] = []

    # clauses

    def query(self) -> Checked:
        clauses = []
        while not (last := self._is_word("return")):
            clauses.append(self._clause())
        clauses.append(self._projection(last=last))
        self._take_sign(";")
        if self._next.kind != "end":
            self._refuse_rest()
        return Checked(" ".join(clauses), self._parameters, self._columns)

    def _clause(self) -> str:
        if self._take_word("optional"):
            return f"OPTIONAL {self._match()}"
        if self._is_word("match"):
            return self._match()
        if self._take_word("unwind"):
            listed = self._expression()
            self._need_word("as")
            return f"UNWIND {listed} AS {self._name()}"
        if self._is_word("with"):
            return self._projection(last=False)
        return self._refuse_rest()

    def _match(self) -> str:
        self._need_word("match")
        return f"MATCH {self._listed(self._path)}{self._where()}"

    def _where(self) -> str:
        return f" WHERE {self._expression()}" if self._take_word("where") else ""

    def _projection(self, *, last: bool) -> str:
        """RETURN or WITH."""
        self._need_word("return" if last else "with")
        text = "RETURN " if last else "WITH "
        if self._take_word("distinct"):
            text += "DISTINCT "
        text += "*" if self._take_sign("*") else self._listed(lambda: self._item(named=last))
        ordered = bool(self._take_word("order"))
        if ordered:
            self._need_word("by")
            text += f" ORDER BY {self._listed(self._order)}"
        if self._take_word("skip", "offset"):
            text += f" SKIP {self._count()}"
        elif ordered and not last:
            text += " SKIP 0"  # ladybug orders there only what is skipped or cut
        most = self._count() if self._take_word("limit") else None
        if last:
            return f"{text} LIMIT {min(self._limit + 1, self._limit + 1 if most is None else most)}"
        text += ("" if most is None else f" LIMIT {most}") + self._where()
        return f"{text} {self._dialect.after_order}" if ordered else text

    def _item(self, *, named: bool) -> str:
        start = self._next.start
        text = self._expression()
        column = self._query[start : self._tokens[self._at - 1].end]
        if self._take_word("as"):
            alias = self._name()
            text, column = f"{text} AS {alias}", alias.strip("`")
        if named:
            self._columns.append(column)
        return text

    def _order(self) -> str:
        text = self._expression()
        if self._take_word("desc", "descending"):
            return f"{text} DESC"
        self._take_word("asc", "ascending")
        return text

    def _count(self) -> int:
        token = self._take()
        value: Any = self._given.get(token.text) if token.kind == "parameter" else None
        if token.kind == "number" and token.text.isdigit():
            value = int(token.text)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise QueryRefused("SKIP and LIMIT need a whole number.")
        return value

    # patterns

    def _path(self) -> str:
        name = ""
        if self._next.kind in ("name", "quoted") and self._after.text == "=":
            name = f"{self._name()} = "
            self._take()
        return name + self._chain()

    def _chain(self) -> str:
        text = self._node()
        while self._next.text in ("-", "<") and self._next.kind == "sign":
            text += self._relationship() + self._node()
        return text

    def _node(self) -> str:
        if not self._is_sign("("):
            self._refuse("A pattern is of nodes and relationships, (a:Entity)-[r:RELATES]-(b)")
        self._take()
        name = "" if self._is_sign(":", "{", ")") else self._name()
        labels = self._kinds(_LABELS, "label")
        if self._dialect.scope:
            scope = f"`{self._dialect.scope}`"
            labels = f":({labels[1:]})&{scope}" if labels else f":{scope}"
        properties = self._map() if self._is_sign("{") else ""
        self._need_sign(")")
        return f"({name}{labels}{properties})"

    def _relationship(self) -> str:
        left = bool(self._take_sign("<"))
        self._need_sign("-")
        detail = self._detail() if self._take_sign("[") else ""
        self._need_sign("-")
        right = bool(self._take_sign(">"))
        if left and right:
            self._refuse("A relationship has one direction or none")
        return f"{'<' if left else ''}-{detail}-{'>' if right else ''}"

    def _detail(self) -> str:
        name = "" if self._is_sign(":", "*", "{", "]") else self._name()
        kinds = self._kinds(_TYPES, "relationship")
        hops = self._hops() if self._take_sign("*") else ""
        properties = self._map() if self._is_sign("{") else ""
        self._need_sign("]")
        return f"[{name}{kinds}{hops}{properties}]"

    def _hops(self) -> str:
        least = self._whole() if self._next.kind == "number" else 1
        most = least if self._tokens[self._at - 1].kind == "number" else None
        if self._take_sign(".."):
            most = self._whole() if self._next.kind == "number" else None
        if most is None or not 1 <= least <= most <= MOST_HOPS:
            raise QueryRefused(f"A path needs its ends: *1..{MOST_HOPS} at most, from 1 on.")
        return f"*{least}..{most}"

    def _kinds(self, known: Mapping[str, str], what: str) -> str:
        if not self._take_sign(":"):
            return ""
        found = [self._known(known, what)]
        while self._take_sign("|"):
            self._take_sign(":")
            found.append(self._known(known, what))
        if self._is_sign(":", "&"):
            self._refuse(f"Several {what}s are written with |")
        return f":{'|'.join(found)}"

    def _known(self, known: Mapping[str, str], what: str) -> str:
        token = self._take()
        if token.kind not in ("name", "quoted") or token.text.lower() not in known:
            listed = ", ".join(sorted(known.values()))
            raise QueryRefused(f"There is no {what} {token.text!r}; there are: {listed}.")
        return known[token.text.lower()]

    def _map(self) -> str:
        def pair() -> str:
            key = self._known(_PROPERTIES, "property")
            self._need_sign(":")
            return f"{key}: {self._expression()}"

        self._need_sign("{")
        text = "" if self._is_sign("}") else self._listed(pair)
        self._need_sign("}")
        return f" {{{text}}}"

    # expressions, the loosest first

    def _expression(self) -> str:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise QueryRefused("The query is nested too deep: write it flatter.")
        text = self._joined(("or",), lambda: self._joined(("xor",), lambda: self._joined(("and",), self._negation)))
        self._depth -= 1
        return text

    def _joined(self, words: tuple[str, ...], part: Callable[[], str]) -> str:
        text = part()
        while word := self._take_word(*words):
            text = f"{text} {word.upper()} {part()}"
        return text

    def _negation(self) -> str:
        negated = False
        while self._take_word("not"):
            negated = not negated
        text = self._comparison()
        return f"NOT ({text})" if negated else text

    def _comparison(self) -> str:
        text = self._sum()
        if self._is_sign("=~"):
            self._refuse("Regular expressions are not allowed: use CONTAINS, STARTS WITH or ENDS WITH")
        if sign := self._take_sign("=", "<>", "<=", ">=", "<", ">"):
            return f"{text} {sign} {self._sum()}"
        if self._take_word("in"):
            return f"{text} IN {self._sum()}"
        if self._take_word("contains"):
            return f"{text} CONTAINS {self._sum()}"
        if edge := self._take_word("starts", "ends"):
            self._need_word("with")
            return f"{text} {edge.upper()} WITH {self._sum()}"
        if self._take_word("is"):
            negated = "NOT " if self._take_word("not") else ""
            self._need_word("null")
            return f"{text} IS {negated}NULL"
        return text

    def _sum(self) -> str:
        text = self._product()
        while sign := self._take_sign("+", "-"):
            self._sums += 1
            if self._sums > _MOST_SUMS:
                raise QueryRefused(f"The query adds more than {_MOST_SUMS} times: write it with less.")
            text = f"{text} {sign} {self._product()}"
        return text

    def _product(self) -> str:
        text = self._factor()
        while sign := self._take_sign("*", "/", "%", "^"):
            text = f"{text} {sign} {self._factor()}"
        return text

    def _factor(self) -> str:
        negative = False
        while sign := self._take_sign("-", "+"):
            negative ^= sign == "-"
        text = self._atom()
        while self._take_sign("."):
            if self._after.text == "(":
                self._refuse("Functions of packages such as apoc are not allowed")
            text = f"{text}.{self._known(_PROPERTIES, 'property')}"
        if self._is_sign("["):
            self._refuse("Positions in lists are not allowed: use UNWIND, LIMIT or IN")
        return f"-({text})" if negative else text

    def _atom(self) -> str:
        token = self._next
        if token.kind == "string":
            return self._string()
        if token.kind == "number":
            return self._take().text
        if token.kind == "parameter":
            return self._parameter()
        if self._take_sign("["):
            items = "" if self._is_sign("]") else self._listed(self._expression)
            self._need_sign("]")
            return f"[{items}]"
        if self._is_sign("{"):
            return self._map().strip()
        if self._is_sign("("):
            return f"EXISTS {{ MATCH {self._chain()} }}" if self._begins_pattern() else self._parenthesised()
        if self._take_word("true", "false", "null"):
            return token.text.upper()
        if self._take_word("case"):
            return self._case()
        if token.word in ("exists", "count") and self._after.text == "{":
            return self._subquery()
        if self._after.text == "(" and token.kind == "name":
            return self._call()
        return self._name()

    def _parenthesised(self) -> str:
        self._need_sign("(")
        text = self._expression()
        self._need_sign(")")
        return f"({text})"

    def _begins_pattern(self) -> bool:
        """Whether the bracket here opens a pattern that is asked whether it is there, `(a)--(b)`."""
        depth = 0
        for at in range(self._at, len(self._tokens) - 3):
            depth += {"(": 1, ")": -1}.get(self._tokens[at].text, 0) if self._tokens[at].kind == "sign" else 0
            if depth == 0:
                signs = [token.text if token.kind == "sign" else "" for token in self._tokens[at + 1 : at + 4]]
                return (signs[0] == "-" and signs[1] in "-[") or (signs[:2] == ["<", "-"] and signs[2] in "-[")
        return False

    def _subquery(self) -> str:
        word = self._take().text.upper()
        self._need_sign("{")
        self._depth += 1
        text = self._match() if self._is_word("match") else f"MATCH {self._listed(self._path)}{self._where()}"
        self._depth -= 1
        self._need_sign("}")
        return f"{word} {{ {text} }}"

    def _case(self) -> str:
        text = "CASE" if self._is_word("when") else f"CASE {self._expression()}"
        self._need_word("when")
        while True:
            asked = self._expression()
            self._need_word("then")
            text += f" WHEN {asked} THEN {self._expression()}"
            if not self._take_word("when"):
                break
        if self._take_word("else"):
            text += f" ELSE {self._expression()}"
        self._need_word("end")
        return f"{text} END"

    def _call(self) -> str:
        name = _FUNCTIONS.get(self._next.word)
        if name is None:
            self._refuse(f"The function {self._next.text} is not allowed; there are {', '.join(sorted(FUNCTIONS))}")
        self._take()
        self._need_sign("(")
        if name == "count" and self._take_sign("*"):
            self._need_sign(")")
            return "count(*)"
        distinct = "DISTINCT " if self._take_word("distinct") else ""
        arguments: list[str] = []
        while not self._is_sign(")"):
            arguments.append(self._expression())
            if not self._take_sign(","):
                break
        self._need_sign(")")
        least, most = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            raise QueryRefused(f"{name} takes {least if least == most else f'{least} to {most}'} arguments.")
        template = self._dialect.functions.get(name)
        return template.format(*arguments) if template else f"{name}({distinct}{', '.join(arguments)})"

    def _string(self) -> str:
        name = f"text{len(self._parameters)}"
        self._parameters[name] = _ESCAPE.sub(_unescaped, self._take().text[1:-1])
        return f"${name}"

    def _parameter(self) -> str:
        name = self._take().text
        if name not in self._given:
            raise QueryRefused(f"The parameter ${name} has no value: give one.")
        self._parameters[f"{name}_"] = self._given[name]
        return f"${name}_"

    # tokens

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    @property
    def _after(self) -> _Token:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def _take(self) -> _Token:
        token = self._next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _listed(self, one: Callable[[], str]) -> str:
        found = [one()]
        while self._take_sign(","):
            found.append(one())
        return ", ".join(found)

    def _name(self) -> str:
        """A variable or an alias, in backticks: then no word of it means anything to the database."""
        token = self._next
        if token.kind not in ("name", "quoted") or token.word in _REFUSED:
            self._refuse_rest()
        return f"`{self._take().text}`"

    def _whole(self) -> int:
        text = self._take().text
        if not text.isdigit():
            raise QueryRefused("A path is a whole number of steps long.")
        return int(text)

    def _is_word(self, *words: str) -> bool:
        return self._next.word in words

    def _is_sign(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def _take_word(self, *words: str) -> str:
        return self._take().word if self._is_word(*words) else ""

    def _take_sign(self, *signs: str) -> str:
        return self._take().text if self._is_sign(*signs) else ""

    def _need_word(self, word: str) -> None:
        if not self._take_word(word):
            self._refuse(f"{word.upper()} is missing")

    def _need_sign(self, sign: str) -> None:
        if not self._take_sign(sign):
            self._refuse(f"{sign!r} is missing")

    def _refuse(self, why: str) -> NoReturn:
        if self._next.word in _REFUSED:
            self._refuse_rest()
        if self._next.kind == "end":
            raise QueryRefused(f"{why}, at the end of the query.")
        raise QueryRefused(f"{why}, before {self._query[self._next.start : self._next.start + 30]!r}.")

    def _refuse_rest(self) -> NoReturn:
        token = self._next
        if token.kind == "end":
            raise QueryRefused("The query ends too early: it needs a RETURN, and something to return.")
        if self._at and self._tokens[self._at - 1].text == ";":
            raise QueryRefused("Only one statement can be asked at a time.")
        if token.word in _REFUSED:
            raise QueryRefused(
                f"{token.text.upper()} is not allowed: the graph is only read here, with MATCH, OPTIONAL MATCH, WHERE, "
                "WITH, UNWIND, RETURN, ORDER BY, SKIP and LIMIT."
            )
        raise QueryRefused(f"The query cannot be read from {self._query[token.start : token.start + 30]!r} on.")


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2] not in _ESCAPED:
        raise QueryRefused(rf"In a text \{match[2]} means nothing: write \\ for a backslash.")
    return _ESCAPED[match[2]]


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float | bool)
