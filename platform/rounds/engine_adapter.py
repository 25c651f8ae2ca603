"""Adapter: what the result bundles of all formats share, as values of the engine."""

from __future__ import annotations

from evaluation.bundle.canonical_json import MOST_SAMPLES, commitment_of, encode
from evaluation.bundle.player_submissions import BundleSubmission
from rounds.models import RoundEntry

__all__ = ["MOST_SAMPLES", "bundle_submission", "commitment_of", "encode"]


def bundle_submission(entry: RoundEntry) -> BundleSubmission:
    """Return the submission of an entry as bundles of every format hold it."""
    submission = entry.submission
    return BundleSubmission(
        team=submission.repository.entry.team.slug,
        commit=submission.commit,
        title=submission.title,
        licence=submission.licence,
        eligible=entry.eligible,
        why=entry.ineligible_because,
    )
