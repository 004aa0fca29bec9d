"""Languages: which one a text is in, and what of it the index's words are matched by.

A stemmer is for one language, so each text is stemmed by its own, which its commonest words give away. Chinese and
Japanese have no space between words: there each pair of neighbouring characters is matched instead.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import Stemmer

from rag_core.llm.reading.words import stems, words

_ENGLISH = "english"
_LEAST = 2
"""Common words of another language that a text must have beyond twice those of English: names hold some of them."""
_READ_CHARS = 400
"""What tells the language of a text: its beginning is enough."""
# As `words` gives them, without accents.
_COMMON = {
    "english": "the of and to a an in is that for was on with as by it at from are this which what how who when did do",
    "german": "der die und das ist von den mit des im fur nicht ein eine einer eines einem dem auf sich wie wer was wo "
    "wann welche welcher welches welchen wurde wurden war waren in zu zum zur bei nach aus hat hatte als viele durch",
    "french": "le la les des et est en du une dans que qui pour par sur au aux pas ce cette sont a ont ete comment "
    "quel quelle quels quelles combien ou quand etait",
    "spanish": "el la los las de y que en un una es por con para del se su al como cual cuales cuando cuanto cuantos "
    "cuantas donde quien fue era a",
    "portuguese": "o os as da do dos das de e que em um uma nao para com por no na ao qual quais quando onde quem como "
    "foi sao mais quantos quantas",
    "italian": "il lo la gli le di della dei che e un una per con del sono nel nella come quando dove chi quale quali "
    "quanto quanti fu piu alla cosa",
    "dutch": "de het een van en in is dat die op te zijn voor met niet aan er wat wie waar hoe wanneer welke werd door "
    "veel hoeveel",
    "swedish": "och att det som en ett ar av for den med pa inte har till var vad vem hur nar vilken fran blev",
    "danish": "og at det som en et er af for den med pa ikke har til var hvad hvem hvor hvordan hvornar hvilken fra",
    "norwegian": "og at det som en et er av for den med pa ikke har til var hva hvem hvor hvordan nar hvilken fra",
    "finnish": "ja on ei se etta oli mutta joka ovat kuin tai myos mika mita kuka missa milloin miten sen han kuinka",
    "russian": "и в на не что с по как это к из у за от для до был была было были или кто где когда какои какая "
    "какое какие каком какую каким сколько чем о об при его их во почему",
    "polish": "i w na nie sie z do jest ze to od za po jak przez dla jego co kto gdzie kiedy ktory jaki jaka ile byl",
    "czech": "a v na je se z do ze to pro jako za po od ktery co kdo kde kdy jak kolik byl nebo jsou pri",
    "hungarian": "a az es hogy nem is egy ez van volt meg csak mint ki mi hol mikor hogyan melyik mennyi",
    "romanian": "si in de la cu care este un o pe nu din pentru ce se cine unde cand cum cat sunt mai fost",
    "turkish": "ve bir bu da de icin ile cok olarak ne kim nerede nasil olan gibi daha hangi kac",
    "arabic": "في من على الى ان ما ماذا هو هي هذا التي الذي عن مع كان كانت متى كم اين كيف لماذا بين او و",
}
_LANGUAGES = {
    word: tuple(name for name, common in _COMMON.items() if word in common.split())
    for word in " ".join(_COMMON.values()).split()
}
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")


def language_of(text: str, *, least: int = _LEAST) -> str:
    """The language whose common words a text has most of; English where it has fewer than `least` of any other."""
    counted = Counter(name for word in words(text[:_READ_CHARS]) for name in _LANGUAGES.get(word, ()))
    name, most = max(counted.items(), key=lambda found: found[1], default=(_ENGLISH, 0))
    return name if most >= least + 2 * counted[_ENGLISH] else _ENGLISH


def index_terms(text: str, *, least: int = _LEAST) -> list[str]:
    """What a text is found by, in its order: its words, stemmed as its language has them, and pairs of characters."""
    language = language_of(text, least=least)
    spaced = _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run.group()))} ", text)
    return stems(spaced) if language == _ENGLISH else [_stem(language, word) for word in words(spaced)]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


@lru_cache(maxsize=200_000)
def _stem(language: str, word: str) -> str:
    return _stemmer(language).stemWord(word)


@lru_cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)
