"""Titles of hidden submissions in the signed bundles of rounds."""

from __future__ import annotations

import json
from datetime import timedelta
from io import BytesIO
from typing import IO, TYPE_CHECKING

import pytest

from accounts.models import Membership, User
from core import object_store
from core.errors import HostFault, Refusal
from evaluation.bundle.objections_file_check import verify_objections
from evaluation.formats.query.bundle.verify import verify
from rounds.models import Release, Round
from rounds.objections.closing import answer
from rounds.objections.filing import file_objection
from rounds.publishing.publication import publish
from rounds.release import released_parts
from rounds.release.objections_file import objections_of
from rounds.release.released_parts import open_part, public_entries, release, released, withdraw
from rounds.release.signing_keys import public_key
from submissions import hiding
from submissions.extension_points import published_titles
from submissions.models import HIDDEN_TITLE, Submission

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture

TITLE = "ab9f2c-leaked"


def published(env: RoundFixture) -> tuple[Round, Submission]:
    """A published final of two models and two attacks, and one of the models."""
    env.field(2, 2)
    submission = Submission.objects.filter(repository__track=env.tracks["model"]).latest("pk")
    Submission.objects.filter(pk=submission.pk).update(title=TITLE)
    round_ = env.scored(env.plan("final"))
    publish(round_=round_, by=env.organiser)
    return round_, submission


def bundle(round_: Round) -> bytes:
    with open_part(round_, Release.Part.BUNDLE).open() as file:
        return file.read()


def test_a_bundle_that_is_released_afterwards_has_the_label_and_verifies(env: RoundFixture) -> None:
    round_, submission = published(env)
    assert TITLE.encode() in object_store.get(round_.outcome)
    hiding.hide(submission=submission, by=env.organiser, reason="It names a password.")
    release(round_=round_, part=Release.Part.BUNDLE, by=env.organiser, reason="the end")
    content = bundle(round_)
    assert TITLE.encode() not in content
    assert HIDDEN_TITLE.encode() in content
    assert verify(content, samples=round_.commitment, field=round_.field_commitment).problems == ()
    assert [note for notes in published_titles.answers(submission) for note in notes] == []


def test_a_released_bundle_keeps_the_title_until_it_is_withdrawn_and_released_again(env: RoundFixture) -> None:
    round_, submission = published(env)
    first = release(round_=round_, part=Release.Part.BUNDLE, by=env.organiser, reason="the end")
    (note,) = [note for notes in published_titles.answers(submission) for note in notes]
    assert note.startswith("The released bundle of R holds its title")
    hiding.hide(submission=submission, by=env.organiser, reason="It names a password.")
    assert TITLE.encode() in bundle(round_)
    withdraw(release=first, by=env.organiser, reason="It names a password.")
    release(round_=round_, part=Release.Part.BUNDLE, by=env.organiser, reason="without the title")
    assert TITLE.encode() not in bundle(round_)


def test_released_objections_are_released_again_with_the_new_bundle(
    env: RoundFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each objection keeps the outcome that it concerned, and none is lost where the bundle cannot be made at first."""

    def full(round_: Round) -> None:
        raise HostFault("the disk is full")

    round_, submission = published(env)
    Round.objects.filter(pk=round_.pk).update(objection_days=1)
    round_.refresh_from_db()
    before, captain = round_.outcome, User.objects.create_user("captain")
    Membership.objects.create(
        team=submission.repository.entry.team, user=captain, role=Membership.Role.CAPTAIN, joined_at=env.clock.at
    )
    objection = file_objection(round_=round_, by=captain, text="It is wrong.")
    answer(objection=objection, upheld=True, by=env.organiser, reason="It is.")
    env.clock.at = env.clock.at + timedelta(days=2)
    for part in (Release.Part.BUNDLE, Release.Part.OBJECTIONS):
        release(round_=round_, part=part, by=env.organiser, reason="the end")
    hiding.hide(submission=submission, by=env.organiser, reason="It names a password.")
    withdraw(release=released(round_)["bundle"], by=env.organiser, reason="It names a password.")
    with monkeypatch.context() as failing:
        failing.setattr(released_parts, "bundle_of", full)
        with pytest.raises(HostFault, match="the disk is full"):
            release(round_=round_, part=Release.Part.BUNDLE, by=env.organiser, reason="without the title")
    release(round_=round_, part=Release.Part.BUNDLE, by=env.organiser, reason="without the title")
    assert round_.outcome != before
    with open_part(round_, Release.Part.OBJECTIONS).open() as file:
        content = file.read()
    head, line, _ = (json.loads(each) for each in content.splitlines())
    assert (head["outcome"], line["outcome"]) == (round_.outcome, before)
    report = verify_objections(BytesIO(content), public_key(), round_.outcome)
    assert (report.ok, report.summary[2]) == (True, f"some concern the outcome {before}, before it was made again")
    (problem,) = verify_objections(BytesIO(content), public_key(), before).problems
    assert problem.text == f"it is about the outcome {round_.outcome}, not about {before}"


def test_objections_name_no_outcome_that_was_made_again_meanwhile(
    env: RoundFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    round_, submission = published(env)
    Round.objects.filter(pk=round_.pk).update(objection_days=1)
    round_.refresh_from_db()
    env.clock.at = env.clock.at + timedelta(days=2)

    def meanwhile(shown: Round) -> IO[bytes]:
        file = objections_of(shown)
        hiding.hide(submission=submission, by=env.organiser, reason="It names a password.")
        other = Round.objects.get(pk=shown.pk)
        release(round_=other, part=Release.Part.BUNDLE, by=env.organiser, reason="the end")
        return file

    with monkeypatch.context() as slow:
        slow.setattr(released_parts, "objections_of", meanwhile)
        with pytest.raises(Refusal, match="the outcome of R changed meanwhile"):
            release(round_=round_, part=Release.Part.OBJECTIONS, by=env.organiser, reason="the end")
    current = Round.objects.get(pk=round_.pk)
    release(round_=current, part=Release.Part.OBJECTIONS, by=env.organiser, reason="the end")
    with open_part(current, Release.Part.OBJECTIONS).open() as objections:
        assert verify_objections(objections, public_key(), current.outcome).ok


def test_no_code_of_its_repository_is_public(env: RoundFixture) -> None:
    round_, submission = published(env)
    Release.objects.create(
        round=round_, part=Release.Part.CODE, released_at=env.clock.at, released_by=env.organiser, content=""
    )
    assert submission.pk in {entry.submission_id for entry in public_entries(env.competition)}
    hiding.hide(submission=submission, by=env.organiser, reason="It names a password.")
    public = {entry.submission_id for entry in public_entries(env.competition)}
    assert public
    assert submission.pk not in public
