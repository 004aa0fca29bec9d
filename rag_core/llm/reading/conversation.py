"""Questions of a chat, made to stand alone by rules.

Filler goes; a pointer ('it', 'that company', 'then') becomes what it stands for in the turns before; a fragment ('and
in 2022?') takes its place in the question before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.llm.reading.names import names_of, periods_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.words import stems, words

_WH = r"(?:what|who|whom|whose|when|where|which|why|how)"
_ASKING = rf"(?=(?:{_WH}|if|whether)\b)"
_AFTER = r"(?:\s*[,.!:;–]+\s*|\s+-+\s+)"  # what parts an interjection from the question
_OPENINGS = (
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: (?:there|all|everyone|again|ragscope))?"
    rf"(?:{_AFTER}|\s+(?=(?:{_WH}|can|could|would|will|please|i|is|are|do|does|did)\b))",
    r"(?:thanks|thank you|thx)(?: (?:a lot|so much|very much|again))?(?: for (?:that|your help|the answer|this))?"
    rf"{_AFTER}",
    r"(?:great|perfect|nice|cool|got it|i see|good|interesting|wow|sorry|excuse me|hmm+|umm?|uh|er|alright|all right)"
    rf"{_AFTER}",
    rf"(?:ok|okay|so|well|now|anyway|by the way|actually|just)(?:{_AFTER}|\s+(?=(?:{_WH}|can|could|please)\b))",
    r"please[,\s]+(?!note\b)",
    rf"(?:just )?(?:a |one )?(?:quick|short|small|simple|another|other|follow-?up) question{_AFTER}",
    rf"i(?:'ve| have) (?:a|another|one more|one) (?:quick |short |follow-?up )?question(?:{_AFTER}|\s*about\s+)",
    r"(?:can|could|would|will|might) you (?:please |kindly |maybe |perhaps |also )*(?:help me (?:to )?)?"
    rf"(?:(?:tell|show|explain to|remind|inform|let) me(?: know)?(?: again)?[\s,:]+"
    rf"(?=(?:{_WH}|if|whether|the|about|more)\b))?",
    rf"(?:please )?(?:tell|show|remind) me(?: again)?[\s,:]+{_ASKING}",
    r"i(?:'d| would) (?:really |just )?(?:like|love) "
    r"(?:you to (?:tell me|explain) |to (?:know|ask|find out|learn|understand|hear)(?: about| more about)?)[\s,:]+",
    r"i (?:want|need|wish)(?:ed)? to (?:know|ask|find out|understand)[\s,:]+",
    r"i(?:'m| am| was)? (?:just )?(?:wonder(?:ing)?|curious(?: to know)?)"
    r"(?: (?:about|if you (?:can|could|know|knew)(?: tell me)?))?[\s,:]+",
    rf"(?:do|would|did) you (?:happen to )?(?:know|remember|have any idea)[\s,:]+{_ASKING}",
    r"any idea[\s,:]+(?=\w)",
)
_OPENING = re.compile(rf"^(?:{'|'.join(_OPENINGS)})", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:[\s,.;!–-]*\b(?:please|thanks|thank you|thx|cheers)"
    r"(?: (?:a lot|so much|very much|again|in advance|you))*(?: for your help)?"
    r"|[\s,;–-]+(?:if you (?:can|could|know|don't mind)|do you know|by any chance|for me|by the way)|\s*,\s*right)"
    r"\s*(?P<mark>[?.!]*)\s*$",
    re.IGNORECASE,
)
_LONGEST_CLOSING = 80

_THINGS = (
    r"company|firm|corporation|organi[sz]ation|business|startup|group|subsidiary|institution|university|bank|team|"
    r"product|service|platform|software|tool|system|app|application|device|model|method|technique|approach|algorithm|"
    r"dataset|study|survey|report|paper|document|article|book|film|movie|song|album|band|magazine|project|initiative|"
    r"program|programme|policy|law|contract|agreement|acquisition|deal|merger|transaction|segment|division|region|"
    r"country|city|place|event|war|award|drug|protein|gene|disease|amount|number|figure|revenue|profit|price|"
    r"cost|share|fee|increase|decrease|growth|change"
)
_PEOPLE = (
    r"person|man|woman|guy|lady|founder|ceo|cfo|director|author|actor|actress|president|scientist|researcher|employee"
)
_DOES = r"(?:found|make|made|do|did|have|has|earn|sell|get|buy|bought|start|begin|cost|grow|lead|own)\w*"
_POINTER = re.compile(
    rf"\b(?:(?:this|that|these|those|the (?:same|said)) (?P<noun>{_THINGS}|{_PEOPLE})(?:s|es)?"
    r"|the (?P<bare>company|firm|product|study|paper|project|film|city|country|deal|acquisition|founder|author)"
    rf"(?=\s*(?:[?.,!]|$|'s\b|{_DOES}\b|in (?:19|20)\d\d))"
    r"|(?P<then>(?:in |during )?(?:that|the same|this) (?:year|quarter|period|month|time)|back then"
    r"|then(?=\s*(?:[?.!]|$)))"
    r"|(?P<one>its|it|itself|they|them|their|theirs|he|him|his|himself|she|her|hers|herself|there)"
    r"|(?P<alone>(?:this|that|those|these)"
    r"(?=\s*(?:[?.!,]|$|(?:is|was|are|were|mean|means|happen|happens|happened)\b))))"
    r"(?P<owns>'s)?(?!\w|')",
    re.IGNORECASE,
)
# 'it' that stands for nothing, 'there is', and 'that' after a verb of saying.
_JUDGED = (
    r"(?:true|possible|necessary|allowed|required|likely|permitted|common|easy|hard|better|ok|okay|safe|legal|normal|"
    r"correct|important|mandatory|compulsory)"
)
_EMPTY_IT = re.compile(
    rf"\b(?:(?:is|was|isn't|wasn't|be) it {_JUDGED}|it (?:is|was) {_JUDGED}"
    r"|(?:does|did|will|would|can) it (?:take|mean|matter)"
    r"|there (?:is|are|was|were|be|any)|(?:is|are|was|were|be) there)\b",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    r"^(?:(?:and|but|or|also|then|ok|okay|so)[\s,]+)*(?:(?:what|how) about|what of|same (?:question )?for|now for)\s+"
    r"(?P<about>.+)$"
    r"|^(?:and|but|or|also|then)[\s,]+(?P<and>.+)$",
    re.IGNORECASE,
)
_AUXILIARY = r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall|may|might|must)"
_VERB = re.compile(rf"\b{_AUXILIARY}\b", re.IGNORECASE)
_BARE_WH = re.compile(
    r"(?:why(?: not)?|how(?: come| much| many| long| often| so)?|when|where|who(?: else)?|by whom)", re.IGNORECASE
)
_LEADING_WH = re.compile(
    rf"^(?:(?:in|on|at|by|to|for|of|from|with)\s+)?{_WH}(?: (?!{_AUXILIARY}\b)[\w-]+){{0,5}}?(?= {_AUXILIARY}\b)",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(
    r"^(?P<word>in|for|at|on|by|to|from|with|of|under|during|since|between)\s+(?:the\s+)?(?P<rest>.+)$", re.I
)
_ROLE = re.compile(r"C[A-Z]O|VP|HR|IT|PDF|KPI|EPS|EBITDA?")  # capitals that name nobody
_NAME_WANTED = re.compile(
    r"(?:who|whom|(?:in |on |by |of )?(?:which|what) "
    r"(?!(?:is|was|are|were|does|did|do|year|share|percentage|amount|date)\b)\w+)\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(
    r"(?:what|which|how many) ((?:[\w-]+ ){0,2}[\w-]+s)\b(?= (?:do|does|did|has|have|are|were)\b)", re.I
)
_SIGNED = re.compile(r"(?<=\w) \w+(?:ed|wn)$")  # in 'when was the treaty signed'
_NUMBERED = re.compile(r"(?P<what>[a-z]+) (?P<number>\d[\w.]*)", re.IGNORECASE)
_WITH_ARTICLE = re.compile(
    r"\b(?:the|an?|our|your) ((?:[\w-]+ ){0,3}?[\w-]+)"
    r"(?=\s*[?.,]|\s*$|\s+(?:in|on|of|for|at|be|is|are|was|were|by|to|that|which)\b)",
    re.IGNORECASE,
)
_TITLES = frozenset("dr mr mrs ms prof sir lady lord".split())
_NO_PERSON = frozenset(
    """inc corp corporation ltd llc plc gmbh ag company group systems analytics data university institute platform cloud
    software project labs partners capital market markets bank technologies solutions services report edition segment
    award war act stream console logistics industries international holdings department agency""".split()
)
_MOST_POINTERS = 8  # a question with more of them is no question: each costs a look through the chat
_MALE_OR_FEMALE = frozenset("he him his himself she her hers herself".split())
_MANY = frozenset("they them their theirs themselves".split())
_LONGEST_FRAGMENT = 7  # words; longer ones say all they have to say
_COMPLETE = re.compile(
    rf"{_WH}\b|(?:list|name|explain|describe|summari[sz]e|compare|show|give|find|tell|calculate|compute|count|define|"
    r"outline|write|translate)\b",
    re.IGNORECASE,
)
_NO_NOUN = r"(?:in|at|on|to|for|from|with|and|or|by|when)"
_OWNING = frozenset("its their his her theirs hers".split())


def without_filler(question: str) -> tuple[str, list[str]]:
    """The question without what is said for politeness; as it is where nothing else is left."""
    rest = question.strip()
    dropped = []
    while match := _OPENING.match(rest):
        if not match.group().strip():
            break
        dropped.append(match.group().strip(" ,.!:;-–"))
        rest = rest[match.end() :]
    while match := _CLOSING.search(rest, max(0, len(rest) - _LONGEST_CLOSING)):
        dropped.append(match.group().strip(" ,.!:;-–?"))
        rest = rest[: match.start()]
        rest += "" if rest[-1:] in "?!." else match["mark"][:1]
    if not dropped or len(stems(rest)) + len(re.findall(rf"\b(?:{_WH})\b", rest, re.I)) == 0:
        return question, []
    rest = rest[0].upper() + rest[1:] if rest[0].islower() and question.lstrip()[0].isupper() else rest
    return rest, [f"left out {', '.join(repr(text) for text in dropped)}"]


def standing_alone(
    question: str, questions: Sequence[str], answers: Sequence[str], reading: Reading
) -> tuple[str, list[str]]:
    """A question of a chat so that it can be understood without the chat, and what was changed for it.

    Args:
        questions: The earlier ones, the oldest first.
        answers: Theirs, in the same order.
    """
    before: list[str] = []
    for earlier in questions:
        before.append(_alone(earlier, before, answers[: len(before)], reading)[0])
    return _alone(question, before, answers, reading)


def _alone(question: str, before: Sequence[str], answers: Sequence[str], reading: Reading) -> tuple[str, list[str]]:
    said, changes = without_filler(question)
    if not before:
        return said, changes
    if completed := _completed(said, before[-1], reading):
        return completed, [*changes, f"completed by the question before: {before[-1]!r}"]
    said, found = _pointed(said, before, answers)
    return said, changes + found


@dataclass(frozen=True)
class _Pointer:
    """A word of the question that stands for something said before."""

    head: str
    after: str
    pronoun: str
    noun: str
    period: str
    alone: bool
    owns: bool

    @classmethod
    def of(cls, match: re.Match[str], question: str) -> _Pointer:
        pronoun = (match["one"] or "").lower()
        after = question[match.end() :]
        return cls(
            head=question[: match.start()],
            after=after,
            pronoun=pronoun,
            noun=(match["noun"] or match["bare"] or "").lower(),
            period=(match["then"] or "").lower(),
            alone=bool(match["alone"]) or pronoun == "it",
            # 'her' before a noun owns it; at the end, or before a preposition, it does not.
            owns=bool(match["owns"]) or (pronoun in _OWNING and bool(re.match(rf"\s+(?!{_NO_NOUN}\b)\w", after))),
        )

    @property
    def person(self) -> bool:
        return self.pronoun in _MALE_OR_FEMALE or bool(re.fullmatch(_PEOPLE, self.noun))

    @property
    def many(self) -> bool:
        return self.pronoun in _MANY

    def fits(self, name: str) -> bool:
        """Whether it can stand for what has this name."""
        return not _ROLE.fullmatch(name) and (self.many or self.person == _is_person(name))

    def explained(self) -> bool:
        """Whether the question itself names, before it, what it can stand for."""
        if self.period:
            return bool(periods_of(self.head))
        return self.pronoun != "there" and any(map(self.fits, names_of(self.head)))

    def in_words(self, meant: str) -> str:
        """What takes its place."""
        if self.period:
            return f"in {meant}" if re.match("in|during|back|then", self.period) else meant
        if self.pronoun == "there":
            return f"at {meant}"
        return f"{meant}'s" if self.owns else meant


def _pointed(question: str, before: Sequence[str], answers: Sequence[str]) -> tuple[str, list[str]]:
    """The question with what it points to put in, and what that was."""
    empty = [match.span() for match in _EMPTY_IT.finditer(question)]
    changes: dict[str, None] = {}
    used: list[str] = []  # two pointers of a question seldom mean the same

    def put_in(match: re.Match[str]) -> str:
        pointer = _Pointer.of(match, question)
        if any(start <= match.start() < end for start, end in empty) or pointer.explained():
            return match.group()
        meant = _meant(pointer, before, answers, [*names_of(question), *used])
        if meant is None:
            return match.group()
        used.append(meant)
        changes[f"{match.group().lower()!r} is {meant}"] = None
        return pointer.in_words(meant)

    return _POINTER.sub(put_in, question, count=_MOST_POINTERS), list(changes)


def _is_person(name: str) -> bool:
    """Two to four capitalised words, none of which is one of organisations and things; or a title before one."""
    parts = [part.strip(".") for part in name.split()]
    if parts[0].lower() in _TITLES:
        return True
    plain = all(re.fullmatch(r"[^\W\d_][^\W\d_A-Z]*(?:[-'’][^\W\d_]+)*|[A-Z]", part) for part in parts)
    return plain and 2 <= len(parts) <= 4 and _NO_PERSON.isdisjoint(part.lower() for part in parts)


def _meant(pointer: _Pointer, before: Sequence[str], answers: Sequence[str], taken: Sequence[str]) -> str | None:
    """What a pointer stands for, looked for in the last turn first.

    The topic of its question comes before the new names of its answer, except where the question asked for a name.
    """
    if pointer.period:
        named = [period for said in reversed(before) for period in reversed(periods_of(said))]
        named += [period for answer in reversed(answers) for period in periods_of(answer)]
        return named[0] if named else None
    for said, answer in zip(reversed(before), reversed(answers), strict=True):
        wanted = bool(_NAME_WANTED.match(said))
        topics = [name for name in names_of(said) if pointer.fits(name) and name not in taken]
        known = [*names_of(said), *taken, *([] if wanted else _first_word(answer))]
        told = [name for name in names_of(answer) if pointer.fits(name) and name not in known]
        if told and (pointer.person or (wanted and not pointer.many)):
            return told[0]
        if topics:
            return _topic(said, topics, pointer)
        if not pointer.person and (plain := _plain_topic(said, pointer)):
            return plain
        if told:
            return told[0]
    return None


def _first_word(answer: str) -> list[str]:
    """The word that an answer begins with: its capital does not make it a name."""
    return [word.rstrip(".,;:!") for word in answer.split()[:1] if word[1:].islower() or not word[1:]]


def _topic(question: str, names: Sequence[str], pointer: _Pointer) -> str:
    """What the question is about: for 'it', what is asked of a name ("Acme's revenue", 'the price of the X200'); for
    'they', those at it ('employees in Rotterdam'); else the name alone."""
    for name in map(re.escape, names):
        owned = re.search(rf"{name}['’]s?((?: (?!(?:in|on|for|during|at)\b)[\w-]+){{1,3}})", question)
        counted = pointer.many and owned and owned[1].endswith("s")
        if owned and (pointer.alone or counted) and not _VERB.search(owned[1]):
            return owned.group()
        of = re.search(rf"\bthe (?:[\w-]+ ){{1,3}}of (?:the )?{name}", question)
        if of and pointer.alone:
            return of.group()
        there = re.search(rf"\b[\w-]+s (?:in|of|at|from|with) (?:the )?{name}", question)
        if there and pointer.many:
            return there.group()
    return names[0]


def _plain_topic(question: str, pointer: _Pointer) -> str | None:
    """What a question without names is about: 'the break fee'; for 'they', what it asks for: 'the datasets'."""
    if pointer.many and (asked_for := _ASKED_FOR.match(question)):
        return f"the {asked_for[1]}"
    found = _WITH_ARTICLE.search(question)
    return f"the {_SIGNED.sub('', found[1])}" if found else None


# fragments


def _completed(question: str, before: str, reading: Reading) -> str | None:
    """The question before with this fragment in its place; None where this is no fragment."""
    bare = question.strip().rstrip("?!. ")
    linked = _ELLIPSIS.match(bare)
    rest = (linked["about"] or linked["and"]).strip() if linked else bare
    if _BARE_WH.fullmatch(rest):
        return _asked_anew(rest, before)
    whole = (
        _VERB.search(rest) or _POINTER.search(rest) or _COMPLETE.match(rest) or len(rest.split()) > _LONGEST_FRAGMENT
    )
    if whole or not (linked or _is_setting(rest)):
        return None
    return _in_place(rest, before, reading)


def _is_setting(text: str) -> bool:
    """'in 2022', 'Q2 2023', 'for DataWeave': where or when, and nothing besides."""
    return text in periods_of(text) or bool(_PREPOSITION.match(text))


def _asked_anew(wh: str, before: str) -> str:
    """'Why?' after 'When did the sale close?' is 'Why did the sale close?'."""
    wh = wh[0].upper() + wh[1:]
    if leading := _LEADING_WH.match(before):
        return wh + before[leading.end() :]
    return f"{wh}: {before}"


def _in_place(fragment: str, before: str, reading: Reading) -> str:
    preposition = _PREPOSITION.match(fragment)
    bare = preposition["rest"] if preposition else re.sub(r"^the\s+", "", fragment, flags=re.I)
    said = before.rstrip("?!. ")
    mark = before[len(said) :].strip() or "?"
    if (new := periods_of(fragment)) and _is_only(bare, new[0]):
        return _of_period(new[0], said, fragment) + mark
    numbered = _NUMBERED.fullmatch(bare)
    if numbered and (old := re.search(rf"\b{numbered['what']} \d[\w.]*", said, re.IGNORECASE)):
        return said[: old.start()] + bare + said[old.end() :] + mark
    names = names_of(said)
    if preposition and (old := re.search(rf"\b{preposition['word']}\s+(?:the\s+)?({_one_of(names)})", said, re.I)):
        return said[: old.start(1)] + bare + said[old.end(1) :] + mark
    if names_of(bare) or not bare[:1].islower():
        if names:
            closest = names[int(reading.closeness(bare, names).argmax())]
            return said.replace(closest, bare, 1) + mark
    elif not preposition and (head := _head(said, names)):
        return said[: head[0]] + bare + said[head[1] :] + mark
    return f"{said} {fragment}{mark}"


def _one_of(names: Sequence[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"


def _is_only(text: str, period: str) -> bool:
    return set(words(text)) <= set(words(period)) | {"the", "of", "year", "quarter"}


def _of_period(new: str, said: str, fragment: str) -> str:
    """The question for another period: a year takes the year's place alone, anything else the whole period's."""
    old = periods_of(said)
    if not old:
        return f"{said} {fragment}" if _PREPOSITION.match(fragment) else f"{said} in {fragment}"
    if re.fullmatch(r"(?:19|20)\d\d", new) and (year := re.search(r"(?:19|20)\d\d", old[-1])):
        changed = old[-1][: year.start()] + new + old[-1][year.end() :]
    elif not re.search(r"\d{4}|['’]\d\d", new) and (year := re.search(r"(?:19|20)\d\d", old[-1])):
        changed = f"{new} {'of ' if ' ' in new else ''}{year.group()}"
    else:
        changed = new
    at = said.rindex(old[-1])
    return said[:at] + changed + said[at + len(old[-1]) :]


def _head(said: str, names: Sequence[str]) -> tuple[int, int] | None:
    """Where the thing asked for stands: after a name that owns it, or after 'the' and before 'of'."""
    stop = r"(?=\s+(?:in|on|of|for|during|at|by|from|according)\b|\s*[?.,]|$)"
    if owned := re.search(rf"(?:{_one_of(names)})['’]s?\s+((?:[\w-]+\s?){{1,4}}?){stop}", said):
        return owned.span(1)
    if of := re.search(r"\b(?:is|are|was|were) the ([\w -]{2,40}?)\s+(?=of\b|in\b|for\b)", said, re.I):
        return of.span(1)
    return None
