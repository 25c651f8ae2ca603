"""Notes and warnings about an imported competition, for organisers."""

from __future__ import annotations

from collections.abc import Iterator

from competitions.baseline_files import own_baseline
from competitions.bundled_baselines import missing_package, works_only_on
from competitions.formats import competition_formats
from competitions.models import Competition, SampleSet, Track
from competitions.sample_set_selectors import development_set, imported_sets, overlapping


def import_notes(competition: Competition) -> list[str]:
    """Return notes and warnings, in sentences. Reads its images, and those of other competitions of the same source."""
    of_the_format = competition_formats.of(competition).import_notes(competition)
    secrecy = [*_about_secrecy(competition), *_about_other_competitions(competition)]
    return [*_about_baselines(competition), *of_the_format, *secrecy]


def _about_baselines(competition: Competition) -> Iterator[str]:
    source = development_set(competition).source
    for track in competition.tracks.all():
        unusable = {name: found for name in _bundled(track) if (found := works_only_on(track.name, name, source))}
        if not track.baselines:
            yield f"The track {track.title} has no baselines. {competition_formats.of(competition).without_baselines}"
        elif unusable:
            made_for = " and ".join(sorted(set(unusable.values())))
            yield (
                f"Warning: some baselines of track {track.name} work only on {made_for}: {', '.join(unusable)}. "
                "Remove them."
            )
        for name in _bundled(track):
            if package := missing_package(track.name, name, source):
                yield (
                    f"Note: outside Docker, {name} runs only where its package is installed: pip install --no-deps "
                    f"{package}"
                )


def _bundled(track: Track) -> list[str]:
    return [name for name in track.baselines if own_baseline(track, name) is None]


def _about_secrecy(competition: Competition) -> Iterator[str]:
    public = development_set(competition)
    secret = [row for row in imported_sets(competition).order_by("pk") if row.secret]
    for row in secret:
        if overlapping(row, [public]):
            yield (
                f"Warning: {row.name} shares images with {public.name}, which is public. Use different splits, or set "
                "skip so that the sets do not overlap."
            )


def _about_other_competitions(competition: Competition) -> Iterator[str]:
    """Yield a warning for each set of another competition that has images which only one of both keeps secret.

    A copy has them: its sets are other parts of the same split, in a secret order of its own.
    """
    own = list(imported_sets(competition).order_by("pk"))
    others = SampleSet.objects.filter(source__in={row.source for row in own}, drawn_from__isnull=True)
    others = others.exclude(competition=competition).filter(competition__archived_at=None)
    for other in others.select_related("competition").order_by("pk"):
        if shared := overlapping(other, [row for row in own if row.secret != other.secret]):
            public, secret = (other, shared) if shared.secret else (shared, other)
            yield f"Warning: {secret} shares images with {public}, which is public. Use other images for one of them."
