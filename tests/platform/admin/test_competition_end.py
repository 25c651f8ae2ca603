"""An owner ends a competition by typing its short name: without records it is deleted, with records archived."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from accounts.models import Team, User
from competitions.delete_or_archive import unarchive
from competitions.models import Competition, CompetitionOrigin, Entry, Organiser, SampleSet, Track
from competitions.services import enter
from core import clock
from core.errors import Refusal
from core.event_sentences import sentence
from core.models import Event
from formats.curves.models import Benchmark
from formats.query.leaderboards.models import Pool, PoolPlace
from formats.query.matches.models import Match
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Tournament
from pages.formats import page_formats
from repositories.models import Repository
from rounds.models import Round
from rounds.planning.freeze import freeze_due
from rounds.planning.plan import plan_round
from submissions.models import Player, QuotaSlot, Submission
from workers.work_item_models import WorkItem
from workers.work_kind_interface import kinds


@pytest.fixture
def owner(as_organiser: Client, olga: User) -> Client:
    """A client logged in as Olga, who owns the competition."""
    Organiser.objects.filter(user=olga).update(role="owner")
    return as_organiser


def page(competition: Competition, action: str = "end") -> str:
    return reverse(f"admin:competitions_competition_{action}", args=[competition.pk])


def shown(client: Client, competition: Competition) -> dict[str, str]:
    """Return the hidden fields of the open page."""
    (row,) = client.get(page(competition)).context["rows"]
    return {f"state-{competition.pk}": row.state, f"seen-{competition.pk}": row.digest, "confirmed": "yes"}


def confirm(client: Client, competition: Competition, fields: dict[str, str], slug: str = "digits") -> list[str]:
    """Confirm the open page; return the newest message."""
    answer = client.post(page(competition), fields | {"slug": slug, "reason": "It is over."})
    assert answer.status_code == 302
    return [str(each) for each in get_messages(answer.wsgi_request)][-1:]


def end(client: Client, competition: Competition, slug: str = "digits") -> list[str]:
    return confirm(client, competition, shown(client, competition), slug)


def test_one_without_records_is_deleted_with_all_that_the_site_made_of_it(
    owner: Client,
    competition: Competition,
    repositories: dict[str, Repository],
    sample_sets: dict[str, SampleSet],
    tracks: dict[str, Track],
    django_capture_on_commit_callbacks: Any,
) -> None:
    now, (rules,) = clock.now(), competition.rules_versions.all()
    baseline = Player.objects.create(
        competition=competition, track_name="model", digest="sha256:1", title="a baseline", command=["run"],
        baseline="numpy-classifier", created_at=now,
    )  # fmt: skip
    pool = Pool.objects.create(track=tracks["model"], number=1, made_at=now, reason="the bundled baselines")
    PoolPlace.objects.create(pool=pool, place=1, player=baseline)
    tournament = Tournament.objects.create(
        competition=competition, rules=rules, sample_set=sample_sets["validation"], seed=1, made_at=now
    )
    run = AttackRun.objects.create(tournament=tournament, attack=baseline, batch=0, epsilon=8, images=6)
    DefenceRun.objects.create(attack_run=run, defence=baseline)
    SampleSet.objects.filter(pk=sample_sets["validation"].pk).update(purpose="test")
    starts_at = clock.now() + timedelta(days=1)
    plan_round(
        competition=competition, title="Round 1", kind="development", schedule="ladder-2", guard=False,
        source=SampleSet.objects.get(purpose="test"), samples=4, starts_at=starts_at,
        ends_at=starts_at + timedelta(days=1), by=User.objects.get(username="olga"),
    )  # fmt: skip
    folder = repositories["model"].path
    folder.mkdir(parents=True)
    text = owner.get(page(competition)).content.decode()
    assert "It is deleted for good, with 1 team" in text
    with django_capture_on_commit_callbacks(execute=True):
        assert end(owner, competition) == ["1 of 1 deleted or archived."]
    for model in (Competition, Entry, Team, Repository, Player, Pool, Tournament, AttackRun, Round, SampleSet):
        assert not model._default_manager.exists(), model
    assert not folder.exists()
    event = Event.objects.get(verb="delete_competition")
    assert (event.reason, event.data["teams"]) == ("It is over.", ["owls"])
    assert sentence(event) == "olga deleted the competition digits, to which nobody had submitted anything."
    assert owner.get(reverse("admin:index")).status_code == 200


def test_one_with_records_is_archived_stays_readable_and_can_be_taken_back(
    owner: Client, client: Client, competition: Competition, rows: Any
) -> None:
    rows.more()
    CompetitionOrigin.objects.all().delete()  # it is played here
    text = owner.get(page(competition)).content.decode()
    assert "It is archived, because it has 1 submission, 1 round, 1 match." in text
    assert end(owner, competition) == ["1 of 1 deleted or archived."]
    competition.refresh_from_db()
    assert competition.archived_at is not None
    event = Event.objects.get(verb="archive")
    assert (sentence(event), event.reason) == ("olga archived the competition digits.", "It is over.")
    lists = client.get(reverse("pages:competitions")).context["lists"]
    assert [each.competition for each in lists.archived] == [competition]
    assert not lists.any
    for name, arguments in (("competition", ["digits"]), ("board", ["digits", "untargeted"]), ("rules", ["digits"])):
        answer = client.get(reverse(f"pages:{name}", args=arguments))
        assert answer.status_code == 200
        assert "archived" in answer.content.decode()
    change = owner.get(reverse("admin:competitions_competition_change", args=[competition.pk])).content.decode()
    assert page(competition, "unarchive") in change
    assert page(competition) not in change
    owner.post(page(competition, "unarchive"), {"confirmed": "yes", "reason": "A second season."})
    competition.refresh_from_db()
    assert competition.archived_at is None
    event = Event.objects.get(verb="unarchive")
    assert (sentence(event), event.reason) == (
        "olga took the competition digits back from the archive.", "A second season."
    )  # fmt: skip


def archive(competition: Competition) -> None:
    Competition.objects.filter(pk=competition.pk).update(archived_at=clock.now())
    competition.refresh_from_db()


def test_nothing_is_claimed_in_an_archived_competition_until_it_is_taken_back(
    competition: Competition, rows: Any
) -> None:
    rows.more()
    received = rows.more()
    Match.objects.update(state="waiting")
    Submission.objects.filter(pk=received.pk).update(state="received")
    Benchmark.objects.update(entry=received.repository.entry)
    items = [model for kind in kinds for model in kind.tables]
    for model in items:
        model._default_manager.update(state=WorkItem.State.WAITING)
    assert [kind.name for kind in kinds if not kind.waits()] == []
    archive(competition)
    assert [kind.name for kind in kinds if kind.waits()] == []
    assert {name: page_formats[name].queue().waiting for name in page_formats} == dict.fromkeys(page_formats, 0)
    Competition.objects.update(archived_at=None)
    assert [kind.name for kind in kinds if not kind.waits()] == []


def test_no_round_is_frozen_planned_or_run_and_no_team_enters(
    owner: Client, competition: Competition, rows: Any, charlie: User
) -> None:
    rows.more()
    Round.objects.update(state="planned", rules=None)
    archive(competition)
    freeze_due()
    (planned,) = Round.objects.all()
    assert (planned.state, planned.problem) == ("planned", "")
    said = owner.get(reverse("admin:rounds_round_freeze", args=[planned.pk])).context["refused"][0].refusal
    assert said.startswith("Digits was archived at")
    assert "ask an owner of the competition to take it back" in said
    refused = owner.get(reverse("admin:competitions_competition_change_rules", args=[competition.pk]))
    assert refused.status_code == 200  # readable; the change is refused
    team = Team.objects.create(slug="cats", name="Cats", created_at=clock.now())
    with pytest.raises(Refusal, match="Digits was archived at"):
        enter(team=team, competition=competition)


def test_it_rejects_another_slug_and_changes_nothing(owner: Client, competition: Competition, rows: Any) -> None:
    for slug in ("Digits", "digit", "digits/"):
        assert end(owner, competition, slug) == [
            f"Digits: “{slug}” is not the short name of Digits, so nothing was changed (fix: type digits)"
        ]
    answer = owner.post(page(competition), shown(owner, competition) | {"slug": "", "reason": "It is over."})
    assert "This field is required" in answer.content.decode()
    competition.refresh_from_db()
    assert competition.archived_at is None
    assert not Event.objects.exists()


def test_a_submission_that_arrives_while_the_page_is_open_prevents_the_deletion(
    owner: Client, competition: Competition, repositories: dict[str, Repository], alice: User
) -> None:
    fields = shown(owner, competition)
    QuotaSlot.objects.create(
        repository=repositories["model"], commit="1" * 40, tag="submission-1", reserved_by=alice,
        reserved_at=clock.now(),
    )  # fmt: skip
    (said,) = confirm(owner, competition, fields)
    assert "a team has entered Digits, submitted or pushed since you opened the page" in said
    competition.refresh_from_db()
    assert competition.archived_at is None
    assert QuotaSlot.objects.exists()


def test_the_second_of_two_owners_reads_what_the_first_one_did(
    owner: Client, competition: Competition, rows: Any
) -> None:
    rows.more()
    CompetitionOrigin.objects.all().delete()  # it is played here
    fields = shown(owner, competition)
    end(owner, competition)
    (said,) = confirm(owner, competition, fields)
    assert "has changed since you looked at it, so nothing was done" in said
    assert Event.objects.filter(verb="archive").count() == 1
    form = {"confirmed": "yes", "reason": "Back."}
    owner.post(page(competition, "unarchive"), form)
    (said,) = [str(each) for each in get_messages(owner.post(page(competition, "unarchive"), form).wsgi_request)][-1:]
    assert "Digits is not archived" in said


def test_a_role_taken_away_while_the_page_is_open_gives_a_message_and_changes_nothing(
    owner: Client, competition: Competition, olga: User
) -> None:
    fields = shown(owner, competition) | {"slug": "digits", "reason": "It is over."}
    Organiser.objects.filter(user=olga).update(role="organiser")
    refused = owner.post(page(competition), fields)
    assert refused.status_code == 403
    assert "Nothing was changed, because your roles do not allow this" in refused.content.decode()
    assert Competition.objects.exists()


def test_it_rejects_archiving_while_a_round_is_under_way(owner: Client, competition: Competition, rows: Any) -> None:
    rows.more()
    Round.objects.update(state="playing")
    (said,) = end(owner, competition)
    assert "Round 1 is playing (fix: publish or cancel it, then archive the competition)" in said
    competition.refresh_from_db()
    assert competition.archived_at is None


def test_an_imported_one_stays_archived(owner: Client, competition: Competition, rows: Any, olga: User) -> None:
    rows.more()
    Competition.objects.update(archived_at=clock.now())
    form = owner.get(reverse("admin:competitions_competition_change", args=[competition.pk])).content.decode()
    assert page(competition, "unarchive") not in form
    with pytest.raises(Refusal, match=r"was played on https://old\.example\.org and imported"):
        unarchive(competition=competition, by=olga, reason="Once more.")
