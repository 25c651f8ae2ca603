"""Release, withdrawal and download of parts of a published round."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import IO, TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet

from competitions.models import Competition, SampleSet
from competitions.permissions import require
from core import clock, event_log, object_store, worker_notifications
from core.errors import Fault, Refusal, RefusedInState
from core.roles import Right
from core.time_format import in_words
from repositories.git_reader import GitReader
from repositories.models import Repository
from repositories.public_copies import drop_copies, public_copy
from rounds.formats import format_of
from rounds.models import Release, Round, RoundEntry
from rounds.objections.period import result_state
from rounds.planning.open_source_licences import is_open_source
from rounds.publishing.pair_visibility import pairs_public
from rounds.release.embargo import embargo_reason
from rounds.release.hidden_titles import entries_with_hidden_titles, leave_out_hidden_titles
from rounds.release.objections_file import objections_of
from rounds.release.release_files import bundle_of, images_zip
from rounds.release.signing_keys import public_key
from rounds.running.transitions import lock_competition, require_reason, require_state
from submissions.models import Submission

if TYPE_CHECKING:
    from accounts.models import User

COPIES_REMAIN = "Copies made before may remain: what was public cannot be recalled."
"""The warning of a withdrawal, also kept in the event log."""

_IMAGES_OF_ROW = re.compile(r"perturbed-([1-9][0-9]{0,17})")
_ENDINGS = {
    Release.Part.BUNDLE: "gauntlet",
    Release.Part.IMAGES: "zip",
    Release.Part.PERTURBED: "csv",
    Release.Part.OBJECTIONS: "jsonl",
}
_TYPES = {
    "gauntlet": "application/octet-stream",
    "zip": "application/zip",
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
}
_SIGNED = (Release.Part.BUNDLE, Release.Part.OBJECTIONS)
_WITHOUT_IMAGES = (Release.Part.CODE, Release.Part.OBJECTIONS)


@dataclass(frozen=True)
class Download:
    """A file to download. `open` makes it if it is missing; the caller closes it.

    It raises `ArchivesBusyError` while others have such files made.
    """

    open: Callable[[], IO[bytes]]
    name: str
    content_type: str


def release(*, round_: Round, part: str, by: User, reason: str) -> Release:
    """Release a part of a published round, an action of its organisers.

    Releasing again what was withdrawn gives the same bytes, until the signing key changes or the title of an entry is
    hidden, which then stands in no bundle that is made afterwards; released objections are then released again, too, as
    they name the outcome of the bundle. Raise `Refusal` if the part is public already or may not be: images under
    embargo, and the bundle that describes them; the bundle while leaderboards are frozen, and perturbed images, whose
    table has all pairs, if they were before the round; code if none may be cloned or, except for a final, while the
    competition is running; objections while they are made or wait for an answer.
    """
    require(by, round_.competition, Right.RUN)
    reason = require_reason(reason, "a release")
    if part not in Release.Part.values:
        raise Refusal(f"a round has no part {part!r}", fix=f"release one of {', '.join(Release.Part.values)}")
    _check_may_be_public(round_, part)
    key = public_key() if part in _SIGNED else ""
    if part == Release.Part.BUNDLE:
        leave_out_hidden_titles(round_, by)
    content = _made(round_, part)
    outdated = _outdated_objections(round_) if part == Release.Part.BUNDLE else None
    renewed = _made(round_, Release.Part.OBJECTIONS) if outdated else ""
    with transaction.atomic():
        lock_competition(round_)  # not the round alone: a repository can be public by several
        # checked again under the lock: leaderboards may be frozen by now, or the images be in use again
        _check_may_be_public(round_, part)
        if part == Release.Part.BUNDLE and entries_with_hidden_titles(round_).exists():
            raise Refusal(f"a submission of {round_} was hidden meanwhile", fix="release the bundle again")
        if part in _SIGNED and Round.objects.get(pk=round_.pk).outcome != round_.outcome:
            raise Refusal(f"the outcome of {round_.title} changed meanwhile", fix="release it again")
        row = Release.objects.create(
            round=round_, part=part, released_at=clock.now(), released_by=by, content=content, key=key
        )
        if part in (Release.Part.IMAGES, Release.Part.PERTURBED):
            shown = SampleSet.objects.filter(pk=round_.sample_set_id, images_public_since=None)
            shown.update(images_public_since=row.released_at)
        if part == Release.Part.CODE:
            # also of disqualified entries, as one may be reinstated: each request checks which tags are released
            opened = [entry.submission.repository_id for entry in _open_source(RoundEntry.objects.filter(round=round_))]
            Repository.objects.filter(pk__in=opened, public_since=None).update(public_since=row.released_at)
            worker_notifications.notify("rounds.copy_code", round=round_.pk)
        event_log.record("release", row, by=by, reason=reason, round=round_.pk, part=part, content=content)
        if outdated is not None:
            _release_again(outdated, renewed, row, reason)
    return row


def _outdated_objections(round_: Round) -> Release | None:
    """Return the released objections of a round if they name another outcome than it has, else None."""
    objections = released(round_).get(Release.Part.OBJECTIONS)
    if objections is None:
        return None
    with object_store.open_object(objections.content) as file:
        return None if json.loads(file.readline())["outcome"] == round_.outcome else objections


def _release_again(outdated: Release, content: str, bundle: Release, reason: str) -> None:
    """Release the objections that name the outcome of `bundle` in the place of `outdated` ones, in its transaction."""
    by, at, part = bundle.released_by, bundle.released_at, outdated.part
    if not Release.objects.filter(pk=outdated.pk, withdrawn_at=None).update(withdrawn_at=at):
        return  # withdrawn meanwhile
    event_log.record(
        "withdraw", outdated, by=by, reason="The outcome was made again.", round=outdated.round_id, part=part
    )
    row = Release.objects.create(
        round=bundle.round, part=part, released_at=at, released_by=by, content=content, key=bundle.key
    )
    event_log.record("release", row, by=by, reason=reason, round=row.round_id, part=part, content=content)


def withdraw(*, release: Release, by: User, reason: str) -> None:
    """Stop serving a released part: files are removed from the site, repositories are private again.

    Also of an archived competition: what was released by mistake does not stay public.
    """
    require(by, release.round.competition, Right.RUN, archived=True)
    reason = require_reason(reason, "a withdrawal")
    is_code = release.part == Release.Part.CODE
    with transaction.atomic():
        lock_competition(release.round, archived=True)
        if not Release.objects.filter(pk=release.pk, withdrawn_at=None).update(withdrawn_at=clock.now()):
            raise RefusedInState(f"the {release} is already withdrawn", state="withdrawn", fix="no action needed")
        event_log.record(
            "withdraw", release, by=by, reason=reason, round=release.round_id, part=release.part, note=COPIES_REMAIN
        )
        left = {of: released_tags(of) for of in _repositories(release.round)} if is_code else {}
        private = [repository.pk for repository, tags in left.items() if not tags]
        Repository.objects.filter(pk__in=private).update(public_since=None)
    for repository, tags in left.items():
        drop_copies(repository, but=tags)
    release.refresh_from_db()


def withdraw_part(*, round_: Round, part: str, by: User, reason: str) -> None:
    """Stop serving a released part of a round, see `withdraw`. Raise `Refusal` also where it is not released."""
    row = released(round_).get(part)
    if row is None:
        problem = f"the {Release.Part(part).label} is not released"
        raise RefusedInState(problem, state="not released", fix="choose a released part")
    withdraw(release=row, by=by, reason=reason)


def released(round_: Round) -> dict[str, Release]:
    """Return the public parts of a round, by part."""
    return {each.part: each for each in round_.releases.filter(withdrawn_at=None)}


def released_entries(round_: Round) -> list[RoundEntry]:
    """Return the entries whose code is public once the code of the round is released, by team and track.

    Only a final requires open source, so eligibility is not enough: the licence must be open source, or confirmed by an
    organiser. Disqualified and withdrawn entries are excluded, also after the release, and all of a repository with a
    hidden submission, whose files may be in the history of the others.
    """
    return _cloneable(RoundEntry.objects.filter(round=round_))


def released_tags(repository: Repository, also: Round | None = None) -> dict[str, str]:
    """Return the tags of a repository that everyone may clone, with their commits, that of the newest round last.

    They are those of `released_entries` of the rounds whose code is released, and of the round `also`.
    """
    open_rounds = Release.objects.filter(part=Release.Part.CODE, withdrawn_at=None).values_list("round", flat=True)
    rounds_of_tags = {*open_rounds, *([also.pk] if also else [])}
    if not rounds_of_tags:
        return {}
    entries = _cloneable(RoundEntry.objects.filter(submission__repository=repository, round__in=rounds_of_tags))
    return {entry.submission.tag: entry.submission.commit for entry in sorted(entries, key=lambda each: each.round_id)}


def public_entries(competition: Competition) -> list[RoundEntry]:
    """Return the entries of a competition whose code is public now: those of `released_entries` of its rounds."""
    with_code = Release.objects.filter(part=Release.Part.CODE, withdrawn_at=None, round__competition=competition)
    return _cloneable(RoundEntry.objects.filter(round__in=with_code.values("round")))


def parts_of(round_: Round) -> list[Release.Part]:
    """Return the parts that the round has: not every format makes images, and not every round hears objections."""
    missing = {
        Release.Part.OBJECTIONS: not round_.objection_days,
        Release.Part.PERTURBED: not format_of(round_).makes_images,
    }
    return [part for part in Release.Part if not missing.get(part)]


def refused_parts(round_: Round) -> dict[Release.Part, str]:
    """Return the parts of a round that are not public, each with why it cannot be released now, "" if it can.

    A part that a platform error leaves unchecked is among those that cannot.
    """
    embargo, public = cache(embargo_reason), released(round_)
    found = {}
    for part in (each for each in parts_of(round_) if each not in public):
        try:
            _check_may_be_public(round_, part, embargo)
        except Refusal as refusal:
            found[part] = refusal.problem
        except Fault as fault:
            found[part] = str(fault)
        else:
            found[part] = ""
    return found


def open_part(round_: Round, part: str) -> Download:
    """Return a released file: "bundle", "images", "perturbed" (a table), or "perturbed-N" (the images of its row N).

    Raise `Refusal` if it is not released or does not exist.
    """
    row_of = _IMAGES_OF_ROW.fullmatch(part)
    row = released(round_).get(Release.Part.PERTURBED if row_of else part)
    if row is None:
        raise Refusal(f"{part} of {round_} is not released")
    if row.part == Release.Part.CODE:
        raise Refusal("code is cloned, not downloaded", fix="git clone SITE/git/public/TEAM/TRACK.git")
    if row_of is None:
        return _download(round_, part, partial(object_store.open_object, row.content), _ENDINGS[Release.Part(row.part)])
    images = format_of(round_).perturbed_images(round_, int(row_of[1]))
    if images is None:
        raise Refusal(f"{round_} has no perturbed images {row_of[1]}", fix="choose a number from its table of them")
    return _download(round_, part, images, "zip")


def _check_may_be_public(round_: Round, part: str, embargo: Callable[[Round], str] = embargo_reason) -> None:
    require_state(Round.objects.get(pk=round_.pk), Round.State.PUBLISHED, act="released")
    if part in released(round_):
        problem = f"the {Release.Part(part).label} of {round_} is already released"
        raise RefusedInState(problem, state="released", fix="no action needed")
    # the bundle too: a sample's worst case identifies its image to anyone who has the data set
    if part not in _WITHOUT_IMAGES and (why := embargo(round_)):
        raise Refusal(f"the images of {round_} must stay secret: {why}", fix="release it when that ends")
    # the initial seeding is the order of the leaderboards at the freeze, and matches may follow it
    hides = _first_pairs_secret if part == Release.Part.PERTURBED else _order_secret if part in _SIGNED else None
    if hides is not None and hides(Round.objects.select_related("competition", "window").get(pk=round_.pk)):
        problem = f"the {Release.Part(part).label} of {round_} would reveal frozen leaderboards"
        raise Refusal(problem, fix="unfreeze the leaderboards first")
    if part == Release.Part.CODE:
        _check_code(round_)
    if part == Release.Part.OBJECTIONS:
        _check_objections(round_)


def _order_secret(current: Round) -> bool:
    """Return whether the round shows the order of leaderboards that are frozen now."""
    return format_of(current).secret_order_since(current) is not None


def _first_pairs_secret(current: Round) -> bool:
    """Return whether who met whom shows that order: the table of perturbed images has all pairs."""
    return not pairs_public(current, AnonymousUser())


def _check_code(round_: Round) -> None:
    competition = Competition.objects.get(pk=round_.competition_id)
    # the submissions of a final do not compete again; those of other rounds do
    if round_.kind != Round.Kind.FINAL and clock.database_now() < competition.ends_at:
        raise Refusal(
            f"{competition.title} is still running, and others would copy the code of {round_}",
            fix=f"release it after {in_words(competition.ends_at)}, when the competition has ended",
        )
    if not released_entries(round_):
        raise Refusal(
            f"no entry of {round_} is eligible with an open-source licence",
            fix="confirm a licence, or do not release code",
        )


def _check_objections(round_: Round) -> None:
    """Raise `Refusal` while the file could still change: it holds every objection, each with its answer."""
    result = result_state(Round.objects.get(pk=round_.pk))
    if result is None:
        raise Refusal(f"the result of {round_} has no period for objections", fix="release its other parts")
    if not result.over:
        raise Refusal(
            f"objections to {round_} are accepted until {in_words(result.until)}",
            fix="release them afterwards, once each has an answer",
        )
    if result.open:
        raise Refusal(f"objections to {round_} without an answer: {result.open}", fix="answer them first")


def _made(round_: Round, part: str) -> str:
    """Make the released content before the transaction, as it is slow; return its digest if it is a file."""
    if part == Release.Part.CODE:
        for repository in _repositories(round_):
            _require_commits(repository, released_tags(repository, also=round_))
        return ""
    if part == Release.Part.BUNDLE:
        return object_store.put_open(bundle_of(round_))
    if part == Release.Part.OBJECTIONS:
        return object_store.put_open(objections_of(round_))
    makers = {
        Release.Part.IMAGES: images_zip,
        Release.Part.PERTURBED: format_of(round_).perturbed_table,
    }
    return object_store.put(makers[Release.Part(part)](round_))


def copy_code(round_: Round) -> None:
    """Make the public copies of the repositories of a round, as far as they are released and on this host.

    Each takes seconds. The first clone of one that is missing makes it, too, so that nobody has to wait for this.
    """
    for repository in _repositories(round_):
        tags = released_tags(repository)
        if not tags or not repository.path.exists():
            continue
        public_copy(repository, tags)
        if (current := released_tags(repository)) != tags:  # withdrawn or disqualified meanwhile
            drop_copies(repository, but=current)


def _require_commits(repository: Repository, tags: Mapping[str, str]) -> None:
    """Raise `Fault` where the repository lacks a commit of `tags`."""
    if not tags:
        return
    with GitReader(repository.path) as reader:
        missing = [commit for commit in tags.values() if reader.resolve(commit) is None]
    if missing:
        raise Fault(f"{repository} lacks the commits {', '.join(missing)}")


def _repositories(round_: Round) -> list[Repository]:
    return list(Repository.objects.filter(submissions__round_entries__round=round_).order_by("pk"))


def _cloneable(entries: QuerySet[RoundEntry]) -> list[RoundEntry]:
    hidden = Submission.objects.filter(hidden_at__isnull=False)
    standing = entries.filter(submission__disqualified_at=None)
    standing = standing.exclude(submission__repository__in=hidden.values("repository"))
    return _open_source(standing.exclude(submission__state=Submission.State.WITHDRAWN))


def _open_source(entries: QuerySet[RoundEntry]) -> list[RoundEntry]:
    rows = entries.filter(eligible=True).select_related("track", "round", "player")
    with_teams = rows.select_related("submission__repository__entry__team")
    ordered = with_teams.order_by("submission__repository__entry__team__slug", "track", "round")
    return [entry for entry in ordered if entry.licence_confirmed_at or is_open_source(entry.submission.licence)]


def _download(round_: Round, part: str, file: Callable[[], IO[bytes]], ending: str) -> Download:
    name = f"{round_.competition.slug}-round-{round_.number}-{part}.{ending}"
    return Download(open=file, name=name, content_type=_TYPES[ending])
