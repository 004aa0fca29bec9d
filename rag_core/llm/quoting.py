"""Documents as a model is shown them: fenced, so that what they say is data and never an instruction."""

import re


def quoted(text: str) -> str:
    """The text between passage tags; a closing tag of its own cannot get it out of them."""
    return f"<passage>\n{without_tags(text)}\n</passage>"


def without_tags(text: str, tag: str = "passage") -> str:
    """The text with its own closing tags spoilt, for prompts that have the tags around it."""
    return re.sub(rf"<(?=\s*/\s*{tag})", "<\u200b", text, flags=re.IGNORECASE)
