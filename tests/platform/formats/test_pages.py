"""What the formats give to the pages fits together."""

from __future__ import annotations

from collections import Counter

import pytest

from pages.formats import page_formats
from pages.urls import urlpatterns


@pytest.mark.parametrize("name", ["query", "transfer"])
def test_each_track_with_a_matrix_has_a_colour(name: str) -> None:
    part = page_formats[name]
    assert part.attack_tracks
    assert set(part.attack_tracks) < set(part.colours)


def test_no_format_takes_the_address_of_another_page() -> None:
    for values in ([each.name for each in urlpatterns], [str(each.pattern) for each in urlpatterns]):
        assert [value for value, count in Counter(values).items() if count > 1] == []
    names = {each.name for each in urlpatterns}
    for name in page_formats:
        assert {each.name for each in page_formats[name].urls()} <= names
