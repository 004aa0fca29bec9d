"""What a chunk says as a graph: entities, mentions and relations.

With a model: typed entities and relations, each with a description that rests on the passage. Without one: names,
phrases that the chunk repeats, and acronyms with their long forms are entities; two names of a sentence are related by
what stands between them. What a chunk's heading names, the chunk is about: those mentions weigh more. Numbers and
dates are left out. Costs a call a chunk with a model, and about a millisecond without.

Sources: Edge et al. 2024, "From Local to Global", https://arxiv.org/abs/2404.16130; noun phrases and co-occurrence in
a model's place as FastGraphRAG has them, https://microsoft.github.io/graphrag/index/methods/
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pydantic import BaseModel, Field

from rag_core.llm.engine import Engine, Watch
from rag_core.llm.quoting import without_tags
from rag_core.llm.reading.acronyms import acronyms_of
from rag_core.llm.reading.names import names_of
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import STOP, words
from rag_core.llm.signature import Signature
from rag_core.stores.graph.facts import ChunkFacts, Entity, Mention, Relation, entity_id
from rag_core.techniques.graph.lexicon import key_of
from rag_core.types import Chunk

ABOUT = 10.0
"""What a mention weighs whose entity the heading names; 5 and 20 found less on two sets of two-hop questions."""
_PHRASE = 0.5
_RULES = 2
"""To be counted up when the rules below find something else."""
_MOST_ENTITIES = 60
"""Of one chunk: an index or a table of names would else relate everything with everything."""
_LONGEST_NAME, _LONGEST_HEADING = 80, 100
_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")
_COMPANY = re.compile(r",?\s+(?:Inc|Ltd|LLC|PLC|plc|GmbH|Corp|Co|S\.?A)\.?$")
_TITLED = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof|Sir|Professor)\.?\s+(?=\S)")
_APPOSITION = re.compile(r",\s+(?:an?|the)\s[^,;:]{2,60},(?=\s+[a-z])")
"""What is only said besides: 'DataWeave, an InnovateCorp company, launched' is 'DataWeave launched'."""
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATED = re.compile(rf"^(?:\d{{1,2}}\s+)?(?:{_MONTHS})\s+(?=\S)")
_NO_NAMES = frozenset(
    """he she it they his its her their him them we you this that these those mr mrs ms dr table figure section chapter
    page appendix inc ltd llc plc gmbh corp nee dear hello regards sincerely january february march april may june july
    august september october november december monday tuesday wednesday thursday friday saturday sunday""".split()
)
_HEADINGS = frozenset(
    """abstract acknowledgements acknowledgments appendix background conclusion conclusions contents discussion findings
    glossary introduction methods notes overview references results summary""".split()
)
_NUMERALS = frozenset(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion first
    second third fourth fifth sixth seventh eighth ninth tenth dozen half""".split()
)
_BEGINNING = re.compile(r"(?:^|[\n|])[^\S\n]*(?:\d+(?:\.\d+)*\.?\s+(?=[^\W\d_])|(?=[A-Z]\w+,?\s+[a-z]))")
"""Where a line or a cell begins as a sentence does, after its number or with small letters to follow: a capital says
nothing there. A cell that is one word may well be a name."""
_ROW = re.compile(r"\n(?=[^\n]* \| )")
"""Where a row of a table begins: no name goes from one into the next."""
_LABEL = re.compile(r"[A-Z][a-z]+(?:-[a-z]+)*(?: \d+)?")
_LONGEST_PREDICATE = 5
_FOR = re.compile(r"\s+for\s+(?:the\s+)?")


class ExtractInput(BaseModel):
    heading: str = Field(description="The headings that the passage stands under.")
    text: str
    titled: bool = Field(default=False, description="Whether the heading is the name of what the passage is about.")


class FoundEntity(BaseModel):
    name: str = Field(min_length=1)
    kind: str = ""
    description: str = ""
    aliases: list[str] = Field(default_factory=list)


class FoundRelation(BaseModel):
    source: str
    target: str
    name: str = ""
    description: str = ""


class ExtractOutput(BaseModel):
    entities: list[FoundEntity] = Field(
        description='Each {"name", "kind" (person, organisation, product, place, event, work, concept), "description" '
        '(one sentence), "aliases" (list)}.'
    )
    relations: list[FoundRelation] = Field(
        default_factory=list,
        description='Each {"source", "target" (names of entities), "name" (a verb or two: "acquired"), "description" '
        "(the evidence, one sentence)}.",
    )


def entities_by_writing(inputs: ExtractInput, _: Reading) -> ExtractOutput:
    """Names, acronyms and repeated phrases; names of one sentence are related by the words between them."""
    found: dict[str, FoundEntity] = {}

    def add(name: str, *aliases: str) -> str:
        known = found.setdefault(key_of(name), FoundEntity(name=name))
        known.aliases += [alias for alias in aliases if alias not in (known.name, *known.aliases)]
        return known.name

    text = _ROW.sub("\n\n", inputs.text)
    said = [(sentence, _names(sentence)) for sentence in sentences(text)]
    first, inside = _begun(text)
    doubtful = first - inside
    about = [
        add(name, *aliases)
        for name, aliases in _of_heading(inputs)
        if inputs.titled or not (name in doubtful or (_LABEL.fullmatch(name) and name not in inside))
    ]
    for short, long in acronyms_of(inputs.text).items():
        add(long, short)
    relations = []
    for sentence, names in said:
        named = [add(name) for name in names if name not in doubtful]
        relations += _relations(_APPOSITION.sub("", sentence), sentence, named)
        relations += _relations(sentence, sentence, named)
        first = about[:1]
        relations += [
            FoundRelation(source=subject, target=name, description=sentence)
            for subject in first
            for name in dict.fromkeys(named)
            if name != subject
        ]
    for phrase in _repeated(inputs.text):
        add(phrase)
    return ExtractOutput(entities=list(found.values())[:_MOST_ENTITIES], relations=relations)


def facts_of(chunk: Chunk, said: ExtractOutput) -> ChunkFacts:
    """What was found in a chunk, as the store keeps it: names by id, and only relations between them."""
    entities: dict[str, Entity] = {}
    for one in said.entities:
        name = _canonical(one.name)[:_LONGEST_NAME]
        if key_of(name):
            id_ = entity_id(name)
            entities.setdefault(
                id_,
                Entity(
                    id=id_,
                    name=name,
                    kind=one.kind.strip().lower(),
                    description=one.description.strip(),
                    aliases=tuple(dict.fromkeys(alias for alias in one.aliases if alias and alias != name)),
                ),
            )
    asked = _input_of(chunk)
    about = {key_of(name) for name, _ in _of_heading(asked)}
    mentions = tuple(
        Mention(
            entity=one.id,
            chunk=chunk.id,
            weight=ABOUT if key_of(one.name) in about else _PHRASE if one.name.islower() else 1.0,
        )
        for one in entities.values()
    )
    return ChunkFacts(
        chunk=chunk.id,
        document=chunk.document,
        entities=tuple(entities.values()),
        mentions=mentions,
        relations=tuple(_stored(chunk, said.relations, entities)),
    )


def _stored(chunk: Chunk, relations: Iterable[FoundRelation], entities: dict[str, Entity]) -> Iterator[Relation]:
    """Each once, with ends that are among the entities; one without a name gives way to one that has it."""
    kept: dict[tuple[str, str, str], Relation] = {}
    for one in relations:
        source, target = entity_id(_canonical(one.source)), entity_id(_canonical(one.target))
        if source == target or source not in entities or target not in entities:
            continue
        name = one.name.strip().lower()
        kept.setdefault((source, target, name), Relation(source, target, name, 1.0, chunk.id, one.description.strip()))
    named = {(source, target) for source, target, name in kept if name}
    for (source, target, name), relation in kept.items():
        if name or not {(source, target), (target, source)} & named:
            yield relation


def _input_of(chunk: Chunk) -> ExtractInput:
    return ExtractInput(heading=" › ".join(chunk.section), text=chunk.text, titled=not chunk.places)


def _of_heading(inputs: ExtractInput) -> list[tuple[str, tuple[str, ...]]]:
    """`(name, aliases)` of what the heading says the passage is about.

    The title of a passage, as encyclopaedias have them, is a name whatever its letters; 'Ray Taylor (director)' is
    also called 'Ray Taylor', and 'Adelaide, Duchess of York' 'Adelaide'.
    """
    heading = inputs.heading.split(" › ")[-1].strip()
    if not heading or len(heading) > _LONGEST_HEADING:
        return []
    if not inputs.titled:
        return [(name, ()) for name in _names(heading) if key_of(name) not in _HEADINGS]
    bare = _BRACKETS.sub("", heading)
    short = bare.split(",")[0]
    others = tuple(dict.fromkeys(name for name in (bare, short) if name and name != heading))
    return [(heading, others), *((name, ()) for name in others)]


def _names(text: str) -> list[str]:
    """The names of a text as entities are called: without titles and company forms, numbers and months."""
    found = (_canonical(part) for name in names_of(text) for part in _parts(name))
    return [
        name
        for name in dict.fromkeys(found)
        if len(name) <= _LONGEST_NAME and (key := key_of(name)) and len(key) > 1 and not _is_common(key)
    ]


def _begun(text: str) -> tuple[set[str], set[str]]:
    """`(first, inside)`: single words that have a capital where anything has one, and the names that stand elsewhere.

    'Rationale' and 'Trading' begin sentences, 'Operating' and 'Net' the lines of a table, whose first line is all
    headings.
    """
    first: set[str] = set()
    inside: set[str] = set()
    head, _, rows = text.partition("\n\n")
    head, rows = (head.replace("|", "\n\n"), rows) if " | " in head else ("", text)
    for sentence in sentences("\n\n".join([head, _BEGINNING.sub("\n\n", rows)])):
        for name in _names(sentence):
            begins = sentence.lstrip("(\"'“‘•– ").startswith(name) and sentence.count(name) == 1
            (first if begins and name.split("-")[0].istitle() and " " not in name else inside).add(name)
    return first, inside


def _parts(name: str) -> list[str]:
    """'Tomás Herrera for Halcyon Bank' is two names; 'Amara Okafor of DataWeave' is one and its longer part."""
    found = []
    for part in _FOR.split(name):
        head = part.split(" of ")[0]
        found += [part, head] if " " in head and head != part else [part]
    return found


def _is_common(key: str) -> bool:
    parts = key.split()
    return all(
        part in _NO_NAMES or part in _NUMERALS or part in STOP or not any(map(str.isalpha, part)) for part in parts
    )


def _canonical(name: str) -> str:
    return _COMPANY.sub("", _TITLED.sub("", _DATED.sub("", " ".join(name.split())))).strip(" ,;:")


def _relations(plain: str, sentence: str, named: Sequence[str]) -> Iterator[FoundRelation]:
    """Neighbouring names of a sentence; the words between them say how they are related, where they are few."""
    end = 0
    places = []
    for name in named:
        at = plain.find(name, end)
        if at >= 0:
            places.append((at, end := at + len(name), name))
    for (_, before, source), (after, _, target) in pairwise(places):
        if source != target:
            yield FoundRelation(
                source=source, target=target, name=_predicate(plain[before:after]), description=sentence
            )


def _predicate(between: str) -> str:
    """What relates two names: 'acquired', 'announced agreement acquire'; empty for a list, or where it is unclear."""
    if re.search(r"[;:()“”\"]|,\s", between):
        return ""
    said = [word for word in words(between) if word not in STOP and word.isalpha()]
    return " ".join(said) if len(said) <= _LONGEST_PREDICATE else ""


def _repeated(text: str) -> list[str]:
    """Phrases of two or three content words that a text has at least twice, without those inside longer ones."""
    counted: Counter[str] = Counter()
    run: list[str] = []
    for word in [*words(text), ""]:
        if word in STOP or word in _NUMERALS or not word.isalpha():
            run = []
            continue
        run = [*run, word][-3:]
        counted.update(" ".join(run[-length:]) for length in (2, 3) if len(run) >= length)
    often = [phrase for phrase, count in counted.items() if count > 1]
    return [phrase for phrase in often if not any(phrase != other and f" {phrase} " in f" {other} " for other in often)]


EXTRACT = Signature(
    name="graph.extract",
    inputs=ExtractInput,
    outputs=ExtractOutput,
    prompt="""\
List the entities of the passage and how it relates them. Use names as they are written, in full; resolve "he", "it"
and "the company" to the names they stand for. Leave out numbers, dates and amounts. Say only what the passage says.

Stands under: {heading}
<passage>
{text}
</passage>
""",
    keyless=entities_by_writing,
    max_tokens=2048,
)


class Extractor:
    """Reads the graph out of chunks."""

    def __init__(self, engine: Engine, reading: Reading, watch: Watch) -> None:
        self._engine = engine
        self._reading = reading
        self._watch = watch

    def extract(self, chunk: Chunk) -> ChunkFacts:
        """What a chunk says: its entities, where it mentions them, and how it relates them.

        Raises:
            Stopped: The work was stopped meanwhile.
        """
        asked = _input_of(chunk)
        quoted = asked.model_copy(update={"text": without_tags(asked.text)})
        return facts_of(chunk, self._engine.complete(EXTRACT, quoted, self._reading, self._watch))


def made_by(engine: Engine) -> str:
    """What names how facts are made: another one whenever the same chunk would have others."""
    rules = hashlib.sha256(f"{_RULES}\n{EXTRACT.prompt}".encode()).hexdigest()[:8]
    return f"{engine.name} {rules}"
