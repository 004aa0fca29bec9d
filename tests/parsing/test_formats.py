from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pymupdf
import pytest

from rag_core.errors import PdfParseError
from rag_core.parsing import Parsed, Parser
from rag_core.parsing.formats.kinds import view_of
from rag_core.parsing.formats.sheets import read_csv
from rag_core.parsing.tables import read_html
from rag_core.settings import Settings
from rag_core.types import Box, Element
from tests.parsing import files, pdfs

Read = Callable[..., Parsed]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def of_kind(parsed: Parsed, kind: str) -> list[Element]:
    return [element for element in parsed.elements if element.kind == kind]


def texts(parsed: Parsed, kind: str) -> list[str]:
    return [element.text for element in of_kind(parsed, kind)]


def text_in(path: Path, page: int, box: Box) -> str:
    """What is drawn in a box of the view of a file."""
    with pymupdf.open(view_of(path)) as view:
        drawn = view[page - 1].get_text(clip=(box.x0, box.y0, box.x1, box.y1), flags=pymupdf.TEXT_PRESERVE_WHITESPACE)
        return " ".join(drawn.split())


def is_lit(path: Path, element: Element) -> bool:
    """Whether the words of an element stand in its box on its page, and nowhere else."""
    (box,) = element.place.boxes
    return text_in(path, element.place.page, box) == " ".join(element.text.replace("|", "").split())


def refusal(parser: Parser, path: Path) -> PdfParseError:
    with pytest.raises(PdfParseError) as caught:
        parser.inspect(path)
    return caught.value


# every family


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: files.word(folder / "a.docx"),
        lambda folder: files.slides(folder / "a.pptx"),
        lambda folder: files.excel(folder / "a.xlsx"),
        lambda folder: written(folder / "a.csv", "Name,Note\nOban,A harbour in Scotland\n"),
        lambda folder: written(folder / "a.html", f"<h1>Tides</h1><p>{files.TIDE}</p>"),
        lambda folder: written(folder / "a.md", f"# Tides\n\n{files.TIDE}\n"),
        lambda folder: written(folder / "a.txt", f"Tides\n\n{files.TIDE}\n"),
    ],
)
def test_each_element_is_where_its_words_are_drawn(
    tmp_path: Path, read: Read, parser: Parser, make: Callable[[Path], Path]
) -> None:
    path = make(tmp_path)
    parsed = read(path, "full")
    assert parsed.elements
    assert all(is_lit(path, element) for element in parsed.elements if element.kind != "figure")
    assert parser.render(path, 1).startswith(b"\x89PNG")
    assert texts(read(path, "quick"), "text") == texts(parsed, "text"), "only pictures are left to be refined"
    assert parser.inspect(path).page_sizes == parsed.page_sizes


def test_a_view_is_made_once_and_anew_when_the_file_changes(tmp_path: Path, read: Read) -> None:
    path = written(tmp_path / "a.txt", "Ebb and flow.")
    read(path)
    first = view_of(path).stat().st_mtime_ns
    read(path)
    assert view_of(path).stat().st_mtime_ns == first
    assert texts(read(written(path, "Spring tide.")), "text") == ["Spring tide."]


def test_where_no_view_can_be_written_that_is_said(tmp_path: Path, parser: Parser) -> None:
    path = written(tmp_path / "a.txt", "Ebb and flow.")
    view_of(path).mkdir()
    os.utime(view_of(path), (0, 0))
    error = refusal(parser, path)
    assert (error.code, "Make room" in error.reason) == ("unwritable", True)
    assert [found.name for found in tmp_path.iterdir() if found.name.endswith(".part")] == []


# Word


def test_word_gives_headings_lists_tables_pictures_and_captions(tmp_path: Path, read: Read) -> None:
    parsed = read(files.word(tmp_path / "a.docx"), "full")
    assert parsed.title == "Harbour Report"
    assert texts(parsed, "title") == ["Tides", "The ledger"]
    assert texts(parsed, "header") == ["Confidential"]
    said = next(element for element in parsed.elements if element.text == files.TIDE)
    assert said.section == ("Tides", "The ledger")
    kinds = [element.kind for element in parsed.elements]
    assert kinds[-4:] == ["caption", "table", "caption", "figure"]
    table, figure = of_kind(parsed, "table")[0], of_kind(parsed, "figure")[0]
    assert [[cell.text for cell in row] for row in read_html(table.html or "")] == [list(row) for row in files.ROWS]
    assert (tmp_path / "figures" / (figure.image or "")).is_file()


def test_where_word_noted_its_page_ends_its_pages_are_ours(tmp_path: Path, read: Read) -> None:
    path = files.word(tmp_path / "a.docx")
    parts = dict(_members(path))
    body = parts["word/document.xml"].decode()
    noted = body.replace("<w:t>Read back", "<w:lastRenderedPageBreak/><w:t>Read back", 1)
    assert noted != body
    _write_members(path, {**parts, "word/document.xml": noted.encode()})
    parsed = read(path)
    assert parsed.pages == 2
    assert next(e for e in parsed.elements if "second clerk" in e.text).place.page == 2


# slides


def test_a_slide_is_a_page_with_its_title_as_section(tmp_path: Path, read: Read) -> None:
    parsed = read(files.slides(tmp_path / "a.pptx"), "full")
    assert parsed.pages == 3
    assert texts(parsed, "title") == ["Tides", "Results", "Results"]
    assert texts(parsed, "list") == [f"• {files.TIDE}", "• Read back by a second clerk"]
    assert texts(parsed, "footnote") == ["Thank the clerks."]
    assert {element.section for element in of_kind(parsed, "table")} == {("Results",)}
    assert [element.place.page for element in of_kind(parsed, "figure")] == [2]


def test_the_numbers_of_a_chart_are_a_table_under_its_title(tmp_path: Path, read: Read) -> None:
    parsed = read(files.slides(tmp_path / "a.pptx"))
    chart = of_kind(parsed, "table")[-1]
    assert (chart.place.page, chart.text) == (3, "Catch\n2022 | 2225\n2023 | 2457")
    assert texts(parsed, "caption") == ["Catch by year"]


# sheets


def test_a_sheet_begins_a_page_under_its_name_with_values_as_excel_shows_them(tmp_path: Path, read: Read) -> None:
    parsed = read(files.excel(tmp_path / "a.xlsx"))
    assert texts(parsed, "title") == ["Catches", "Clerks"]
    catches, clerks = of_kind(parsed, "table")
    assert catches.text == "Region | Catch | Share\nNorth | 1,455 | 38.4%\nSouth | 1,002 | 26.4%"
    assert (clerks.place.page, clerks.section) == (2, ("Clerks",))
    assert texts(parsed, "caption") == ["Catch by region of Oban harbour (in tonnes)"]
    assert texts(parsed, "text") == ["Counted twice a day."]


def test_a_cell_knows_where_it_is_drawn(tmp_path: Path, read: Read) -> None:
    path = files.excel(tmp_path / "a.xlsx")
    table = of_kind(read(path), "table")[0]
    for row in read_html(table.html or ""):
        for cell in row:
            assert cell.box
            assert text_in(path, 1, cell.box) == cell.text


def test_a_long_table_goes_over_pages_between_its_rows_under_its_header(tmp_path: Path, read: Read) -> None:
    lines = "".join(f"{number},{'many words ' * (number % 9)}\n" for number in range(1, 301))
    path = written(tmp_path / "a.csv", "Number,Note\n" + lines)
    tables = of_kind(read(path), "table")
    rows = [[[cell.text for cell in row] for row in read_html(table.html or "")] for table in tables]
    assert len(tables) > 3
    assert [table.place.page for table in tables] == list(range(1, len(tables) + 1))
    assert {tuple(part[0]) for part in rows} == {("Number", "Note")}
    assert [row[0] for part in rows for row in part[1:]] == [str(number) for number in range(1, 301)]
    assert all(is_lit(path, table) for table in tables)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_is_read_whatever_parts_its_values(tmp_path: Path, read: Read, delimiter: str) -> None:
    lines = [["Name", "Note"], ["Oban", '"far, but; worth | it"'], ["Mull", "an island"]]
    path = written(tmp_path / "a.csv", "\n".join(delimiter.join(line) for line in lines))
    (table,) = of_kind(read(path), "table")
    assert table.text.split("\n")[1] == "Oban | far, but; worth | it"


def test_what_is_beyond_the_bounds_is_left_out_and_said(tmp_path: Path, read: Read) -> None:
    path = written(tmp_path / "a.csv", ",".join(map(str, range(1_000, 1_150))) + "\n" + "2," * 149 + "2\n")
    parsed = read(path)
    assert "1099" in parsed.elements[0].text
    assert "1100" not in parsed.elements[0].text
    (failed,) = parsed.failed
    assert (failed.page, failed.reason) == (1, "the file: its columns after 100 were left out")


def test_of_a_huge_sheet_its_first_rows_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "Number,Half\n" + "".join(f"{number},5\n" for number in range(20_500)))
    (flow,) = read_csv(path).flows
    assert len(flow.pieces[0].rows) == 20_000
    assert flow.left_out == "the file: its rows after 20,000 were left out"


def test_a_wide_sheet_has_a_wide_page(tmp_path: Path, read: Read) -> None:
    path = written(tmp_path / "a.csv", ",".join(f"column {number}" for number in range(40)) + "\n" + "1," * 39 + "1")
    parsed = read(path)
    assert parsed.page_sizes[0][0] > 2_000
    assert is_lit(path, parsed.elements[0])


def test_a_row_that_no_page_holds_goes_on_as_text(tmp_path: Path, read: Read) -> None:
    long = " ".join(f"word{number}" for number in range(900))
    path = written(tmp_path / "a.csv", f"Name,Note\nOban,{long[:4_990]}\nMull,short\n")
    parsed = read(path)
    said = " ".join(element.text for element in parsed.elements)
    assert "word5 " in said
    assert "word600" in said
    assert "Mull | short" in said


# the web


PAGE = """<!DOCTYPE html><html><head><title>Harbour &amp; tide</title><script>alert("SCRIPT")</script>
<style>p {color: red}</style></head><body onload="alert(1)"><nav><a href="/">Home</a></nav>
<h1>Tides</h1><p>The <b>harbour</b>&nbsp;measured<br>them. <span style="display: none">HIDDEN</span></p>
<h2>Gear</h2><ul><li>rod<ul><li>copper</li></ul></li></ul><ol start="3"><li><p>third</p></li></ol>
<pre>level = 1
  if level:</pre>
<table><caption>Heights</caption><tr><th rowspan="2">Year</th><th>High</th></tr><tr><td>4.1</td></tr></table>
<img src="http://127.0.0.1:9/x.png" alt="A chart of tides"><iframe src="http://127.0.0.1:9/"></iframe>
<div>Loose <div>Inner</div> words</div></body></html>"""


def test_a_web_page_gives_what_a_reader_sees(tmp_path: Path, read: Read) -> None:
    parsed = read(written(tmp_path / "a.html", PAGE))
    assert parsed.title == "Harbour & tide"
    assert [(e.kind, e.text) for e in parsed.elements] == [
        ("title", "Tides"),
        ("text", "The harbour measured them."),
        ("title", "Gear"),
        ("list", "• rod"),
        ("list", "• copper"),
        ("list", "3. third"),
        ("text", "level = 1\n  if level:"),
        ("caption", "Heights"),
        ("table", "Year | High\n4.1"),
        ("text", "A chart of tides"),
        ("text", "Loose"),
        ("text", "Inner"),
        ("text", "words"),
    ]
    assert 'rowspan="2"' in (of_kind(parsed, "table")[0].html or "")


def test_a_table_that_only_lays_out_a_page_is_no_table(tmp_path: Path, read: Read) -> None:
    path = written(tmp_path / "a.html", "<table><tr><td><h2>Left</h2>one</td><td><ul><li>two</ul></td></tr></table>")
    assert [(e.kind, e.text) for e in read(path).elements] == [("title", "Left"), ("text", "one"), ("list", "• two")]


def test_markdown_gives_headings_lists_code_and_tables(tmp_path: Path, read: Read) -> None:
    text = "---\ntitle: Front\n---\n# Tides\n\n1. one\n\n```\nx = 1\n```\n\n| A | B |\n|---|---|\n| 1 | 2 |\n"
    assert [(e.kind, e.text) for e in read(written(tmp_path / "a.md", text)).elements] == [
        ("text", "title: Front"),
        ("title", "Tides"),
        ("list", "1. one"),
        ("text", "x = 1"),
        ("table", "A | B\n1 | 2"),
    ]


# text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
def test_text_is_read_in_its_encoding(tmp_path: Path, read: Read, encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path = written(tmp_path / "a.txt", mark + "Ebbe für Ålesund".encode(encoding))
    assert texts(read(path), "text") == ["Ebbe für Ålesund"]


def test_a_web_page_is_read_in_the_encoding_that_it_declares(tmp_path: Path, read: Read) -> None:
    path = written(tmp_path / "a.html", '<meta charset="windows-1251"><p>Прилив</p>'.encode("cp1251"))
    assert texts(read(path), "text") == ["Прилив"]


def test_lines_that_an_editor_wrapped_are_joined_and_others_are_not(tmp_path: Path, read: Read) -> None:
    wrapped = "The harbour authority of Oban measured the tide twice a day\nand wrote each figure into a bound ledger."
    path = written(tmp_path / "a.txt", f"TIDES\n\n{wrapped}\n\n12 High St\nOban\n\n- rod\n- line\n\fNext page.\n")
    parsed = read(path)
    assert [(e.kind, e.text) for e in parsed.elements] == [
        ("title", "TIDES"),
        ("text", wrapped.replace("\n", " ")),
        ("text", "12 High St"),
        ("text", "Oban"),
        ("list", "- rod"),
        ("list", "- line"),
        ("text", "Next page."),
    ]
    assert [e.place.page for e in parsed.elements][-2:] == [1, 2]


def test_a_paragraph_that_no_page_holds_is_cut_and_loses_nothing(tmp_path: Path, read: Read) -> None:
    long = " ".join(f"word{number}" for number in range(4_000))
    path = written(tmp_path / "a.txt", long)
    parsed = read(path)
    assert " ".join(element.text for element in parsed.elements) == long
    assert parsed.pages > 2
    assert all(is_lit(path, element) for element in parsed.elements)


# pictures


@pytest.mark.parametrize("suffix", ["png", "jpg", "tiff"])
def test_a_picture_is_read_as_a_scan(tmp_path: Path, read: Read, suffix: str) -> None:
    parsed = read(files.scan(tmp_path / f"a.{suffix}"), "full")
    assert parsed.pages == 1
    assert max(parsed.page_sizes[0]) == 842
    assert files.TIDE in " ".join(element.text for element in parsed.elements)


# what a file is, and what is refused


def test_what_a_file_is_goes_by_its_content(tmp_path: Path, read: Read) -> None:
    word = files.word(tmp_path / "a.docx").rename(tmp_path / "a.txt")
    assert "Tides" in texts(read(word), "title")
    pdf = pdfs.report(tmp_path / "b.docx")
    assert "1 Tides" in [element.text for element in read(pdf).elements]
    assert not view_of(pdf).exists()


def _members(path: Path) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _write_members(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def bomb(path: Path) -> Path:
    """A Word file of half a megabyte that unpacks to six hundred."""
    with zipfile.ZipFile(files.word(path), "a", zipfile.ZIP_DEFLATED) as archive, archive.open("x", "w") as member:
        for _ in range(600):
            member.write(b"\0" * 1_000_000)
    return path


def huge_picture(path: Path) -> Path:
    header = (60_000).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    return written(path, files.picture()[:16] + header + files.picture()[29:])


@pytest.mark.parametrize(
    ("make", "code", "says"),
    [
        (lambda folder: bomb(folder / "a.docx"), "too_large", "unpacks to"),
        (lambda folder: huge_picture(folder / "a.png"), "unreadable", "too large"),
        (lambda folder: written(folder / "a.docx", b"PK\x03\x04" + b"x" * 500), "unreadable", "Save it again"),
        (lambda folder: written(folder / "a.zip", _archive({"a": b"b"})), "unsupported", "DOCX"),
        (lambda folder: written(folder / "a.docx", _archive({"word/document.xml": b"<x"})), "unreadable", "damaged"),
        (lambda folder: written(folder / "a.txt", b"\0\1\2" * 900), "unsupported", "PDF"),
        (lambda folder: written(folder / "a.exe", b"MZ\x90 of any kind"), "unsupported", "PDF"),
        (lambda folder: written(folder / "a.txt", b" \n "), "no_pages", "nothing in it"),
        (lambda folder: written(folder / "a.html", b"<script>1</script>"), "no_pages", "nothing in it"),
        (lambda folder: written(folder / "a.csv", b"\n\n"), "no_pages", "nothing in it"),
        (lambda folder: written(folder / "a.docx", b""), "empty", "empty"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(
    tmp_path: Path, parser: Parser, make: Callable[[Path], Path], code: str, says: str
) -> None:
    error = refusal(parser, make(tmp_path))
    assert error.code == code
    assert says in error.reason
    assert error.reason.endswith(".")


def _archive(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_more_pages_than_allowed_are_refused(tmp_path: Path) -> None:
    small = Parser(Settings(max_pages=2))
    error = refusal(small, written(tmp_path / "a.txt", "Ebb.\n\f" * 4))
    small.close()
    assert error.code == "too_many_pages"
    assert "RAGSCOPE_MAX_PAGES" in error.reason


def test_entities_of_a_hostile_sheet_do_not_grow(tmp_path: Path, parser: Parser) -> None:
    path = files.excel(tmp_path / "a.xlsx")
    grown = (
        b'<!DOCTYPE x [<!ENTITY a "'
        + b"ha" * 1000
        + b'">'
        + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 50) for n in range(6))
    )
    members = {
        name: data.replace(b"<worksheet", grown + b"]><worksheet", 1).replace(b"Isla", b"&g;")
        if name.endswith("sheet2.xml")
        else data
        for name, data in _members(path)
    }
    _write_members(path, members)
    assert refusal(parser, path).code == "unreadable"


def test_macros_are_left_alone(tmp_path: Path, read: Read) -> None:
    openpyxl.load_workbook(files.excel(tmp_path / "a.xlsx")).save(tmp_path / "a.xlsm")
    assert texts(read(tmp_path / "a.xlsm"), "title") == ["Catches", "Clerks"]
    path = files.word(tmp_path / "a.docm")
    members = dict(_members(path))
    types = members["[Content_Types].xml"]
    plain = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    members["[Content_Types].xml"] = types.replace(plain, b"application/vnd.ms-word.document.macroEnabled.main+xml")
    _write_members(path, {**members, "word/vbaProject.bin": b"macro"})
    assert texts(read(path), "title") == ["Tides", "The ledger"]


def old_office(path: Path, stream: str) -> Path:
    """A compound file (MS-CFB), as Office wrote until 2003 and writes around what is encrypted; its stream is empty."""
    free, end = b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff"
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<4I", 0, 1, 1, 0) + struct.pack("<I", 4096) + end + bytes(4) + end + bytes(4)
    head += bytes(4) + free * 108
    table = b"\xfd\xff\xff\xff" + end + free * 126

    def entry(name: str, kind: int, child: bytes) -> bytes:
        coded = (name + "\0").encode("utf-16-le") if name else b""
        body = coded.ljust(64, b"\0") + struct.pack("<HBB", len(coded), kind, 1) + free + free + child
        return body.ljust(116, b"\0") + end + bytes(8)

    directory = entry("Root Entry", 5, struct.pack("<I", 1)) + entry(stream, 2, free)
    return written(path, head + table + directory + entry("", 0, free) * 2)


@pytest.mark.parametrize(
    ("stream", "code", "says"),
    [
        ("WordDocument", "unsupported", "Save it as DOCX."),
        ("Workbook", "unsupported", "Save it as XLSX."),
        ("PowerPoint Document", "unsupported", "Save it as PPTX."),
        ("EncryptedPackage", "protected", "Save it without one."),
        ("Something else", "unsupported", "PDF first."),
    ],
)
def test_old_and_protected_office_files_are_refused_with_what_to_do(
    tmp_path: Path, parser: Parser, stream: str, code: str, says: str
) -> None:
    error = refusal(parser, old_office(tmp_path / "a.docx", stream))
    assert (error.code, error.reason.endswith(says)) == (code, True)
