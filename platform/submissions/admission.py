"""What every submission must pass, pushed or sent from a page: cheap checks first, nothing is written."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils.module_loading import import_string

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Competition, FreezeWindow
from competitions.window_lookup import window_at
from core import clock
from core.errors import Refusal, RefusedForNow
from core.times import in_words
from repositories.file_rules import check_files
from repositories.git_reader import GitReader
from repositories.models import Repository
from submissions.preflight import check_script, manifest_at, plan_of
from submissions.selectors import allowance_of, standing_submission


def check_turn(repository: Repository, user: User, commit: str) -> None:
    """Whether `user` may submit `commit` now, whatever it holds; raises `Refusal` or `RefusedForNow`."""
    _check_member(repository, user)
    check_calendar(repository.entry.competition)
    check_quota(repository)
    check_commit_is_new(repository, commit)


def check_content(repository: Repository, commit: str, reader: GitReader) -> str:
    """How a player will be made of what `commit` holds, in one line; raises `Refusal` with the one thing to mend."""
    files = reader.files(commit)
    check_files(files, reader)
    manifest = manifest_at(reader, commit, files)
    _check_track(repository, manifest.track)
    _check_gpu(manifest.gpu)
    check_script(manifest, files)
    return plan_of(reader, files)


def check_calendar(competition: Competition) -> None:
    """Refuse before the start, after the end and in a freeze window."""
    now = clock.database_now()
    if now < competition.starts_at:
        raise _not_yet(
            competition, f"{competition.title} begins at {in_words(competition.starts_at)}", competition.starts_at
        )
    if now >= competition.ends_at:
        raise Refusal(
            f"{competition.title} ended at {in_words(competition.ends_at)}",
            fix="nothing more can be submitted to it; pushes of code go on as before",
        )
    window = window_at(competition.freeze_windows.all(), now)
    if window:
        raise _not_yet(
            competition, f"submissions are frozen until {in_words(window.ends_at)}: {window.reason}", window.ends_at
        )


def check_quota(repository: Repository) -> None:
    """Refuse where no slot is left. Only under the repository's lock does the answer hold until a slot is taken."""
    allowance = allowance_of(repository)
    if allowance.left:
        return
    track = f"the {repository.track.get_name_display()} track"
    if allowance.next_at is None:
        raise Refusal(f"{track} takes no submissions", fix="ask the organisers; nothing is wrong with the commit")
    raise _not_yet(
        repository.entry.competition,
        f"all {allowance.quota} submissions of {repository.entry.team.name} to {track} in 24 hours are used",
        allowance.next_at,
    )


def check_commit_is_new(repository: Repository, commit: str) -> None:
    """Refuse a commit that is a submission already; one that was refused or withdrawn may come again."""
    if standing := standing_submission(repository, commit):
        raise Refusal(
            f"commit {commit[:7]} is submission {standing.pk} already ({standing.get_state_display()})",
            fix="change something and commit it, or withdraw that submission first",
        )


def _check_member(repository: Repository, user: User) -> None:
    team = repository.entry.team
    if not is_member(user, team):
        raise Refusal(f"{user} is no member of {team.name}", fix="ask the team's captain to add you")


def _check_track(repository: Repository, wanted: str) -> None:
    track_name = repository.track.name
    if wanted != track_name:
        raise Refusal(
            f'submission.toml says track = "{wanted}", and this repository is for the track "{track_name}"',
            fix=f'write track = "{track_name}", or push to the team\'s repository {wanted}.git',
        )


def _check_gpu(wanted: bool) -> None:
    """Refuse what no worker can play now: it would be built in vain."""
    if wanted and not import_string(settings.GPU_LIVES)():
        raise Refusal(
            "submission.toml says gpu = true, and no worker with a GPU is running now",
            fix="write gpu = false if a processor is enough, or push again when the page Status shows a GPU worker",
        )


def _not_yet(competition: Competition, problem: str, at: datetime) -> Refusal:
    """Refused until `at`, or until the freeze window that `at` falls into is over; for good where that is too late."""
    accepted_from = _after_windows(list(competition.freeze_windows.all()), at)
    if accepted_from >= competition.ends_at:
        return Refusal(
            problem, fix=f"{competition.title} ends at {in_words(competition.ends_at)}, before the next one is accepted"
        )
    return RefusedForNow(problem, accepted_from=accepted_from)


def _after_windows(windows: list[FreezeWindow], at: datetime) -> datetime:
    while window := window_at(windows, at):
        at = window.ends_at
    return at
