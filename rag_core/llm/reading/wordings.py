"""Other wordings: what a question abbreviates or names loosely, as documents write it out."""

from __future__ import annotations

import re

# Abbreviations, ratios and everyday names of reports and papers on the left; on the right the words that pages have.
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
    "fcf": "free cash flow operating activities purchases of property plant equipment",
    "free cash flow": "cash flow operating activities purchases of property plant equipment",
    "roe": "return on equity net income shareholders equity",
    "roa": "return on assets net income total assets",
    "return on equity": "net income shareholders equity",
    "return on assets": "net income total assets",
    "roi": "return on investment",
    "topline": "revenue net sales",
    "top line": "revenue net sales",
    "bottom line": "net income",
    "pre-tax": "before income taxes",
    "pretax": "before income taxes",
    "effective tax rate": "provision for income taxes income before taxes",
    "gross margin": "gross profit net sales cost of sales",
    "operating margin": "operating income net sales revenue",
    "working capital": "total current assets total current liabilities",
    "current ratio": "total current assets total current liabilities",
    "quick ratio": "cash receivables total current liabilities",
    "asset turnover": "total assets net sales revenue",
    "inventory turnover": "cost of sales inventories",
    "interest coverage": "operating income interest expense",
    "payout ratio": "dividends paid net income",
    "dpo": "days payable outstanding accounts payable cost of sales",
    "dso": "days sales outstanding accounts receivable revenue",
    "days payable outstanding": "accounts payable cost of sales",
    "days sales outstanding": "accounts receivable revenue",
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
    found += [(match.start(), _in_full(match.group(1))) for match in _FISCAL_YEAR.finditer(question)]
    said = re.findall(r"\w+", question)
    return [words for words in dict.fromkeys(text for _, text in sorted(found)) if words not in said]


def of_fiscal_year(question: str) -> bool:
    """Whether a question is for a fiscal year: 'FY18', 'fiscal 2018'."""
    return _FISCAL_YEAR.search(question) is not None


def _in_full(year: str) -> str:
    return year if len(year) == 4 else f"20{year}"
