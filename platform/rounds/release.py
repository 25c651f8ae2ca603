"""Make parts of a published round public, take them back, and hand them out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet

from competitions.models import Competition, SampleSet
from core import clock, events, object_store
from core.errors import Fault, Refusal
from core.models import Event
from core.times import in_words
from matches.models import Match
from repositories.http.concurrency import ANYBODY, LIMITER
from repositories.models import Repository
from repositories.public_copies import drop_copies, public_copy
from rounds.downloads import bundle_of, images_zip, pair_zip, pairs_of, pairs_table
from rounds.embargo import embargo_reason
from rounds.models import Release, Round, RoundEntry
from rounds.open_source import is_open_source
from rounds.signing_keys import public_key
from rounds.transitions import require_organiser, require_reason, require_state
from submissions.models import Submission

if TYPE_CHECKING:
    from accounts.models import User

COPIES_REMAIN = "Copies that were made before may be around: what was public once cannot be called back."
"""What organisers are told of a withdrawal, and the event log keeps."""

_PAIR = re.compile(r"perturbed-([1-9][0-9]{0,17})")
_ENDINGS = {Release.Part.BUNDLE: "jsonl", Release.Part.IMAGES: "zip", Release.Part.PERTURBED: "csv"}
_TYPES = {"jsonl": "application/jsonl", "zip": "application/zip", "csv": "text/csv; charset=utf-8"}


@dataclass(frozen=True)
class Download:
    """A file to hand out. `open` makes it first where nobody had it before; whoever takes it closes it.

    It raises `LimitReachedError` where others have such files made just now.
    """

    open: Callable[[], IO[bytes]]
    name: str
    content_type: str


def release(*, round_: Round, part: str, by: User, reason: str) -> Release:
    """Make a part of a published round public, an act of its organisers.

    Releasing again what was withdrawn gives the same bytes, until the signing key changes. Raises `Refusal` where it
    may not be public, or is; so it does for images that others are still measured on and for the bundle that tells of
    them, for the bundle while the boards stand still, for code where nobody's may be cloned or, but for a final, the
    competition is still running, and for files that would call players by their digests.
    """
    require_organiser(by, round_.competition)
    reason = require_reason(reason, "a release")
    if part not in Release.Part.values:
        raise Refusal(f"a round has no part {part!r}", fix=f"release one of {', '.join(Release.Part.values)}")
    _check_may_be_public(round_, part)
    key = public_key() if part == Release.Part.BUNDLE else ""
    content = _made(round_, part)
    with transaction.atomic():
        _lock(round_)
        # asked once more: boards may stand still by now, or the images be in use again
        _check_may_be_public(round_, part)
        row = Release.objects.create(
            round=round_, part=part, released_at=clock.now(), released_by=by, content=content, key=key
        )
        if part in (Release.Part.IMAGES, Release.Part.PERTURBED):
            shown = SampleSet.objects.filter(pk=round_.sample_set_id, images_public_since=None)
            shown.update(images_public_since=row.released_at)
        if part == Release.Part.CODE:
            # of those disqualified too, as one may be reinstated: each request asks anew whose tags are released
            opened = [entry.submission.repository_id for entry in _open_source(RoundEntry.objects.filter(round=round_))]
            Repository.objects.filter(pk__in=opened, public_since=None).update(public_since=row.released_at)
        events.record("release", row, by=by, reason=reason, round=round_.pk, part=part, content=content)
    return row


def withdraw(*, release: Release, by: User, reason: str) -> None:
    """Serve a released part no more: files are not given out, repositories are private again. See `COPIES_REMAIN`."""
    require_organiser(by, release.round.competition)
    reason = require_reason(reason, "a withdrawal")
    is_code = release.part == Release.Part.CODE
    with transaction.atomic():
        _lock(release.round)
        if not Release.objects.filter(pk=release.pk, withdrawn_at=None).update(withdrawn_at=clock.now()):
            raise Refusal(f"the {release} is withdrawn already", fix="there is nothing to do")
        events.record(
            "withdraw", release, by=by, reason=reason, round=release.round_id, part=release.part, note=COPIES_REMAIN
        )
        left = {of: released_tags(of) for of in _repositories(release.round)} if is_code else {}
        private = [repository.pk for repository, tags in left.items() if not tags]
        Repository.objects.filter(pk__in=private).update(public_since=None)
    for repository, tags in left.items():
        drop_copies(repository, but=tags)
    release.refresh_from_db()


def released(round_: Round) -> dict[str, Release]:
    """What is public of a round, by part."""
    return {each.part: each for each in round_.releases.filter(withdrawn_at=None)}


def released_entries(round_: Round) -> list[RoundEntry]:
    """The entries whose code is public once the code of the round is released, by team and track.

    Only a final asks for open source, so that being eligible is not enough: the licence must be open source, or
    an organiser must have confirmed that it is. Whoever is disqualified or withdrawn, before the release or after
    it, is not among them.
    """
    return _cloneable(RoundEntry.objects.filter(round=round_))


def released_tags(repository: Repository, also: Round | None = None) -> dict[str, str]:
    """The tags of a repository that everybody may clone, with their commits, that of the newest round last.

    They are those of `released_entries` of the rounds whose code is released, and of the round `also`.
    """
    open_rounds = Release.objects.filter(part=Release.Part.CODE, withdrawn_at=None).values_list("round", flat=True)
    wanted = {*open_rounds, *([also.pk] if also else [])}
    entries = _cloneable(RoundEntry.objects.filter(submission__repository=repository, round__in=wanted))
    return {entry.submission.tag: entry.submission.commit for entry in sorted(entries, key=lambda each: each.round_id)}


def open_part(round_: Round, part: str) -> Download:
    """A released file: "bundle", "images", "perturbed" (the table of its pairs), or "perturbed-PAIR" (their images).

    Raises `Refusal` where it is not released or there is none.
    """
    pair = _PAIR.fullmatch(part)
    row = released(round_).get(Release.Part.PERTURBED if pair else part)
    if row is None:
        raise Refusal(f"{part} of {round_} is not released")
    if row.part == Release.Part.CODE:
        raise Refusal("code is cloned, not downloaded", fix="git clone SITE/git/public/TEAM/KIND.git")
    if pair is None:
        return _download(round_, part, partial(_stored, row.content), _ENDINGS[Release.Part(row.part)])
    match = pairs_of(round_).filter(pk=int(pair[1])).first()
    if match is None:
        raise Refusal(f"no pair {pair[1]} played in {round_}", fix="take a number from the table of its pairs")
    return _download(round_, part, partial(_images_of, match), "zip")


def _check_may_be_public(round_: Round, part: str) -> None:
    require_state(Round.objects.get(pk=round_.pk), Round.State.PUBLISHED, act="released")
    _check_is_not_public(round_, part)
    # the bundle too: the worst case of a sample names its image to whoever has the data set
    if part != Release.Part.CODE and (why := embargo_reason(round_)):
        raise Refusal(f"the images of {round_} must stay secret: {why}", fix="release it when that is over")
    # and the order in which it seats its players is that of the boards when it was frozen
    if part == Release.Part.BUNDLE and Competition.objects.get(pk=round_.competition_id).leaderboards_frozen_since:
        raise Refusal(f"the bundle of {round_} tells of boards that stand still", fix="let the boards move first")
    if part == Release.Part.CODE:
        _check_code(round_)


def _check_code(round_: Round) -> None:
    competition = Competition.objects.get(pk=round_.competition_id)
    # a final is the last word on its submissions; after another round they go on competing
    if round_.kind != Round.Kind.FINAL and clock.database_now() < competition.ends_at:
        raise Refusal(
            f"{competition.title} is still running, and others would copy the code of {round_}",
            fix=f"release it after {in_words(competition.ends_at)}, when the competition has ended",
        )
    if not released_entries(round_):
        raise Refusal(
            f"no entry of {round_} is eligible and has an open-source licence", fix="there is no code to release"
        )


def _check_is_not_public(round_: Round, part: str) -> None:
    if part in released(round_):
        raise Refusal(f"the {Release.Part(part).label} of {round_} is released already", fix="there is nothing to do")


def _lock(round_: Round) -> None:
    # not the round alone: a repository can be public by several
    Competition.objects.select_for_update(no_key=True).get(pk=round_.competition_id)


def _made(round_: Round, part: str) -> str:
    """What is released, made before the transaction, as it takes its time; the digest, where it is a file."""
    if part == Release.Part.CODE:
        for repository in _repositories(round_):
            if tags := released_tags(repository, also=round_):
                public_copy(repository, tags)
        return ""
    makers = {
        Release.Part.BUNDLE: bundle_of,
        Release.Part.IMAGES: images_zip,
        Release.Part.PERTURBED: pairs_table,
    }
    return object_store.put(makers[Release.Part(part)](round_))


def _repositories(round_: Round) -> list[Repository]:
    return list(Repository.objects.filter(submissions__round_entries__round=round_).order_by("pk"))


def _cloneable(entries: QuerySet[RoundEntry]) -> list[RoundEntry]:
    standing = entries.filter(submission__disqualified_at=None)
    return _open_source(standing.exclude(submission__state=Submission.State.WITHDRAWN))


def _open_source(entries: QuerySet[RoundEntry]) -> list[RoundEntry]:
    rows = entries.filter(eligible=True).select_related("track", "round", "player")
    with_teams = rows.select_related("submission__repository__entry__team")
    ordered = list(with_teams.order_by("submission__repository__entry__team__slug", "track", "round"))
    rounds = {events.name_of(entry.round) for entry in ordered}
    judged = Event.objects.filter(verb="confirm_licence", subject__in=rounds)
    confirmed = set(judged.values_list("data__entry", flat=True))
    return [entry for entry in ordered if entry.pk in confirmed or is_open_source(entry.submission.licence)]


def _stored(digest: str) -> IO[bytes]:
    try:
        return object_store.path_of(digest).open("rb")
    except OSError as error:
        raise Fault(f"object {digest} cannot be read: {error}") from error


def _images_of(pair: Match) -> IO[bytes]:
    """The archive of a pair, made once: too many for all of them to be made at their release."""
    row = pair.round_match
    if not row.images or not object_store.path_of(row.images).exists():
        release_permit = LIMITER.acquire(ANYBODY)
        try:
            row.images = object_store.put(pair_zip(pair))
        finally:
            release_permit()
        row.save(update_fields=["images"])
    return _stored(row.images)


def _download(round_: Round, part: str, file: Callable[[], IO[bytes]], ending: str) -> Download:
    name = f"{round_.competition.slug}-round-{round_.number}-{part}.{ending}"
    return Download(open=file, name=name, content_type=_TYPES[ending])
