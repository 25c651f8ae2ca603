"""Pages that the transfer format lacks say why, and so do cards without a row."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from competitions.models import Competition, FrozenLeaderboards


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("curves/attack", "In this format there are no distances"),
        ("match-curves", "In this format there are no matches"),
        ("matrix/untargeted", "The address is wrong"),
        ("matrix/defence", "The address is wrong"),
    ],
)
def test_a_page_that_a_format_lacks_says_why(client: Client, transfer: Competition, page: str, why: str) -> None:
    answer = client.get(f"/competitions/transfer/{page}")
    assert answer.status_code == 404
    assert why in answer.content.decode()


def test_cards_say_why_they_have_no_row(client: Client, transfer: Competition) -> None:
    address = "/competitions/transfer"
    assert "No scores yet." in client.get(address).content.decode()
    FrozenLeaderboards.objects.create(competition=transfer, since=timezone.now() - timedelta(days=1))
    page = client.get(address).content.decode()
    assert "Hidden during the freeze." in page
    assert "Scores are hidden since" in page
