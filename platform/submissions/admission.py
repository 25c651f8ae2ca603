"""Checks that every submission must pass, pushed or submitted on a page: cheap ones first, without writes."""

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
from submissions.selectors import active_submission, allowance_of


def check_may_submit(repository: Repository, user: User, commit: str) -> None:
    """Check that `user` may submit `commit` now, independent of its content; raise `Refusal` or `RefusedForNow`."""
    _check_member(repository, user)
    check_calendar(repository.entry.competition)
    check_quota(repository)
    check_commit_is_new(repository, commit)


def check_content(repository: Repository, commit: str, reader: GitReader) -> str:
    """Check the files of `commit` and return its build plan in one line; raise `Refusal` for the first error."""
    files = reader.files(commit)
    check_files(files, reader)
    manifest = manifest_at(reader, commit, files)
    _check_track(repository, manifest.track)
    _check_gpu(manifest.gpu)
    check_script(manifest, files)
    return plan_of(reader, files)


def check_calendar(competition: Competition) -> None:
    """Raise `Refusal` before the start, after the end and in a freeze window."""
    now = clock.database_now()
    if now < competition.starts_at:
        raise _not_yet(
            competition, f"{competition.title} starts at {in_words(competition.starts_at)}", competition.starts_at
        )
    if now >= competition.ends_at:
        raise Refusal(
            f"{competition.title} ended at {in_words(competition.ends_at)}",
            fix="no more submissions are possible; you can still push code",
        )
    window = window_at(competition.freeze_windows.all(), now)
    if window:
        raise _not_yet(
            competition, f"submissions are frozen until {in_words(window.ends_at)}: {window.reason}", window.ends_at
        )


def check_quota(repository: Repository) -> None:
    """Raise `Refusal` where no slot is left. The result holds only under the repository's lock."""
    allowance = allowance_of(repository)
    if allowance.left:
        return
    track = f"the {repository.track.get_name_display()} track"
    if allowance.next_at is None:
        raise Refusal(f"{track} accepts no submissions", fix="ask the organisers; your commit is not the problem")
    raise _not_yet(
        repository.entry.competition,
        f"all {allowance.quota} submissions of {repository.entry.team.name} to {track} in 24 hours are used",
        allowance.next_at,
    )


def check_commit_is_new(repository: Repository, commit: str) -> None:
    """Raise `Refusal` for a commit that is a submission already, unless that one was refused or withdrawn."""
    if active := active_submission(repository, commit):
        raise Refusal(
            f"commit {commit[:7]} is already submission {active.pk} ({active.get_state_display()})",
            fix="commit a change, or withdraw that submission first",
        )


def _check_member(repository: Repository, user: User) -> None:
    team = repository.entry.team
    if not is_member(user, team):
        raise Refusal(f"{user} is not a member of {team.name}", fix="ask the team's captain to add you")


def _check_track(repository: Repository, declared: str) -> None:
    track_name = repository.track.name
    if declared != track_name:
        raise Refusal(
            f'submission.toml says track = "{declared}", but this repository is for the track "{track_name}"',
            fix=f'write track = "{track_name}", or push to the team\'s repository {declared}.git',
        )


def _check_gpu(required: bool) -> None:
    """Raise `Refusal` for a player that no running worker can play: its build would be useless."""
    if required and not import_string(settings.GPU_LIVES)():
        raise Refusal(
            "submission.toml says gpu = true, and no worker with a GPU is running now",
            fix="write gpu = false if a CPU is enough, or push again when the Status page shows a GPU worker",
        )


def _not_yet(competition: Competition, problem: str, at: datetime) -> Refusal:
    """Return a refusal until `at` or the end of the freeze window at `at`; final if the competition ends before."""
    accepted_from = _after_windows(list(competition.freeze_windows.all()), at)
    if accepted_from >= competition.ends_at:
        return Refusal(
            problem, fix=f"{competition.title} ends at {in_words(competition.ends_at)}, before a slot is free again"
        )
    return RefusedForNow(problem, accepted_from=accepted_from)


def _after_windows(windows: list[FreezeWindow], at: datetime) -> datetime:
    while window := window_at(windows, at):
        at = window.ends_at
    return at
