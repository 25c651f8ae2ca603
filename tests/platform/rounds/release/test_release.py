"""Releasing and withdrawing parts of a round."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import Competition, FreezeWindow, FrozenLeaderboards, SampleSet
from competitions.services import export_competition, import_competition
from core import clock, object_store
from core.concurrent_archive_limit import AT_A_TIME, making_archive
from core.errors import Refusal
from core.models import Event
from core.time_format import in_words
from formats.query.leaderboards.snapshots_and_freezes import freeze_leaderboards
from formats.query.matches.models import Match, SampleResult
from formats.query.rounds.models import RoundMatch
from repositories.http.concurrency_limits import ANYBODY, LIMITER, Permit
from rounds.models import Release, Round, RoundEntry
from rounds.release import released_parts as releasing
from rounds.release.release_files import images_zip
from rounds.release.released_parts import open_part, release, released, released_entries, released_tags, withdraw
from submissions.models import Submission
from tests.platform.bundle_content import bundle_content


class Final(Protocol):
    """`Published` of the conftest."""

    round: Round
    entries: dict[str, RoundEntry]
    pair: Match


FILES = [Release.Part.BUNDLE, Release.Part.IMAGES, Release.Part.PERTURBED]


def _content(round_: Round, part: str) -> bytes:
    with open_part(round_, part).open() as file:
        return file.read()


def _told(round_: Round, part: str) -> tuple[str, str]:
    download = open_part(round_, part)
    return download.name, download.content_type


def test_released_parts_are_files_with_their_names_and_the_release_is_an_event(published: Final, olga: User) -> None:
    for part in FILES:
        release(round_=published.round, part=part, by=olga, reason="the end")
    assert list(released(published.round)) == ["bundle", "images", "perturbed"]
    assert _content(published.round, "bundle") == bundle_content(published.round)
    assert _content(published.round, "images") == images_zip(published.round)
    assert _content(published.round, f"perturbed-{published.pair.pk}").startswith(b"PK")
    assert {part: _told(published.round, part) for part in FILES} == {
        "bundle": ("digits-round-1-bundle.gauntlet", "application/octet-stream"),
        "images": ("digits-round-1-images.zip", "application/zip"),
        "perturbed": ("digits-round-1-perturbed.csv", "text/csv; charset=utf-8"),
    }
    event = Event.objects.filter(verb="release").latest("pk")
    assert (event.by, event.reason, event.data["part"]) == (olga, "the end", "perturbed")


@pytest.mark.parametrize("part", FILES)
def test_what_is_withdrawn_is_not_served_and_comes_back_the_same(published: Final, olga: User, part: str) -> None:
    first = release(round_=published.round, part=part, by=olga, reason="the end")
    content = _content(published.round, part)
    withdraw(release=first, by=olga, reason="too early")
    assert first.withdrawn_at is not None
    for asked in (part, f"perturbed-{published.pair.pk}"):
        with pytest.raises(Refusal, match="is not released"):
            open_part(published.round, asked)
    assert "Copies made before" in Event.objects.get(verb="withdraw").data["note"]
    again = release(round_=published.round, part=part, by=olga, reason="now")
    assert again.content == first.content
    assert _content(published.round, part) == content


def test_a_release_is_withdrawn_from_an_archived_competition_too(published: Final, olga: User) -> None:
    part = release(round_=published.round, part="images", by=olga, reason="the end")
    Competition.objects.update(archived_at=part.released_at)
    with pytest.raises(Refusal, match="was archived"):
        release(round_=published.round, part="bundle", by=olga, reason="the end")
    withdraw(release=Release.objects.get(), by=olga, reason="by mistake")
    with pytest.raises(Refusal, match="is not released"):
        open_part(published.round, "images")


def test_images_of_a_pair_are_made_once_and_again_where_they_are_lost(published: Final, olga: User) -> None:
    release(round_=published.round, part="perturbed", by=olga, reason="the end")
    part = f"perturbed-{published.pair.pk}"
    open_part(published.round, part)
    assert RoundMatch.objects.get().images == "", "nothing is made before the first download"
    content = _content(published.round, part)
    made = RoundMatch.objects.get().images
    SampleResult.objects.all().delete()
    published.pair.sample_results.create(piece=published.pair.pieces.get(number=0), sample=0, **ROW)
    assert (_content(published.round, part), object_store.get(made)) == (content, content)
    object_store.remove(made)
    assert _content(published.round, part) != content


@pytest.mark.parametrize("method", ["get", "head"])
def test_few_archives_are_made_at_a_time(published: Final, olga: User, client: Client, method: str) -> None:
    release(round_=published.round, part="perturbed", by=olga, reason="the end")
    address = f"/competitions/digits/rounds/1/files/perturbed-{published.pair.pk}"
    with ExitStack() as others:
        for _ in range(AT_A_TIME):
            others.enter_context(making_archive())
        answer = getattr(client, method)(address)
    if method == "get":
        assert (answer.status_code, answer["Retry-After"]) == (503, "30")
        assert b"try again in half a minute" in answer.content
    else:
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
        assert ".zip" in answer["Content-Disposition"]
        assert "Content-Length" not in answer
    assert RoundMatch.objects.get().images == ""
    content = client.get(address).getvalue()
    with ExitStack() as others:
        for _ in range(AT_A_TIME):
            others.enter_context(making_archive())
        assert client.get(address).getvalue() == content, "a stored archive is not made again"


def test_an_archive_is_made_while_git_serves_all_that_it_may(published: Final, olga: User, client: Client) -> None:
    release(round_=published.round, part="perturbed", by=olga, reason="the end")
    clones = [Permit(ANYBODY), Permit(ANYBODY)]
    for clone in clones:
        LIMITER.wait(clone)
        LIMITER.start(clone)
    answer = client.get(f"/competitions/digits/rounds/1/files/perturbed-{published.pair.pk}")
    for clone in clones:
        LIMITER.release(clone)
    assert (answer.status_code, answer.getvalue()[:2]) == (200, b"PK")


def test_it_rejects_repeated_actions(published: Final, olga: User) -> None:
    row = release(round_=published.round, part="bundle", by=olga, reason="the end")
    with pytest.raises(Refusal, match="is already released"):
        release(round_=published.round, part="bundle", by=olga, reason="the end")
    withdraw(release=row, by=olga, reason="too early")
    with pytest.raises(Refusal, match="is already withdrawn"):
        withdraw(release=row, by=olga, reason="too early")


def test_it_rejects_others_than_organisers(published: Final, olga: User, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        release(round_=published.round, part="bundle", by=alice, reason="the end")
    row = release(round_=published.round, part="bundle", by=olga, reason="the end")
    with pytest.raises(Refusal, match="only organisers"):
        withdraw(release=row, by=alice, reason="mine")
    assert list(released(published.round)) == ["bundle"]


@pytest.mark.parametrize("state", [state for state in Round.State if state is not Round.State.PUBLISHED])
@pytest.mark.parametrize("part", Release.Part.values)
def test_it_rejects_a_round_that_is_not_published(published: Final, olga: User, part: str, state: str) -> None:
    Round.objects.update(state=state)
    with pytest.raises(Refusal, match="cannot be released"):
        release(round_=published.round, part=part, by=olga, reason="the end")


def test_it_rejects_unknown_parts_and_actions_without_a_reason(published: Final, olga: User) -> None:
    with pytest.raises(Refusal, match="no part 'secrets'"):
        release(round_=published.round, part="secrets", by=olga, reason="the end")
    with pytest.raises(Refusal, match="needs a reason"):
        release(round_=published.round, part="bundle", by=olga, reason=" ")


@pytest.mark.parametrize("part", ["", "secrets", "images", "perturbed-0", "perturbed-1", "perturbed-x", "code"])
def test_it_rejects_downloads_of_unreleased_parts(published: Final, part: str) -> None:
    with pytest.raises(Refusal, match="is not released"):
        open_part(published.round, part)


def test_it_rejects_pairs_of_other_rounds(published: Final, olga: User) -> None:
    release(round_=published.round, part="perturbed", by=olga, reason="the end")
    published.round.round_matches.all().delete()
    for number in (published.pair.pk, published.pair.pk + 1, 10**17):
        with pytest.raises(Refusal, match="has no perturbed images"):
            open_part(published.round, f"perturbed-{number}")


ROW = {"outcome": "failed", "distance": 1.0, "worst_case": 1.0, "queries": 1, "seconds": 1.0}
Keep = Callable[..., SampleSet]


@pytest.mark.parametrize("part", FILES)
@pytest.mark.parametrize("state", [Match.State.WAITING, Match.State.PLAYING, Match.State.SUSPENDED])
def test_it_rejects_images_that_are_played_on(published: Final, olga: User, part: str, state: str) -> None:
    Match.objects.update(state=state)
    with pytest.raises(Refusal, match="matches are still played on its samples"):
        release(round_=published.round, part=part, by=olga, reason="the end")


@pytest.mark.parametrize("part", FILES)
@pytest.mark.parametrize("purpose", ["validation", "test", "final"])
def test_it_rejects_images_that_are_in_a_set_in_use(
    published: Final, olga: User, keep: Keep, purpose: str, part: str
) -> None:
    keep("other", purpose, "final", 6)
    with pytest.raises(Refusal, match="digits/other shares images with it"):
        release(round_=published.round, part=part, by=olga, reason="the end")


def test_it_rejects_a_bundle_while_leaderboards_are_frozen(published: Final, olga: User) -> None:
    FrozenLeaderboards.objects.create(competition=published.round.competition, since=clock.now())
    with pytest.raises(Refusal, match="reveal frozen leaderboards") as caught:
        release(round_=published.round, part="bundle", by=olga, reason="the end")
    assert caught.value.fix == "unfreeze the leaderboards first"
    FrozenLeaderboards.objects.all().delete()
    release(round_=published.round, part="bundle", by=olga, reason="the end")


def test_it_rejects_pairs_that_would_show_the_order_of_frozen_leaderboards(
    published: Final, olga: User, client: Client
) -> None:
    begin = published.round.window.starts_at
    frozen = FrozenLeaderboards.objects.create(competition=published.round.competition, since=begin)
    assert client.get("/competitions/digits/rounds/1/matrix/untargeted.csv").status_code == 404
    with pytest.raises(Refusal, match="reveal frozen leaderboards"):
        release(round_=published.round, part="perturbed", by=olga, reason="the end")
    frozen.since = begin + timedelta(seconds=1)
    frozen.save()
    assert client.get("/competitions/digits/rounds/1/matrix/untargeted.csv").status_code == 200
    release(round_=published.round, part="perturbed", by=olga, reason="the end")


@pytest.mark.parametrize("part", ["bundle", "images"])
def test_what_happens_while_the_file_is_made_is_seen(
    published: Final, olga: User, keep: Keep, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    maker = "bundle_of" if part == "bundle" else "images_zip"
    make = getattr(releasing, maker)

    def meanwhile(round_: Round) -> Any:
        if part == "bundle":
            freeze_leaderboards(competition=round_.competition, by=olga, reason="The next round is near")
        else:
            keep("newer", "validation", "final")
        return make(round_)

    monkeypatch.setattr(releasing, maker, meanwhile)
    with pytest.raises(Refusal, match="reveal frozen leaderboards" if part == "bundle" else "shares images"):
        release(round_=published.round, part=part, by=olga, reason="the end")
    assert released(published.round) == {}


@pytest.mark.parametrize("part", ["images", "perturbed"])
def test_released_images_are_never_secret_samples_again(
    published: Final, olga: User, competition: Competition, keep: Keep, part: str
) -> None:
    for purpose, split in (("development", "dev"), ("validation", "validation")):
        keep(purpose, purpose, split)
    release(round_=published.round, part=part, by=olga, reason="the end")
    withdraw(release=published.round.releases.get(), by=olga, reason="too early")
    further = {"name": "further", "purpose": "validation", "source": "digits", "split": "final", "count": 20}
    document = export_competition(competition)
    document["sample_sets"].append({**further, "target_seed": 5})
    with pytest.raises(Refusal, match="further: it shares images with digits/round-1, public since"):
        import_competition(document)
    assert not competition.sample_sets.filter(name="further").exists()
    document["sample_sets"][-1]["purpose"] = "development"
    import_competition(document)


def test_images_of_sets_that_are_used_up_are_released(
    published: Final, olga: User, keep: Keep, competition: Competition
) -> None:
    keep("older", "validation", "final")
    keep("newest", "validation", "validation")
    keep("development", "development", "final")
    release(round_=published.round, part="images", by=olga, reason="the end")
    keep("newer still", "validation", "final")
    with pytest.raises(Refusal, match="shares images"):
        release(round_=published.round, part="perturbed", by=olga, reason="the end")
    Competition.objects.update(starts_at=clock.now() - timedelta(days=2), ends_at=clock.now() - timedelta(days=1))
    release(round_=published.round, part="perturbed", by=olga, reason="the end")


def test_images_wait_for_another_round_on_the_same(published: Final, olga: User, competition: Competition) -> None:
    own = published.round.sample_set
    drawn = SampleSet.objects.create(
        competition=competition, name="round-2", purpose="final", source="digits", split="final", count=own.count,
        target_seed=7, digest=own.digest, imported_at=clock.now(), drawn_from=own.drawn_from,
    )  # fmt: skip
    now = clock.now()
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=now, ends_at=now + timedelta(hours=1), reason="again"
    )
    other = Round.objects.create(
        competition=competition, number=2, title="Again", kind="final", window=window, sample_set=drawn,
        state_since=now, planned_at=now,
    )  # fmt: skip
    with pytest.raises(Refusal, match="digits/round-2 shares images"):
        release(round_=published.round, part="images", by=olga, reason="the end")
    Round.objects.filter(pk=other.pk).update(state=Round.State.CANCELLED)
    release(round_=published.round, part="images", by=olga, reason="the end")


def test_code_of_eligible_entries_with_an_open_licence_is_public(published: Final) -> None:
    foxes = published.entries["foxes"]
    assert released_entries(published.round) == [foxes, published.entries["owls"]]
    submission = foxes.submission
    submission.licence = "LicenseRef-ours"
    submission.save()
    assert released_entries(published.round) == [published.entries["owls"]]
    RoundEntry.objects.filter(pk=foxes.pk).update(licence_confirmed_at=clock.now())
    assert released_entries(published.round) == [foxes, published.entries["owls"]]


@pytest.mark.parametrize("gone", [{"state": "withdrawn"}, {"disqualified_at": datetime(2026, 11, 21, tzinfo=UTC)}])
@pytest.mark.parametrize("late", [False, True])
def test_code_of_gone_entries_is_not_public(published: Final, olga: User, gone: dict[str, Any], late: bool) -> None:
    owls, foxes = published.entries["owls"], published.entries["foxes"]
    submissions = Submission.objects.filter(pk=foxes.submission_id)
    RoundEntry.objects.filter(pk=owls.pk).update(eligible=False)
    if not late:
        submissions.update(**gone)
        with pytest.raises(Refusal, match="open-source licence"):
            release(round_=published.round, part="code", by=olga, reason="the end")
    Release.objects.create(round=published.round, part="code", released_at=clock.now(), released_by=olga)
    submissions.update(**gone)
    assert released_entries(published.round) == []
    assert released_tags(foxes.submission.repository) == {}
    submissions.update(state="ready", disqualified_at=None)
    assert list(released_tags(foxes.submission.repository)) == ["submission-1"]


def test_it_rejects_code_that_cannot_be_cloned(published: Final, olga: User) -> None:
    RoundEntry.objects.update(eligible=False)
    with pytest.raises(Refusal, match="no entry of digits: The final is eligible"):
        release(round_=published.round, part="code", by=olga, reason="the end")


def test_it_rejects_code_while_the_competition_runs_but_for_a_final(published: Final, olga: User) -> None:
    """After a development round everybody may still submit; a final is the last of its competition."""
    competition = published.round.competition
    Round.objects.filter(pk=published.round.pk).update(kind=Round.Kind.DEVELOPMENT)
    published.round.refresh_from_db()
    with pytest.raises(Refusal, match="is still running") as refusal:
        release(round_=published.round, part="code", by=olga, reason="to learn from")
    assert refusal.value.fix == f"release it after {in_words(competition.ends_at)}, when the competition has ended"
    assert not Release.objects.exists()
