"""What a season of the curves format costs: the benchmarks of each submission, and those of the rounds."""

from __future__ import annotations

from dataclasses import dataclass

from competitions.models import Competition, SampleSet
from competitions.sample_set_selectors import sample_set_for
from competitions.season_costs import NOBODY, CostLine, ExpectedSeason, Quantity, SeasonCosts
from competitions.selectors import rules_in_force
from evaluation.formats.curves.rules import CurvesRules
from formats.curves.listed_attacks import most_questions
from formats.curves.measured_time_and_disk import measured_benchmarks, most_queries, stored_bytes_per_image
from formats.curves.models import Benchmark
from formats.curves.tracks import MODEL
from rounds.season_costs import (
    LIMIT,
    alike,
    build_lines,
    build_quantities,
    measured_on,
    planned_rounds,
    season_share,
    with_live_workers,
)

RESULT_BYTES = 512
"""Of the result of an image before anything was played: its distances and labels in a benchmark."""


def season_quantities(competition: Competition) -> list[Quantity]:
    """Return the means of the last benchmarks of this competition, else of others with such images, else the limits."""
    rules = rules_in_force(competition).rules_as(CurvesRules)
    questions = sum(map(most_questions, rules.attacks)) / most_queries(rules.attacks, 1)
    query, of_query = questions * rules.model_seconds_per_image, LIMIT
    development = sample_set_for(competition, SampleSet.Purpose.DEVELOPMENT)
    stored, of_stored = float(RESULT_BYTES), "An assumption: nothing was played yet."
    for elsewhere, keys in ((True, alike(competition)), (False, [competition.pk])):
        benchmarks = Benchmark.objects.filter(rules__competition__in=keys)
        if measured := measured_benchmarks(benchmarks):
            query = measured.seconds_per_query
            of_query = measured_on(measured.benchmarks, "benchmarks", elsewhere=elsewhere)
        if size := stored_bytes_per_image(benchmarks):
            stored, of_stored = size, measured_on(benchmarks.count(), "benchmarks", elsewhere=elsewhere)
    return [
        Quantity("query_seconds", "Seconds of a query, of the model and the attack", query, of_query),
        Quantity("stored_bytes", "Bytes that are stored of an image in a benchmark", stored, of_stored),
        # the smoke test itself would load PyTorch: it answers a few of the development samples
        *build_quantities(competition, rules.setup_seconds + development.count * rules.model_seconds_per_image),
    ]


@dataclass(frozen=True)
class BenchmarkTimes:
    """The quantities of the format, under the attacks of the rules; a share of the models uses a GPU."""

    query: float
    stored_bytes: float
    rules: CurvesRules
    gpu: float

    def line(self, title: str, made_of: str, models: int, images: int) -> CostLine:
        """Return what the benchmarks of so many models on so many images cost."""
        attacks = len(self.rules.attacks)
        queries = models * most_queries(self.rules.attacks, images)
        seconds = queries * self.query
        return CostLine(
            title,
            f"{models:,} {made_of} x {attacks} attacks x {images} images, with all queries that the rules allow.",
            models * attacks,
            "benchmarks",
            models * attacks * images,
            queries,
            seconds,
            self.gpu * seconds,
            models * attacks * images * self.stored_bytes,
        )


def season_costs(competition: Competition, season: ExpectedSeason) -> SeasonCosts:
    """Return builds and smoke tests, the benchmarks of the leaderboards, and each planned round with what follows."""
    expected = season.tracks.get(MODEL, NOBODY)
    values = season.quantities
    rules = rules_in_force(competition).rules_as(CurvesRules)
    times = BenchmarkTimes(values["query_seconds"], values["stored_bytes"], rules, expected.gpu)
    images = sample_set_for(competition, SampleSet.Purpose.VALIDATION).count
    lines = [*build_lines(season), times.line("Leaderboards", "submissions", expected.submissions, images)]
    for planned in planned_rounds(competition):
        lines.append(times.line(planned.title, "models", expected.teams, planned.sample_set.count))
        if competition.new_validation_set:
            before = max(expected.teams, round(expected.submissions * season_share(planned)))
            made_of = "submissions until then, on a new validation set,"
            lines.append(times.line(f"Leaderboards after {planned.title}", made_of, before, images))
    return with_live_workers(lines)
