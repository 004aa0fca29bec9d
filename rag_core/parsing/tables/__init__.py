"""Tables: their cells, what a reader takes from them, and where they are on a page.

`grids` is not among the names here: it needs PyMuPDF, which worker processes alone import.
"""

from rag_core.parsing.tables.cells import Cell, Row, as_text, header_rows, read_caption, read_html, width, write_html
from rag_core.parsing.tables.numbers import Quantity, is_nil, parse_number, scale_in, unit_in
from rag_core.parsing.tables.view import TableView

__all__ = [
    "Cell",
    "Quantity",
    "Row",
    "TableView",
    "as_text",
    "header_rows",
    "is_nil",
    "parse_number",
    "read_caption",
    "read_html",
    "scale_in",
    "unit_in",
    "width",
    "write_html",
]
