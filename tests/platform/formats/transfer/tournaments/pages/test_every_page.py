"""Every address of the site works for a competition of the transfer format, for every reader and at every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from formats.query.challenges.models import Challenge
from formats.transfer.tournaments.models import Tournament
from pages.urls import urlpatterns
from submissions.models import Submission

NO_MEANING = {
    *("curves", "match_curves", "curves_csv", "match_curves_csv", "team_history"),
    *("best_known", "best_known_csv", "proof_images"),
    *("challenge", "challenge_image"),
}
"""Pages of other formats alone."""

NEEDS_MORE = {
    "objection_new",
    *("person", "page", "site_page", "citation_file", "terms", "logo", "brand_style", "security"),
    *("round", "round_file", "round_matrix", "round_matrix_csv", "round_gallery", "round_bracket", "share_round"),
    *("round_pair", "round_image", "figure_csv", "figure_svg", "history_table", "history_drawing"),
    *("match", "match_image", "match_table", "signing_key", "signing_keys", "log_after", "log_file", "smoke_picture"),
    *("objection_new", "objection_withdraw"),
    *("kit", "kit_requirements", "kit_requirements_players", "kit_pins", "kit_index", "kit_project", "kit_file"),
    *("webhooks", "webhook", "webhook_test", "webhook_enable", "webhook_remove", "webhook_send_again"),
}
"""Pages of things that the competition does not have, or that have nothing to do with formats."""

SLUG = "transfer"


def addresses(numbers: dict[str, int], track: str) -> dict[str, str]:
    """Return the address of every page that can be read, by its name."""
    values = {
        "slug": SLUG, "track_name": track, "number": numbers["submission"], "old": 1, "new": 1, "name": "best",
        "sample": 0, "attack": numbers["attack"], "defence": numbers["defence"],
        "model": numbers["submission"], "proof": 1,
    }  # fmt: skip
    found = {}
    for each in urlpatterns:
        names = each.pattern.converters
        if each.name in NEEDS_MORE or "user" in names or "token" in names or each.callback.__name__ in POSTS:
            continue
        team = each.name in {"team", "team_history", "team_feed"}
        args = {name: "owls" if team and name == "slug" else values[name] for name in names if name in values}
        if each.name == "manual":
            args = {"name": "scoring"}
        elif each.name == "manual_image":
            args = {"name": "home.webp"}
        found[str(each.name)] = reverse(f"pages:{each.name}", kwargs=args)
    return found


POSTS = {
    *("withdraw", "submit", "choose", "choose_newest", "invite", "accept", "decline", "accept_terms"),
    *("icon", "account", "upload_proof", "request_challenge"),
}


@pytest.mark.parametrize(("stage", "readers"), [("sent", [""]), ("played", ["", "captain-owls", "rita"])])
def test_every_page_answers(
    sent: dict[str, Submission],
    rita: User,
    request: pytest.FixtureRequest,
    reads: Counter[str],
    stage: str,
    readers: list[str],
) -> None:
    request.getfixturevalue(stage)
    for reader in readers:
        client = Client()
        if reader:
            client.force_login(User.objects.get(username=reader))
        _read(client, sent, reads, NO_MEANING | ({"challenge_new"} if reader else set()), stage)


def _read(
    client: Client, sent: dict[str, Submission], reads: Counter[str], no_meaning: Collection[str], stage: str
) -> None:
    """Every page answers but those without a meaning here, and reads rules once."""
    defence = sent["defence"].player_id or 0
    found: dict[str, dict[str, int]] = {}
    known: dict[str, int] = {}
    for name, submission in sent.items():
        track = submission.repository.track.name
        attack = sent["targeted" if name == "targeted" else "attack"].player_id or 0
        numbers = {"submission": submission.pk, "attack": attack, "defence": defence}
        for page, address in addresses(numbers, track).items():
            if address not in known:
                reads.clear()
                answer = client.get(address)
                known[address] = answer.status_code
                answer.getvalue()  # to its end, where the file of a download is closed
                assert reads["rules"] <= (2 if page == "rules_diff" else 1), address
            found.setdefault(track, {})[page] = known[address]
    for track, pages in found.items():
        pair = {"transfer_pair"} if stage == "sent" else set()
        matrix = {"matrix", "matrix_csv"} if track == "defence" else set()
        missing = {page for page, status in pages.items() if status == 404}
        assert missing == {*no_meaning, *pair, *matrix}
        assert {status for page, status in pages.items() if page not in missing} <= {200, 302}


def test_no_challenge_is_requested(client: Client, sent: dict[str, Submission]) -> None:
    client.force_login(User.objects.get(username="captain-owls"))
    address = reverse("pages:challenge_request", args=[sent["attack"].pk])
    page = client.post(address, {"opponent": "perceptron"}, follow=True).text
    assert "has no challenges" in page
    assert not Challenge.objects.exists()


def test_the_api_answers(client: Client, sent: dict[str, Submission], played: Tournament) -> None:
    names = {"leaderboard": [SLUG, "defence"], "competition": [SLUG], "competitions": [], "rounds": [SLUG]}
    for name, args in (names | {"submission": [sent["attack"].pk]}).items():
        assert client.get(reverse(f"api:{name}", args=args)).status_code == 200
