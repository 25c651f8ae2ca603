"""Adapter: the model that attacks are run against in the smoke test."""

from __future__ import annotations

from pathlib import Path

from competitions.bundled_baselines import bundled
from competitions.kept_baseline_directories import keep_directory
from competitions.models import Competition
from competitions.sample_set_selectors import development_set
from competitions.sample_store import samples_of
from core.errors import Refusal
from evaluation.builder.manifest import read_manifest
from evaluation.domain.players import TrackName
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.smoke_opponent import SmokeOpponent, nearest_mean_opponent
from formats.query.tracks import MODEL

DIGITS = "digits"
"""Source of the sample sets that the bundled models classify."""
DIGITS_MODEL = "numpy-classifier"
"""The bundled model that starts fastest."""


def opponent_name(competition: Competition) -> str:
    """Return the bundled model or directory used in the smoke test.

    Empty for a nearest-mean model of the development samples.
    """
    if competition.smoke_opponent:
        return competition.smoke_opponent
    return DIGITS_MODEL if development_set(competition).source == DIGITS else ""


def made_opponent(competition: Competition) -> SmokeOpponent:
    """Return the nearest-mean model of the development samples. Raise `Refusal` if they are not sufficient."""
    return nearest_mean_opponent(samples_of(development_set(competition)))


def keep_opponent(name: str) -> str:
    """Store the submission in the directory `name` and return its digest; return "" for a bundled model.

    Raise `Refusal` if it is neither, is not a submission to the model track, or needs a GPU.
    """
    if name in bundled(QueryRules.format, MODEL):
        return ""
    source = Path(name).expanduser()
    if not source.is_dir():
        raise Refusal(
            f"{name!r} is neither a bundled model nor a directory",
            fix=f"use one of {', '.join(bundled(QueryRules.format, MODEL))}, or a directory with a submission",
        )
    manifest = read_manifest(source)
    if manifest.track is not TrackName.MODEL:
        raise Refusal(
            f"{name} is a submission to the {manifest.track} track", fix="use a submission to the model track"
        )
    if manifest.gpu:
        raise Refusal(f"{name} needs a GPU, but not every builder has one", fix="use a model that runs without a GPU")
    return keep_directory(source)
