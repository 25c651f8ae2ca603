"""What each format gives to the pages over all formats is complete."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.template.loader import get_template

from competitions.formats import competition_formats
from pages.formats import PageFormat, formats_named, page_formats

NAMES = ("query", "transfer", "curves")


def templates_of(part: PageFormat) -> Iterator[str]:
    """Yield the templates that a format names without a competition."""
    guide, texts = part.guide(), part.round_texts
    yield part.home().drawing
    yield from (guide.tracks_template, guide.submission_template, guide.evaluation_template, guide.scores_template)
    yield from (texts.published, texts.in_short, texts.in_full)


@pytest.mark.parametrize("name", NAMES)
def test_the_templates_that_it_names_are_its_own(name: str) -> None:
    for template in templates_of(page_formats[name]):
        assert template.startswith(f"formats/{name}/")
        get_template(template)


@pytest.mark.parametrize(
    ("name", "tracks"),
    [
        ("query", ["model", "targeted", "untargeted"]),
        ("transfer", ["attack", "defence", "targeted_attack"]),
        ("curves", ["model"]),
    ],
)
def test_the_guide_begins_with_a_track_and_names_all(name: str, tracks: list[str]) -> None:
    guide = page_formats[name].guide()
    assert sorted(guide.tracks) == tracks
    assert guide.new_player == f"gauntlet new {guide.tracks[0]} ."
    assert page_formats[name].home().track in guide.tracks


@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_the_rules_has_a_label_and_a_meaning_of_one_sentence(name: str) -> None:
    reader = competition_formats[name].rules
    for rule in reader.names:
        text = reader.text(rule)
        assert text.label
        assert text.meaning.count(".") == 1
        assert text.meaning.endswith(".")


def test_formats_are_found_in_the_order_of_registration() -> None:
    parts = [page_formats[name] for name in page_formats]
    assert formats_named(set(page_formats)) == parts
    assert formats_named({NAMES[1]}) == [page_formats[NAMES[1]]]
    assert formats_named(set()) == formats_named({"unknown"}) == parts[:1]
