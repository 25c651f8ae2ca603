"""The rules and tracks of the query format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from competitions.models import Competition
from competitions.rule_texts import RuleText
from competitions.rules import CHOSEN, COUNTING_SUBMISSION, LEAST_ACCURACY, NEWEST
from competitions.rules_reader import Rules, RulesReader, one_of
from evaluation.formats.query.rules import QueryRules
from formats.query.first_pool_import_notes import first_pool_notes
from formats.query.leaderboards.repeated_evaluations import repeated_evaluations
from formats.query.own_baseline_check import check_baseline
from formats.query.season_costs import season_costs, season_quantities
from formats.query.smoke_test_import_notes import smoke_test_notes
from formats.query.smoke_test_opponents import keep_opponent
from formats.query.tracks import TRACKS

_SECONDS = "seconds of the reference machine"


class QueryCompetition:
    """See `competitions.formats.CompetitionFormat`."""

    title = "queries: attacks ask models"
    tracks = TRACKS
    # the challenge of 2018 asked for half of the images
    rules = RulesReader(
        QueryRules,
        site_values={LEAST_ACCURACY: 0.5, COUNTING_SUBMISSION: NEWEST},
        kinds={COUNTING_SUBMISSION: one_of(NEWEST, CHOSEN)},
        texts={
            "query_budget": RuleText(
                "Query budget for each sample", "The most images that an attack may send to a model for a sample."
            ),
            "piece_samples": RuleText("Samples in a piece", "How many samples a worker plays at once.", "1 to 64"),
            "setup_seconds": RuleText(
                "Time to set up", "How long a player may take until it is ready for the first sample.", _SECONDS
            ),
            "model_seconds_per_image": RuleText(
                "Time to label an image", "How long a model may take for each image.", _SECONDS
            ),
            "attack_seconds_per_sample": RuleText(
                "Time to attack a sample",
                "How long an attack may take for each sample, without the time of the model.",
                _SECONDS,
            ),
            "opponents": RuleText("Opponents", "The most players in the pool of a track."),
        },
    )
    without_baselines = "Its first pool is built from the first ready submissions."
    keep_opponent = staticmethod(keep_opponent)
    repeated_work = staticmethod(repeated_evaluations)
    season_quantities = staticmethod(season_quantities)
    season_costs = staticmethod(season_costs)

    def check_baseline(self, track_name: str, source: Path, rules: Rules) -> None:
        check_baseline(track_name, source, cast(QueryRules, rules))

    def import_notes(self, competition: Competition) -> Iterator[str]:
        yield from first_pool_notes(competition)
        yield from smoke_test_notes(competition)
