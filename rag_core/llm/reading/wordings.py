"""Other wordings: what a question abbreviates or names loosely, as documents write it out."""

from __future__ import annotations

import re

# Abbreviations and everyday names of reports and papers on the left; on the right the words that pages have.
_WORDINGS = {
    "capex": "capital expenditures purchases of property plant equipment",
    "capital expenditure": "purchases of property plant equipment",
    "ppe": "property plant equipment",
    "ppne": "property plant equipment",
    "pp&e": "property plant equipment",
    "opex": "operating expenses",
    "cogs": "cost of goods sold cost of sales",
    "sg&a": "selling general administrative expenses",
    "r&d": "research development",
    "d&a": "depreciation amortization",
    "ebit": "operating income",
    "ebitda": "operating income depreciation amortization",
    "eps": "earnings per share",
    "fcf": "free cash flow",
    "roe": "return on equity",
    "roa": "return on assets",
    "roi": "return on investment",
    "topline": "revenue net sales",
    "top line": "revenue net sales",
    "bottom line": "net income",
    "yoy": "year over year change",
    "p&l": "statement of income",
    "income statement": "statement of income operations earnings",
    "balance sheet": "statement of financial position",
    "cash flow statement": "statement of cash flows",
    "m&a": "mergers acquisitions",
    "headcount": "number of employees staff",
    "ceo": "chief executive officer",
    "cfo": "chief financial officer",
    "coo": "chief operating officer",
    "cto": "chief technology officer",
    "hr": "human resources",
    "faq": "frequently asked questions",
    "kpi": "key performance indicator",
    "sota": "state of the art",
}
_KNOWN = re.compile(
    rf"(?<!\w)({'|'.join(re.escape(name) for name in sorted(_WORDINGS, key=len, reverse=True))})(?:s|es)?(?!\w)",
    re.IGNORECASE,
)
_FISCAL_YEAR = re.compile(r"\b(?:FY|CY|fiscal(?:\s+year)?)\s?['’]?(\d{4}|\d{2})(?!\d)", re.IGNORECASE)


def other_wordings(question: str) -> list[str]:
    """What to search for besides the question's own words: long forms, and '2018' where it says FY18.

    Returns:
        In the order of the question, without duplicates; mostly nothing.
    """
    found = [(match.start(), _WORDINGS[match.group(1).lower()]) for match in _KNOWN.finditer(question)]
    for match in _FISCAL_YEAR.finditer(question):
        year = match.group(1) if len(match.group(1)) == 4 else f"20{match.group(1)}"
        found.append((match.start(), year))
    said = re.findall(r"\w+", question)
    return [words for words in dict.fromkeys(text for _, text in sorted(found)) if words not in said]
