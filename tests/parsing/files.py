"""Small files that are no PDF, made for the tests. Each says the same of a harbour, with a table of catches."""

from __future__ import annotations

import io
from pathlib import Path

import docx
import openpyxl
import pptx
from PIL import Image, ImageDraw, ImageFont
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

TIDE = "The harbour authority of Oban measured the tide 730 times a year."
ROWS = (("Region", "Catch", "Share"), ("North", "1,455", "38%"), ("South", "1,002", "26%"))


def picture(size: tuple[int, int] = (300, 200)) -> bytes:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).ellipse((20, 20, size[0] - 20, size[1] - 20), fill="navy")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def word(path: Path) -> Path:
    document = docx.Document()
    document.core_properties.title = "Harbour Report"
    document.add_heading("Tides", 1)
    document.add_heading("The ledger", 2)
    document.add_paragraph(TIDE)
    document.add_paragraph("Read back by a second clerk", style="List Bullet")
    document.add_paragraph("Table 1: Catch by region, in tonnes")
    table = document.add_table(len(ROWS), len(ROWS[0]))
    for row, cells in enumerate(ROWS):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    document.add_picture(io.BytesIO(picture()))
    document.add_paragraph("Figure 1: The harbour")
    document.sections[0].header.paragraphs[0].text = "Confidential"
    document.save(str(path))
    return path


def slides(path: Path) -> Path:
    """Three slides: bullets and notes, a table and a picture, a chart. Two have the same title."""
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Tides"
    first.placeholders[1].text_frame.text = TIDE
    first.placeholders[1].text_frame.add_paragraph().text = "Read back by a second clerk"
    first.notes_slide.notes_text_frame.text = "Thank the clerks."
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Results"
    table = second.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(1)).table
    for row, cells in enumerate(ROWS):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    second.shapes.add_picture(io.BytesIO(picture()), Inches(1), Inches(5))
    third = deck.slides.add_slide(deck.slide_layouts[5])
    third.shapes.title.text = "Results"
    data = CategoryChartData()
    data.categories = ["2022", "2023"]
    data.add_series("Catch", (2225, 2457))
    chart = third.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(2), Inches(5), Inches(4), data)
    chart.chart.has_title = True
    chart.chart.chart_title.text_frame.text = "Catch by year"
    deck.save(str(path))
    return path


def excel(path: Path) -> Path:
    """Two sheets; the first with a title above its table and a note under it."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Catches"
    sheet.append(["Catch by region of Oban harbour (in tonnes)"])
    sheet.append(["Region", "Catch", "Share"])
    sheet.append(["North", 1455, 0.384])
    sheet.append(["South", 1002, 0.264])
    sheet.append([])
    sheet.append(["Counted twice a day."])
    for row in (3, 4):
        sheet.cell(row, 2).number_format = "#,##0"
        sheet.cell(row, 3).number_format = "0.0%"
    book.create_sheet("Clerks").append(["Name", "Since"])
    book.worksheets[1].append(["Isla", 1998])
    book.save(path)
    return path


def scan(path: Path) -> Path:
    image = Image.new("RGB", (1240, 1000), "white")
    font = ImageFont.load_default(34)
    ImageDraw.Draw(image).multiline_text((80, 80), TIDE.replace("measured", "\nmeasured"), "black", font, spacing=20)
    image.save(path)
    return path
