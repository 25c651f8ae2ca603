"""What the seasons of all formats have in common: builds and smoke tests, planned rounds, and live workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Avg, DurationField, ExpressionWrapper, F, QuerySet

from competitions.models import Competition, RulesVersion
from competitions.season_costs import CostLine, ExpectedSeason, Quantity, SeasonCosts
from rounds.models import Round
from submissions.formats import submission_formats
from submissions.models import Build
from submissions.player_builds import build_limit
from workers.models import Worker
from workers.selectors import live_workers

LIMIT = "The limit of the rules: nothing was measured yet."
"""The source of a quantity that is as large as it may be."""

BUILD, SMOKE_TEST = "build_seconds", "smoke_test_seconds"
"""The names of the quantities of every format."""


def measured_on(number: int, unit: str, *, elsewhere: bool) -> str:
    """Return the source of a mean over so many items of a competition, or of others on this site (`elsewhere`)."""
    where = "other competitions of this site with images of this size" if elsewhere else "this competition"
    return f"Measured: the mean of {number:,} {unit} of {where}."


def alike(competition: Competition) -> list[int]:
    """Return the keys of the other competitions of the format with images of the same size."""
    versions = RulesVersion.objects.filter(competition__format=competition.format).order_by("version")
    shapes = {key: values.get("shape") for key, values in versions.values_list("competition", "values")}  # the newest
    return [key for key, shape in shapes.items() if key != competition.pk and shape == shapes.get(competition.pk)]


def build_quantities(competition: Competition, most_of_smoke_test: float) -> list[Quantity]:
    """Return the mean times of a build and of a smoke test: of this competition, else of others, else their limits.

    `most_of_smoke_test` is the limit of a smoke test, in seconds.
    """
    for elsewhere, keys in ((False, [competition.pk]), (True, alike(competition))):
        done = Build.objects.filter(
            submission__repository__track__competition__in=keys, outcome="ready", checks_began_at__isnull=False
        )
        if number := done.count():
            source = measured_on(number, "builds that succeeded", elsewhere=elsewhere)
            build, smoke = _mean(done, "started_at", "checks_began_at"), _mean(done, "checks_began_at", "finished_at")
            return _build_quantities(build, smoke, source, source)
    limit = "The limit of the builder: nothing was built yet."
    return _build_quantities(build_limit().total_seconds(), most_of_smoke_test, limit, LIMIT)


def most_of_smoke_test(competition: Competition) -> float:
    """Return the limit of a smoke test in seconds, by the smoke test of the format, which it loads."""
    return submission_formats.of(competition).smoke_test(competition).player_seconds()


def _build_quantities(build: float, smoke: float, of_build: str, of_smoke: str) -> list[Quantity]:
    return [
        Quantity(BUILD, "Seconds of a build", build, of_build),
        Quantity(SMOKE_TEST, "Seconds of a smoke test", smoke, of_smoke),
    ]


def _mean(builds: QuerySet[Build], first: str, last: str) -> float:
    took = ExpressionWrapper(F(last) - F(first), output_field=DurationField())
    mean: timedelta | None = builds.filter(finished_at__isnull=False).aggregate(mean=Avg(took))["mean"]
    return mean.total_seconds() if mean else 0.0


def build_lines(season: ExpectedSeason) -> list[CostLine]:
    """Return the builds and the smoke tests of all submissions."""
    number = season.submissions
    gpu = sum(track.submissions * track.gpu for track in season.tracks.values())
    build, smoke = season.quantities[BUILD], season.quantities[SMOKE_TEST]
    made_of = f"{number:,} submissions, one of each. Rejected submissions come on top."
    return [
        CostLine("Builds", made_of, number, "builds", seconds=number * build),
        CostLine("Smoke tests", made_of, number, "tests", seconds=number * smoke, gpu_seconds=gpu * smoke),
    ]


def planned_rounds(competition: Competition) -> Sequence[Round]:
    """Return the rounds that are still to be frozen, in their order."""
    planned = competition.rounds.filter(state=Round.State.PLANNED).select_related("sample_set", "window")
    return list(planned.order_by("window__starts_at", "pk"))


def season_share(round_: Round) -> float:
    """Return the share of its season that has passed when a round begins."""
    competition = round_.competition
    share = (round_.window.starts_at - competition.starts_at) / (competition.ends_at - competition.starts_at)
    return min(1.0, max(0.0, share))


def with_live_workers(lines: Sequence[CostLine]) -> SeasonCosts:
    """Return the lines with the numbers of the workers that are live now."""
    live = live_workers()
    return SeasonCosts(lines, live.count(), live.filter(worker_class=Worker.Class.GPU).count())


class CostsOfBuilds:
    """The answers of a format that plays so little that only builds and smoke tests cost anything."""

    def season_quantities(self, competition: Competition) -> Sequence[Quantity]:
        return build_quantities(competition, most_of_smoke_test(competition))

    def season_costs(self, competition: Competition, season: ExpectedSeason) -> SeasonCosts:
        return with_live_workers(build_lines(season))
