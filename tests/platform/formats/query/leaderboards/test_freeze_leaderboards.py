"""Frozen leaderboards, and who sees what meanwhile."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import pytest
from django.test import Client

from accounts.models import Membership, Team, User
from competitions.models import Entry, FrozenLeaderboards, Organiser, Track
from core.errors import Refusal
from core.models import Event
from core.roles import OrganiserRole
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Pool, Snapshot
from formats.query.leaderboards.score_visibility import board, public_evaluation_of
from formats.query.leaderboards.snapshots_and_freezes import freeze_leaderboards, take_snapshot, unfreeze_leaderboards
from formats.query.leaderboards.withdrawn_evaluations import end_withdrawn
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

ROLES = ("anonymous", "charlie", "bob", "dora", "olga")
"""Bob belongs to the Owls, Dora to the Doves; Olga organises."""


@dataclass(frozen=True)
class Scenario:
    """The Owls' model on the leaderboard, and the one scored since."""

    env: BoardFixture
    old: Submission
    new: Submission


@pytest.fixture
def scenario(
    env: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, charlie: User, olga: User, attack_pool: Pool
) -> Scenario:
    """The Owls scored 1.25, the Doves 2.125; then the boards were frozen, and the Owls scored 3.875 and the Doves 4.625
    with what they had."""
    doves = env.entry("doves")
    dora = User.objects.create_user("dora", "dora@example.org")
    Membership.objects.create(team=doves.team, user=dora, role="captain", joined_at=the_clock.at)
    old = env.submission(entry, "model", alice)
    env.score(old, 1.25)
    theirs = env.submission(doves, "model", dora)
    env.score(theirs, 2.125)
    the_clock.forward(hours=1)
    freeze_leaderboards(competition=env.competition, by=olga, reason="The final is near")
    the_clock.forward(hours=1)
    new = env.submission(entry, "model", alice)
    env.score(new, 3.875)
    env.pool("untargeted", "stronger")
    env.score(theirs, 4.625)
    return Scenario(env, old, new)


class Row(NamedTuple):
    """An address, a text, and the roles that see it there."""

    address: str
    text: str
    readers: tuple[str, ...]


PUBLIC_BOARDS = (
    "/",
    "/competitions/digits",
    "/competitions/digits/leaderboards/model",
    "/competitions/digits/leaderboards/model?seen=0",
    "/api/v1/competitions/digits/leaderboards/model",
)
TABLE = [
    *(Row(page, text, ("anonymous", "charlie", "bob", "dora")) for page in PUBLIC_BOARDS for text in ("1.25", "2.125")),
    *(Row(page, text, ("olga",)) for page in PUBLIC_BOARDS for text in ("3.87", "4.62")),
    *(Row(page, "The final is near", ("anonymous", "charlie", "bob", "dora")) for page in PUBLIC_BOARDS),
    Row("/teams/owls", "1.25", ROLES),
    Row("/teams/owls", "3.87", ("bob", "olga")),
    Row("/teams/owls?state=ready", "3.87", ("bob", "olga")),
    Row("/teams/doves", "2.125", ROLES),  # the organiser sees it in the history
    Row("/teams/doves", "4.62", ("dora", "olga")),
    Row("/submissions/{new}", "3.87", ("bob", "olga")),
    Row("/submissions/{new}", "Only the team can see newer scores", ("anonymous", "charlie", "dora")),
    Row("/submissions/{new}?seen=0&build=none", "3.87", ("bob", "olga")),
    Row("/submissions/{new}?seen=0", "3.87", ()),
    Row("/submissions/{new}?seen=0", "Only the team can see newer scores", ("anonymous", "charlie", "dora")),
    Row("/submissions/{old}", "1.25", ROLES),
    Row("/submissions/{old}", "Only the team can see newer scores", ()),
    Row("/submissions/{theirs}", "2.125", ("anonymous", "charlie", "bob", "olga")),  # she reads what the new pool did
    Row("/submissions/{theirs}", "4.62", ("dora", "olga")),
    Row("/api/v1/submissions/{new}", "3.87", ("bob", "olga")),
    Row("/api/v1/submissions/{theirs}", "2.125", ("anonymous", "charlie", "bob")),
    Row("/api/v1/submissions/{theirs}", "4.62", ("dora", "olga")),
    Row("/api/v1/submissions/{new}/evaluations", "3.87", ("bob", "olga")),
    Row("/api/v1/submissions/{theirs}/evaluations", "2.125", ROLES),
    Row("/api/v1/submissions/{theirs}/evaluations", "4.62", ("dora", "olga")),
    Row("/api/v1/submissions?team=owls", "3.87", ()),
    Row("/api/v1/competitions/digits/leaderboards/model?at=2026-11-21T13:30Z", "3.87", ()),
    Row("/api/v1/competitions/digits", "3.87", ()),
    Row("/status", "3.87", ()),
]


def look(client: Client, scenario: Scenario, address: str) -> str:
    theirs = Submission.objects.get(repository__entry__team__slug="doves")
    at = address.format(new=scenario.new.pk, old=scenario.old.pk, theirs=theirs.pk)
    headers = {"HX-Request": "true"} if "seen=" in at else {}
    return client.get(at, headers=headers).content.decode()


@pytest.mark.usefixtures("others_read_first")
def test_a_frozen_board_shows_the_scores_of_the_freeze_until_it_is_unfrozen(
    scenario: Scenario, client: Client, olga: User
) -> None:
    track = scenario.env.tracks["model"]
    track.refresh_from_db()
    page, live = board(track), board(track, frozen=False)
    assert [(row.rank, row.value) for row in page.rows] == [(1, 2.125), (2, 1.25)]
    assert [(row.rank, row.value) for row in live.rows] == [(1, 4.625), (None, 3.875)]
    assert page.frozen is not None
    assert (page.frozen.reason, live.frozen) == ("The final is near", None)
    assert Snapshot.objects.count() == 3, "one of each track"
    answer = client.get("/api/v1/competitions/digits/leaderboards/model").json()
    assert (answer["frozen_since"], answer["frozen_reason"]) == ("2026-11-21T13:00:00Z", "The final is near")

    unfreeze_leaderboards(competition=scenario.env.competition, by=olga, reason="It is over")
    track = type(track).objects.get(pk=track.pk)
    assert board(track) == live
    assert "3.87" in look(client, scenario, "/submissions/{new}")
    events = Event.objects.filter(subject=f"competition:{track.competition_id}", by=olga).order_by("pk")
    assert [(event.verb, event.reason) for event in events] == [
        ("freeze", "The final is near"),
        ("unfreeze", "It is over"),
    ]


@pytest.mark.usefixtures("others_read_first")
def test_it_rejects_readers_without_permission(scenario: Scenario) -> None:
    clients = {role: Client() for role in ROLES}
    for role, client in clients.items():  # before the first page is kept: a sign-in makes what is kept outdated
        if role != "anonymous":
            client.force_login(User.objects.get(username=role))
    for role, client in clients.items():
        content = cache(partial(look, client, scenario))  # an address is in several rows
        for row in TABLE:
            seen = row.text in content(row.address)
            assert seen == (role in row.readers), f"{row.text!r} at {row.address} as {role}"


def test_a_helper_sees_submissions_but_no_new_score(scenario: Scenario, client: Client, charlie: User) -> None:
    competition = scenario.env.competition
    helper = Organiser.objects.create(competition=competition, user=charlie, role=OrganiserRole.HELPER)
    client.force_login(charlie)
    pages = ("/teams/owls", "/submissions/{new}", "/submissions/{new}?seen=0&build=none")
    addresses = (*pages, "/api/v1/submissions/{new}", "/api/v1/submissions/{new}/evaluations")
    for address in addresses:
        assert "3.87" not in look(client, scenario, address), address
    assert client.get(f"/api/v1/submissions/{scenario.new.pk}").json()["tag"] == scenario.new.tag
    helper.role = OrganiserRole.JUDGE
    helper.save()
    for address in addresses:
        assert "3.87" in look(client, scenario, address), address


def test_a_score_does_not_vanish_while_it_is_measured_again(scenario: Scenario, client: Client) -> None:
    address = f"/api/v1/submissions/{scenario.old.pk}"
    before = client.get(address).json()
    assert before["evaluation"]["value"] == 1.25
    scenario.env.pool("untargeted", "strongest")
    evaluation = services.evaluate(scenario.old)
    assert evaluation is not None
    assert client.get(address).json() == before


def test_a_score_does_not_vanish_when_its_submission_is_withdrawn_while_it_is_measured_again(
    scenario: Scenario, the_clock: FakeClock, olga: User
) -> None:
    since = FrozenLeaderboards.objects.get().since
    assert since is not None
    scenario.env.pool("untargeted", "another")
    services.re_evaluate(submission=scenario.old, by=olga, reason="a test")
    Submission.objects.filter(pk=scenario.old.pk).update(state="withdrawn")
    the_clock.at = since - timedelta(seconds=2)  # on a host whose clock is slow
    assert end_withdrawn() == 1
    known = public_evaluation_of(Submission.objects.get(pk=scenario.old.pk))
    assert known is not None
    assert known.value == 1.25


@pytest.mark.parametrize("skew", [-2, 2])
def test_clocks_of_hosts_that_differ_leak_and_hide_nothing(
    env: BoardFixture,
    the_clock: FakeClock,
    entry: Entry,
    alice: User,
    olga: User,
    attack_pool: Pool,
    client: Client,
    skew: int,
) -> None:
    """Scores from before the freeze are public, and later ones are not."""
    old = env.submission(entry, "model", alice)
    env.score(old, 1.25)
    the_clock.forward(seconds=skew if skew < 0 else 0)
    freeze_leaderboards(competition=env.competition, by=olga, reason="The final is near")
    the_clock.forward(seconds=-2)
    new = env.submission(entry, "model", alice)
    env.score(new, 3.875)
    assert client.get(f"/api/v1/submissions/{old.pk}").json()["evaluation"]["value"] == 1.25
    assert "3.87" not in client.get(f"/api/v1/submissions/{new.pk}").content.decode()


def test_a_snapshot_is_the_board_to_the_last_bit_and_never_changes(
    env: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, olga: User, attack_pool: Pool
) -> None:
    env.score(env.submission(entry, "model", alice), 1.0 / 3.0)
    before = board(env.tracks["model"])
    snapshot = take_snapshot(track=env.tracks["model"], reason="round 1 " * 50)
    freeze_leaderboards(competition=env.competition, by=olga, reason="now")
    track = type(snapshot.track).objects.get(pk=snapshot.track_id)
    assert board(track).rows == before.rows
    snapshot.rows = []
    with pytest.raises(TypeError, match="never changed"):
        snapshot.save()


def test_a_later_snapshot_is_not_what_the_public_sees(scenario: Scenario, the_clock: FakeClock) -> None:
    track = type(scenario.env.tracks["model"]).objects.get(name="model")
    before = board(track)
    the_clock.forward(hours=1)
    later = take_snapshot(track=track, reason="round 2")
    assert json.loads(json.dumps(later.rows))[0]["value"] == 4.625
    assert board(track) == before


def test_a_snapshot_by_a_host_whose_clock_is_behind_is_not_what_the_public_sees(
    scenario: Scenario, the_clock: FakeClock
) -> None:
    track = Track.objects.select_related("competition").get(name="model")
    before = board(track)
    the_clock.forward(hours=-2)
    take_snapshot(track=track, reason="before a round was published")
    assert board(track) == before


def test_a_page_of_frozen_leaderboards_takes_few_queries(
    scenario: Scenario, client: Client, django_assert_max_num_queries: object
) -> None:
    # one of them for titles that were hidden after the snapshot
    with django_assert_max_num_queries(13):  # type: ignore[operator]
        answer = client.get("/competitions/digits/leaderboards/model")
    assert answer.status_code == 200


def test_it_rejects_others_than_organisers_and_repetitions(
    env: BoardFixture, alice: User, olga: User, owls: Team
) -> None:
    competition = env.competition
    for act in (freeze_leaderboards, unfreeze_leaderboards):
        with pytest.raises(Refusal, match="only organisers"):
            act(competition=competition, by=alice, reason="please")
    with pytest.raises(Refusal, match="are not frozen"):
        unfreeze_leaderboards(competition=competition, by=olga, reason="again")
    freeze_leaderboards(competition=competition, by=olga, reason="now")
    with pytest.raises(Refusal, match="already frozen"):
        freeze_leaderboards(competition=competition, by=olga, reason="again")
    assert Snapshot.objects.count() == 3
