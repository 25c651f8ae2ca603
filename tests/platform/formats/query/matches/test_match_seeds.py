"""Seeds of matches: no team can change them without cost, and nobody outside the site can compute them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count

import pytest
from django.test import Client

from accounts.models import Team, User
from competitions.models import Competition, Entry, RulesVersion, SampleSet, Track
from competitions.services import export_competition
from formats.query.matches.match_requests import request_matches
from formats.query.matches.match_seeds import match_seed
from formats.query.matches.models import Match
from repositories.models import Repository
from submissions.models import Player
from tests.platform.formats.query.matches.whole_match import ensure_match

MakePlayer = Callable[..., Player]
Seed = Callable[[Player, Player], int]


@pytest.fixture
def sent(competition: Competition, tracks: dict[str, Track]) -> MakePlayer:
    """Create a player that a team submitted to a track, each with different content."""
    digests = count(1)

    def send(slug: str, kind: str) -> Player:
        at = competition.created_at
        team, _ = Team.objects.get_or_create(slug=slug, defaults={"name": slug, "created_at": at})
        entry, _ = Entry.objects.get_or_create(team=team, defaults={"competition": competition, "joined_at": at})
        repository, _ = Repository.objects.get_or_create(entry=entry, track=tracks[kind], defaults={"created_at": at})
        number = next(digests)
        return Player.objects.create(
            competition=competition,
            track_name=kind,
            digest=f"sha256:{number:064x}",
            title=f"submission {number}",
            command=["python"],
            repository=repository,
            commit=f"{number:040x}",
            created_at=at,
        )

    return send


@pytest.fixture
def seed(rules: RulesVersion, sample_sets: dict[str, SampleSet]) -> Seed:
    """Return the seed of a pair on the validation samples."""

    def of(model: Player, attack: Player) -> int:
        return match_seed(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)

    return of


def test_another_comment_does_not_change_the_seed(seed: Seed, sent: MakePlayer, model: Player, attack: Player) -> None:
    assert seed(sent("owls", "model"), attack) == seed(sent("owls", "model"), attack)
    assert seed(model, sent("owls", "untargeted")) == seed(model, sent("owls", "untargeted"))


def test_teams_tracks_and_opponents_have_different_seeds(
    seed: Seed, sent: MakePlayer, model: Player, attack: Player
) -> None:
    owls = sent("owls", "model")
    seeds = [
        seed(model, attack),
        seed(owls, attack),
        seed(sent("bats", "model"), attack),
        seed(owls, sent("bats", "untargeted")),
        seed(owls, sent("owls", "untargeted")),
        seed(owls, sent("bats", "targeted")),
    ]
    assert len(set(seeds)) == len(seeds)


def test_a_copy_of_a_baseline_that_a_team_submitted_first_has_the_seeds_of_the_baseline(
    seed: Seed, sent: MakePlayer, model: Player, attack: Player
) -> None:
    copy = sent("owls", "model")
    copy.baseline = model.baseline
    assert seed(copy, attack) == seed(model, attack)


def test_another_sample_set_and_other_rules_change_the_seed(
    seed: Seed, rules: RulesVersion, sample_sets: dict[str, SampleSet], model: Player, attack: Player
) -> None:
    elsewhere = match_seed(rules=rules, sample_set=sample_sets["development"], model=model, attack=attack)
    further = RulesVersion(competition=rules.competition, version=rules.version + 1, values=rules.values)
    later = match_seed(rules=further, sample_set=sample_sets["validation"], model=model, attack=attack)
    assert len({seed(model, attack), elsewhere, later}) == 3


def test_it_depends_on_the_secret_salt_of_the_competition(
    seed: Seed, competition: Competition, rules: RulesVersion, model: Player, attack: Player
) -> None:
    other = Competition.objects.create(
        slug="other",
        title="Other",
        starts_at=competition.starts_at,
        ends_at=competition.ends_at,
        created_at=competition.created_at,
    )
    assert len(competition.seed_salt) == len(other.seed_salt) == 64
    before = seed(model, attack)
    rules.competition.seed_salt = other.seed_salt
    assert seed(model, attack) != before


def test_the_salt_is_shown_to_nobody(competition: Competition, root_user: User, client: Client) -> None:
    client.force_login(root_user)
    page = client.get(f"/admin/competitions/competition/{competition.pk}/change/")
    assert page.status_code == 200
    assert competition.seed_salt not in page.content.decode()
    assert competition.seed_salt not in json.dumps(export_competition(competition), default=str)


def test_a_rejudging_uses_the_seed_of_the_match_that_it_repeats(
    rules: RulesVersion, sample_sets: dict[str, SampleSet], model: Player, attack: Player
) -> None:
    validation = sample_sets["validation"]
    first = ensure_match(rules=rules, sample_set=validation, model=model, attack=attack)
    Match.objects.filter(pk=first.pk).update(seed=5)  # as by an earlier version of the site
    (again,) = request_matches(
        rules=rules, sample_set=validation, pairs=[(model, attack)], upto=validation.count, repetition=7
    )
    assert (again.repetition, again.seed) == (7, 5)
