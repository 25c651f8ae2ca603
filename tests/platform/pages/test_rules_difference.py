"""Differences between two versions of the rules."""

from __future__ import annotations

import pytest
from django.test import Client

from competitions.models import Competition, RulesVersion
from competitions.rules_difference import differences

PAGE = "/competitions/digits/rules"


@pytest.fixture
def newer(rules: RulesVersion) -> RulesVersion:
    """Version 2: more queries, with `opponents`, without `piece_samples`."""
    values = {name: value for name, value in rules.values.items() if name != "piece_samples"}
    return RulesVersion.objects.create(
        competition=rules.competition,
        version=2,
        values=values | {"query_budget": 1000, "opponents": 5},
        note="**More** queries",
        created_at=rules.created_at,
    )


def test_a_changed_value_is_shown_before_and_after_in_either_direction(client: Client, newer: RulesVersion) -> None:
    page = client.get(f"{PAGE}/1..2").content.decode()
    for text in ("<del>50</del>", "<ins>1,000</ins>", "<strong>More</strong>", "4 values unchanged"):
        assert text in page
    assert f"{PAGE}/2..1" in page
    back = client.get(f"{PAGE}/2..1").content.decode()
    assert "<del>1,000</del>" in back
    assert "<strong>More</strong>" not in back


def test_each_value_has_a_kind(rules: RulesVersion, newer: RulesVersion) -> None:
    found = {row.name: row for row in differences(rules, newer)}
    assert [found[name].kind for name in ("query_budget", "opponents", "piece_samples", "shape")] == [
        "changed",
        "added",
        "removed",
        "unchanged",
    ]
    assert (found["piece_samples"].before, found["piece_samples"].after) == ("2", "10"), "the default of 2018"
    assert found["opponents"].same_effect
    assert not found["piece_samples"].same_effect
    assert found["shape"].after == "64 x 64 x 3"
    assert [row.kind for row in differences(rules, newer)][-1] == "unchanged"
    assert {row.kind for row in differences(newer, newer)} == {"unchanged"}


def test_the_rules_page_links_to_it(client: Client, newer: RulesVersion) -> None:
    assert f'href="{PAGE}/1..2"' in client.get(PAGE).content.decode()


@pytest.mark.parametrize("versions", ["1..3", "3..1", "1..", "a..b", "-1..1", f"1..{10**30}"])
def test_it_rejects_unknown_versions(client: Client, newer: RulesVersion, versions: str) -> None:
    assert client.get(f"{PAGE}/{versions}").status_code == 404


def test_it_rejects_users_of_a_hidden_competition(client: Client, newer: RulesVersion) -> None:
    Competition.objects.update(public=False)
    assert client.get(f"{PAGE}/1..2").status_code == 404
