"""Small talk: greetings, thanks and goodbyes, which ask nothing of any document."""

from __future__ import annotations

import re

_HELLO = (
    r"(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day|night)|(?:hi|hello|hey) there"
    r"|hallo|guten (?:tag|morgen|abend)|bonjour|bonsoir|hola|buenos dias|ciao|salut|moin|servus)"
)
_THANKS = (
    r"(?:(?:ok(?:ay)?|great|good|perfect|nice|cool|super|wonderful|excellent|awesome|got it|i see|all right|alright)"
    r"|(?:many )?thanks(?: (?:a lot|so much|very much|again))?"
    r"|thank you(?: (?:so much|very much|again))?|thx|ty|cheers"
    r"|(?:that|this|it) (?:was|is) (?:very |really )?(?:helpful|great|good|perfect|all)|that(?:'s| is) all"
    r"|danke(?: (?:schon|schön|sehr))?|vielen dank|merci(?: beaucoup)?|gracias|muchas gracias|grazie|for your help)"
)
_BYE = (
    r"(?:bye(?: bye)?|goodbye|see you(?: later)?|have a (?:nice|good|great) (?:day|one|evening|weekend)|tschüss|adieu)"
)
_HOW_ARE_YOU = r"(?:how are you(?: doing)?(?: today)?|how(?:'s| is) it going|what(?:'s| is) up|nice to meet you)"
_TO_WHOM = r"(?:there|all|everyone|everybody|again|friend|ragscope|assistant|bot|team)"
_PHRASES = re.compile(rf"(?:(?:{_HELLO}|{_THANKS}|{_BYE}|{_HOW_ARE_YOU}|{_TO_WHOM})(?:\s+|$))+", re.IGNORECASE)


def bare_words(text: str) -> str:
    """A message without punctuation, quotation marks and emoji, spaces single, apostrophes straight."""
    return " ".join(re.sub(r"(?<!\w)'|'(?!\w)|[^\w\s'&-]+", " ", text.replace("’", "'")).split())


def is_small_talk(text: str) -> bool:
    """Whether a message is small talk and nothing else."""
    return bool(_PHRASES.fullmatch(bare_words(text)))


def reply_to(text: str) -> str:
    """A friendly line in return."""
    said = bare_words(text)
    if re.search(rf"\b{_BYE}\b", said, re.IGNORECASE):
        return "Goodbye."
    if re.search(rf"\b(?:{_HELLO}|{_HOW_ARE_YOU})\b", said, re.IGNORECASE):
        return "Hello. Ask me about your documents."
    return "You are welcome. Ask me more about your documents."
