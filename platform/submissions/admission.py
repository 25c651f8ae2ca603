"""Who may submit what when: checks of every submission, pushed or submitted on a page, before those of its content."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from accounts.models import User
from accounts.selectors import is_member
from competitions.formats import track_title
from competitions.models import Competition, Entry, FreezeWindow
from competitions.permissions import require_not_archived
from competitions.terms import require_accepted_terms
from core import clock
from core.errors import Refusal, RefusedForNow
from core.time_format import in_words
from repositories.models import Repository
from submissions.models import Submission
from submissions.quota import allowance_of


def check_may_submit(repository: Repository, user: User, commit: str, *, site_url: str = "") -> None:
    """Check that `user` may submit `commit` now, independent of its content; raise `Refusal` or `RefusedForNow`.

    `site_url` begins the addresses in the answer.
    """
    competition = repository.entry.competition
    check_member(repository, user)
    check_calendar(competition)
    require_accepted_terms(repository.entry, f"{site_url}/competitions/{competition.slug}/terms")
    check_quota(repository)
    check_commit_is_new(repository, commit)


def check_member(repository: Repository, user: User) -> None:
    """Raise `Refusal` unless `user` is in the team of the repository."""
    team = repository.entry.team
    if not is_member(user, team):
        raise Refusal(
            f"{user} is not a member of {team.name}",
            fix="ask the team's captain to add you",
        )


def check_calendar(competition: Competition) -> None:
    """Raise `Refusal` before the start, after the end, in a freeze window and in an archived competition."""
    require_not_archived(competition)
    now = clock.database_now()
    if now < competition.starts_at:
        raise _not_yet(
            competition,
            f"{competition.title} starts at {in_words(competition.starts_at)}",
            competition.starts_at,
        )
    if now >= competition.ends_at:
        raise Refusal(
            f"{competition.title} ended at {in_words(competition.ends_at)}",
            fix="no more submissions are possible; you can still push code",
        )
    window = FreezeWindow.in_force(competition.freeze_windows.all(), now)
    if window:
        raise _not_yet(
            competition,
            f"submissions are frozen until {in_words(window.ends_at)}: {window.reason}",
            window.ends_at,
        )


def check_quota(repository: Repository) -> None:
    """Raise `Refusal` where no slot is left. The result holds only under the repository's lock."""
    allowance = allowance_of(repository)
    if allowance.left:
        return
    title = track_title(repository.entry.competition, repository.track.name)
    track = f"the {title} track"
    if allowance.next_at is None:
        raise Refusal(
            f"{track} accepts no submissions",
            fix="ask the organisers; your commit is not the problem",
        )
    team = repository.entry.team.name
    used = (
        f"the one submission of {team} to {track} in 24 hours is used"
        if allowance.quota == 1
        else f"all {allowance.quota:,} submissions of {team} to {track} in 24 hours are used"
    )
    raise _not_yet(repository.entry.competition, used, allowance.next_at)


def check_commit_is_new(repository: Repository, commit: str, *, but: int | None = None) -> None:
    """Raise `Refusal` for a commit that is a submission already, unless that one was rejected or withdrawn.

    A hidden one stays hidden: its commit is not submitted again. The submission `but` is not in the way.
    """
    inactive = (Submission.State.REJECTED, Submission.State.WITHDRAWN)
    in_the_way = (~Q(state__in=inactive) | Q(hidden_at__isnull=False)) & ~Q(pk=but)
    earlier = Submission.objects.filter(in_the_way, repository=repository, commit=commit).first()
    if earlier is None:
        return
    if earlier.hidden_at is not None:
        raise Refusal(
            f"commit {commit[:7]} is submission {earlier.pk}, which the organisers have hidden",
            fix="commit a change; the page of that submission has the reason",
        )
    raise Refusal(
        f"commit {commit[:7]} is already submission {earlier.pk} ({earlier.get_state_display()})",
        fix="commit a change, or withdraw that submission first",
    )


def check_title(entry: Entry, title: str) -> None:
    """Raise `Refusal` for the title of a hidden submission of the team: it does not become public by another commit.

    Titles of other teams do not count, as the answer would tell what is hidden.
    """
    hidden = Submission.objects.filter(repository__entry=entry, hidden_at__isnull=False, given_title__iexact=title)
    if earlier := hidden.order_by("pk").last():
        raise Refusal(
            f"the title {title!r} is that of submission {earlier.pk}, which the organisers have hidden: "
            f"{earlier.hidden_for}",
            fix="give it another title in its manifest, or ask the organisers to show that submission again",
        )


def _not_yet(competition: Competition, problem: str, at: datetime) -> Refusal:
    """Return a refusal until `at` or the end of the freeze window at `at`; final if the competition ends before."""
    windows, accepted_from = list(competition.freeze_windows.all()), at
    while window := FreezeWindow.in_force(windows, accepted_from):
        accepted_from = window.ends_at
    if accepted_from >= competition.ends_at:
        return Refusal(
            problem,
            fix=f"{competition.title} ends at {in_words(competition.ends_at)}, before submissions are accepted again",
        )
    return RefusedForNow(problem, accepted_from=accepted_from)
