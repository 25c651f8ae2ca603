"""Adapter: builds a player of the query format on this host from a commit or a bundled submission."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from competitions.baseline_files import baseline_files
from competitions.bundled_baselines import bundled_repository
from competitions.models import Track
from evaluation.builder.base import Builder
from evaluation.builder.choose_builder import choose_builder
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import ManifestRefusal
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.submissions_2018.builders import any_year_builder
from repositories.models import Repository
from submissions.models import Player, Submission
from submissions.player_builds import (
    LogLine,
    baseline_of,
    checkout_of,
    first_checkout,
    host_builder,
    player_as_built,
    rebuilt,
    row_of,
    row_of_commit,
)


def build(submission: Submission, on_log: LogLine) -> Player:
    """Build the commit of `submission`; return the row of its player.

    Raise `Refusal` (of the manifest, of the build) with the fix, or `Fault`.
    """
    source = first_checkout(submission)
    built = _builder(submission.repository).build(source, on_log=on_log)
    track_name = submission.repository.track.name
    if built.track != track_name:
        raise ManifestRefusal(
            f'submission.toml: track is "{built.track}", but this repository is for the {track_name} track',
            fix=f'write track = "{track_name}", or push to the other repository',
        )
    return row_of_commit(submission, built, tree_digest(source))


def baseline_player(track: Track, name: str, on_log: LogLine) -> Player:
    """Build the baseline `name` on this host; return its row. Raise `Fault` if there is none of that name."""
    source = baseline_files(track, name).repository()
    return row_of(track, _rebuilt(_builder(), source, on_log), baseline=name)


def ready_player(player: Player, on_log: LogLine) -> QueryPlayer:
    """Return `player` as the engine starts it here, with its team; see `player_as_built`."""
    return replace(player_as_built(player, _builder(), _source_of, on_log), team=_team_of(player))


def trusted_model(name: str) -> QueryPlayer:
    """Build the bundled model `name` for the process sandbox, whatever sandbox the players of teams use."""
    source = bundled_repository(TrackName.MODEL, name).repository()
    return _rebuilt(choose_builder("process"), source, lambda line: None)


def model_of(source: Path) -> QueryPlayer:
    """Build a model that organisers gave as a team's submission is built; raise `Fault`."""
    return _rebuilt(_builder(), source, lambda line: None)


def _team_of(player: Player) -> str:
    """Return the team that the locks of a host know, empty for a bundled submission."""
    return "" if player.repository is None else str(player.repository.entry.team_id)


def _builder(repository: Repository | None = None) -> Builder:
    return host_builder(any_year_builder, repository)


def _rebuilt(builder: Builder, source: Path, on_log: LogLine) -> QueryPlayer:
    return rebuilt(source, partial(builder.build, on_log=on_log))


def _source_of(player: Player) -> Path:
    if player.repository is None:
        return baseline_of(player).repository()
    return checkout_of(player.repository, player.commit)
