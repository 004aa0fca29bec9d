"""What the documents say is so."""

from __future__ import annotations

import re

import pytest

from rag_core.settings import ROOT, Settings

SETTINGS = (ROOT / "docs" / "settings.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("field", Settings.model_fields.values(), ids=lambda field: field.alias)
def test_every_setting_is_listed_with_its_description(field) -> None:
    assert re.search(rf"^\| `{field.alias}` \| .+ \| {re.escape(field.description)} \|$", SETTINGS, re.MULTILINE)


def test_no_setting_is_listed_that_is_not_there() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", SETTINGS, re.MULTILINE)
    assert sorted(listed) == sorted(field.alias for field in Settings.model_fields.values())


def test_every_default_is_said_in_words_or_as_a_value() -> None:
    assert "Undefined" not in SETTINGS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_lead_to_files(page) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


def test_the_rooms_of_the_house_are_there() -> None:
    rooms = re.findall(r"^\| `(rag_core/[\w./]+)`", (ROOT / "docs" / "house.md").read_text(), re.MULTILINE)
    assert rooms
    assert [room for room in rooms if not (ROOT / room).exists()] == []
