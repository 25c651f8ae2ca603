"""One match: one attack against one model over a sample set, played in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side, TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.derived_seeds import derive_seed
from evaluation.formats.query.referee.match_players import ConnectedPlayer, Model
from evaluation.formats.query.referee.piece import RefereedPiece
from evaluation.formats.query.referee.player_interface import PlayerConnection
from evaluation.formats.query.referee.query_exchange import MatchContext
from evaluation.formats.query.referee.query_paths import QueryPaths
from evaluation.formats.query.results import Failure, PieceResult
from evaluation.formats.query.rules import QueryRules


class RefereedMatch:
    """A match that keeps its model over all pieces, so that the weights stay loaded. Always close it.

    A piece does not depend on other pieces: it has its own attack process, its own audit, and a seed that follows from
    its first sample. So its rows are the same on every worker and in every order.
    """

    def __init__(
        self,
        *,
        rules: QueryRules,
        track: TrackName,
        model: PlayerConnection,
        attack: PlayerConnection,
        seed: int,
        calibration: float = 1.0,
        attack_calibration: float | None = None,
        fresh_audit: bool = True,
        reuse_attack: bool = False,
        paths: QueryPaths | None = None,
        stop_at_limit: bool = False,
    ) -> None:
        """Prepare a match; `calibration` is this worker's factor on time limits (`host_speed.calibrate`).

        `attack_calibration` is that of the attack, where one of the two players has a device and the other does not.
        `fresh_audit`: keep frames of every piece for a freshly started model, which is asked after this match was
        closed (`fresh_model_audit.py`). Until then the audit is open. `reuse_attack`: one process plays
        all pieces, for attacks that are known to keep no state between pieces. `paths` follows the attack on public
        samples. `stop_at_limit`: the match ends with the piece in which a player was too slow, which is not restarted.
        """
        self._rules = rules
        self._seed = seed
        self._track = track
        self._stop_at_limit = stop_at_limit
        self._failures: list[Failure] = []
        self._table = MatchContext(
            rules=rules,
            track=track,
            model=Model(model, track, rules, calibration, stop_at_limit=stop_at_limit),
            attack=ConnectedPlayer(
                Side.ATTACK, attack, track, rules, attack_calibration or calibration, stop_at_limit=stop_at_limit
            ),
            fresh_audit=fresh_audit,
            reuse_attack=reuse_attack,
            paths=paths,
        )

    def play(self, samples: Sequence[Sample], sizes: Sequence[int] = ()) -> Iterator[PieceResult]:
        """Play `samples` in pieces; each result is final when it is yielded, except for an open audit.

        The first pieces have these `sizes`, the others the size in the rules.
        """
        if len({sample.number for sample in samples}) < len(samples):
            raise ValueError("two samples have the same number")
        start = 0
        for size in chain(sizes, repeat(self._rules.piece_samples)):
            slow = self._stop_at_limit and any(failure.reason is Reason.TOO_SLOW for failure in self._failures)
            if start >= len(samples) or slow:
                return
            end = start + size
            yield self.play_piece(list(samples[start:end]), more=end < len(samples))
            start = end

    def play_piece(self, samples: list[Sample], *, more: bool = False, keep: bool = False) -> PieceResult:
        """Play one piece. Its seeds depend only on its first sample, not on earlier pieces.

        `more`: another piece probably follows, so its attack is started during this one. `keep`: keep frames of this
        piece, whatever `fresh_audit` says.
        """
        first = samples[0].number
        # the attack learns the first seed: the referee's own random choices must not follow from it
        seed, own_seed = derive_seed(self._seed, "piece", first), derive_seed(self._seed, "referee", first)
        result = RefereedPiece(self._table, samples, seed, own_seed, more=more, keep=keep).play()
        # a player that failed in set-up has failed once, however many pieces that costs
        self._failures += [f for f in result.failures if not (f.in_setup and f in self._failures)]
        return result

    @property
    def model_seconds_per_image(self) -> float:
        """The model's mean seconds for an image, without those that a busy host took; 0 where it was never asked."""
        return self._table.model.seconds_per_image

    @property
    def attack_seconds_per_sample(self) -> float:
        """The attack's own seconds for a sample, the mean of the piece that took it the longest; 0 if none did."""
        return self._table.attack_seconds_per_sample

    @property
    def model_offers(self) -> int:
        """What the model offers besides labels, as its HELLO says."""
        return self._table.model.offers

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All failures of the players so far, without the result of the audit."""
        return tuple(sorted(self._failures, key=lambda failure: failure.side is Side.ATTACK))

    def close(self) -> None:
        """End both players."""
        try:
            self._table.attack.close()
        finally:
            self._table.model.close()
