"""Adapter: what the result bundles of all formats share, as values of the engine."""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryFile
from typing import IO

from competitions.origin import signed_team_slug
from core.errors import Fault
from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.canonical_json import MOST_SAMPLES, commitment_of, encode
from rounds.models import Round, RoundEntry
from submissions.models import HIDDEN_TITLE

__all__ = ["MOST_SAMPLES", "bundle_submission", "commitment_of", "encode", "written_outcome"]


def bundle_submission(entry: RoundEntry) -> BundleSubmission:
    """Return the submission of an entry as bundles of every format hold it.

    What became of the title after the outcome was made does not change it: `rounds.release.hidden_titles` does.
    """
    submission = entry.submission
    title = HIDDEN_TITLE if entry.title_hidden else submission.given_title or submission.title
    return BundleSubmission(
        team=signed_team_slug(submission.repository.entry),
        commit=submission.commit,
        title=title,
        licence=submission.licence,
        eligible=entry.eligible,
        why=entry.ineligible_because,
    )


def written_outcome(round_: Round, write: Callable[[IO[bytes]], None]) -> IO[bytes]:
    """Return an open temporary file, at its start, with the outcome that `write` writes; the caller closes it.

    Raise `Fault` where it cannot be written.
    """
    file = TemporaryFile()  # noqa: SIM115
    try:
        write(file)
    except ValueError as error:
        file.close()
        raise Fault(f"the outcome of {round_} cannot be written: {error}") from error
    file.seek(0)
    return file
