"""The season of the demo in the query format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rich.console import Console

from competitions.models import SampleSet
from competitions.sample_set_selectors import sample_set_for
from core.time_format import duration
from formats.query.demo.printed_tables import print_preview, print_standings
from formats.query.leaderboards.evaluation_basis import unevaluated
from formats.query.leaderboards.models import Evaluation
from formats.query.rounds.cost_estimate import estimate
from formats.query.rounds.planning import RoundSchedule
from formats.query.rounds.preview import preview
from formats.query.rounds.progress import progress
from rounds.models import Round
from rounds.selectors import standings


class QuerySeason:
    """See `demo.formats.SeasonFormat`."""

    plan: Mapping[str, str] = {"schedule": RoundSchedule.LADDER_2}

    def cost(self, planned: Round) -> str:
        """Describe how many samples a round plays at most, and for how long."""
        most = estimate(planned)
        hours = f", {duration(3600 * most.hours)}" if most.hours is not None else ""
        return f"at most {most.triples_most:,} samples to play{hours}"

    def progress(self, started: Round) -> Callable[[], str]:
        """Return what describes the finished stages and the played samples of a round."""
        most = estimate(started).triples_most

        def far() -> str:
            done = progress(started).done
            return f"stages finished: {started.stages.count()}; {done:,} of at most {most:,} samples played"

        return far

    def print_preview(self, scored: Round, console: Console) -> None:
        """Print the pools before and after, and the place of each entry."""
        print_preview(scored.title, preview(scored), console)

    def changes(self, published: Round) -> Iterator[str]:
        """Yield the pools of each track before and after, and the new validation set."""
        for track in published.competition.tracks.all():
            pools = track.pools.prefetch_related("players").order_by("-number")[:2]
            for pool in reversed(pools):
                places = pool.places.select_related("player")
                yield f"{track.name} pool {pool.number}: {', '.join(place.player.title for place in places)}"
        validation = sample_set_for(published.competition, SampleSet.Purpose.VALIDATION)
        if validation.replaces_id is not None:
            yield f"validation set: {validation.name}, {validation.count} images that were in no set before"

    def awaited(self) -> str:
        """Say whether submissions are still to be measured against a new pool."""
        playing = Evaluation.objects.filter(state=Evaluation.State.PLAYING)
        if not playing.exists() and next(unevaluated(), None) is None:
            return ""
        return "Submissions are measured again against the new pools."

    def print_standings(self, published: Round, console: Console) -> None:
        """Print place, score and stage of each entry."""
        print_standings(published.title, standings(published), console)
