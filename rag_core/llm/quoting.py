"""Documents as a model is shown them: fenced, so that what they say is data and never an instruction."""


def quoted(text: str) -> str:
    """The text between passage tags; a closing tag of its own cannot get it out of them."""
    fenced = text.replace("</passage", "<\u200b/passage")
    return f"<passage>\n{fenced}\n</passage>"
