"""The result bundle of a round, for tests."""

from __future__ import annotations

from rounds.models import Round
from rounds.release.release_files import bundle_of


def bundle_content(round_: Round) -> bytes:
    """Return the whole bundle of a small round."""
    with bundle_of(round_) as file:
        return file.read()
