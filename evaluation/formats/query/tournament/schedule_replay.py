"""The replay of a tournament from its start, shared by the schedules. It reads only results that it demanded.

An inconsistent model leaves at the end of the stage (`failed_audit_rule`), and the stage is decided without it: it is
not ordered, the others are ranked among themselves, and it measures no attack. Its place in a panel stays empty, so
that no more triples are needed, unless it was the last of its panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.counted_players import Counted, counted
from evaluation.formats.query.tournament.failed_audit_rule import NobodyLeftError, distrusted
from evaluation.formats.query.tournament.ordering import RankedSide, ranked
from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import (
    Demand,
    OrderedBy,
    Plan,
    ScheduleResult,
    Stage,
    StageDecision,
    Wanted,
)


@dataclass(frozen=True)
class Measured:
    """All remaining players, measured against panels (positions). `models` is None where the models are given."""

    samples: int
    ordered_by: OrderedBy
    panel_models: tuple[int, ...]
    panel_attacks: tuple[int, ...]
    counted: Counted
    models: RankedSide | None
    attacks: RankedSide


@dataclass(frozen=True)
class Cut:
    """The cut of a side: the number of `places`, and the players spared beyond them."""

    places: int
    spared: int = 0


class TournamentReplay:
    """The state of a replayed tournament. `models` and `attacks` are the remaining positions, best first.

    Raise `ValueError` where `played` does not have the shape of the field.
    """

    def __init__(self, field: Field, played: Played) -> None:
        expected = (len(field.models), len(field.attacks), field.samples)
        if played.shape != expected:
            raise ValueError(f"played results must be of shape {expected}, not {played.shape}")
        self.field = field
        self.models = tuple(range(len(field.models))) if field.models_given else field.model_prior
        self.attacks = field.attack_prior
        self._played = played
        self._own = field.own_pairs()
        self._out_models: tuple[int, ...] = ()
        self._out_attacks: tuple[int, ...] = ()
        self._leaving: tuple[int, ...] = ()
        self._left: tuple[int, ...] = ()
        self._asked = np.zeros(self._own.shape, np.int64)
        self._stages: list[Stage] = []
        self._demands: list[Demand] = []
        self._wanted: tuple[Wanted, ...] = ()

    def measure(
        self, panel_models: Sequence[int], panel_attacks: Sequence[int], samples: int, by: OrderedBy
    ) -> Measured | None:
        """Measure all remaining players against the other side's panel; None where triples lack, which are demanded.

        Given models all count, whatever the panels are: each remaining attack meets them all. Inconsistent models
        leave, and the others are measured again without them. Raise `NobodyLeftError` where no model is left.
        """
        given = self.field.models_given
        size = len(panel_models)
        panel_models, panel_attacks = (self.models, ()) if given else (tuple(panel_models), tuple(panel_attacks))
        while True:
            demands = [_demand(panel_models, self.attacks, samples)]
            if panel_attacks:
                demands.insert(0, _demand(self.models, panel_attacks, samples))
            if not self._ask(dict.fromkeys(demands), samples):
                return None
            measured = self._measured(panel_models, panel_attacks, samples, by)
            leaving = self._inconsistent(self.attacks if given else measured.counted.attacks)
            if not leaving:
                return measured
            self._leaving += leaving
            self.models = tuple(model for model in self.models if model not in leaving)
            if not self.models:
                raise NobodyLeftError
            panel_models = tuple(model for model in panel_models if model in self.models) or self.models[:size]

    def _measured(
        self, panel_models: tuple[int, ...], panel_attacks: tuple[int, ...], samples: int, by: OrderedBy
    ) -> Measured:
        models = None
        if self.field.models_given:
            who = Counted(tuple(sorted(self.models)), (), 1)
        else:
            own = self._own[np.ix_(panel_models, panel_attacks)]
            block = self._block(panel_models, panel_attacks, samples)
            who = counted(block, panel_models, panel_attacks, by, own=own)
            models = ranked(Side.MODEL, self.models, self._block(self.models, who.attacks, samples), by)
        before_models = self._block(who.models, self.attacks, samples)
        before_models[self._own[np.ix_(who.models, self.attacks)]] = np.nan
        attacks = ranked(Side.ATTACK, self.attacks, before_models.transpose(1, 0, 2), by)
        return Measured(samples, by, panel_models, panel_attacks, who, models, attacks)

    def close(
        self, measured: Measured, cut_models: Cut | None, cut_attacks: Cut | None, *, renewed: bool = False
    ) -> None:
        """Finish a stage: order both sides, cut them, write a line for each player. Without a cut all stay."""
        in_models = measured.models.players if measured.models else self.models
        decisions = (
            *self._decisions(measured.models, cut_models),
            *self._departures(len(in_models)),
            *self._decisions(measured.attacks, cut_attacks),
        )
        in_attacks = measured.attacks.players
        who = measured.counted
        stage = Stage(
            number=len(self._stages) + 1,
            samples=measured.samples,
            ordered_by=measured.ordered_by,
            panel_models=self._names(Side.MODEL, measured.panel_models),
            panel_attacks=self._names(Side.ATTACK, measured.panel_attacks),
            counted_models=self._names(Side.MODEL, [model for model in in_models if model in who.models]),
            counted_attacks=self._names(Side.ATTACK, [attack for attack in in_attacks if attack in who.attacks]),
            loop=who.loop,
            renewed=renewed,
            decisions=decisions,
        )
        self._stages.append(stage)
        self.models, out_models = _split(in_models, cut_models)
        self.attacks, out_attacks = _split(in_attacks, cut_attacks)
        self._out_models = out_models + self._out_models
        self._out_attacks = out_attacks + self._out_attacks
        self._left, self._leaving = self._leaving + self._left, ()

    def plan(self) -> Plan:
        """Return what is decided and what is wanted; the result where nothing is wanted."""
        result = None
        if not self._wanted:
            result = ScheduleResult(
                self._names(Side.MODEL, self.models + self._out_models + self._left),
                self._names(Side.ATTACK, self.attacks + self._out_attacks),
                self._names(Side.MODEL, self._left),
            )
        return Plan(tuple(self._stages), tuple(self._demands), self._wanted, result)

    def _ask(self, demands: Iterable[Demand], samples: int) -> bool:
        """Demand triples: return True if all of `demands`, each on the first `samples`, were played."""
        pairs = np.zeros_like(self._own)
        for demand in demands:
            self._demands.append(demand)
            pairs[np.ix_(demand.models, demand.attacks)] = True
        models, attacks = np.nonzero(pairs)
        self._asked[models, attacks] = np.maximum(self._asked[models, attacks], samples)
        lacking = np.isnan(self._played[models, attacks, :samples])
        rows = np.flatnonzero(lacking.any(axis=1))

        @cache
        def numbers(packed: bytes) -> tuple[int, ...]:
            return tuple(np.flatnonzero(np.frombuffer(packed, dtype=bool)).tolist())

        pairs_lacking = zip(models[rows].tolist(), attacks[rows].tolist(), lacking[rows], strict=True)
        self._wanted = tuple(Wanted(model, attack, numbers(row.tobytes())) for model, attack, row in pairs_lacking)
        return not self._wanted

    def _inconsistent(self, attacks: Sequence[int]) -> tuple[int, ...]:
        """Return the distrusted models among the remaining ones, given the attacks that measure them."""
        audits, found = self.field.failed_audits, []
        for model in sorted(self.models) if audits else ():
            met = [attack for attack in attacks if not self._own[model, attack]]
            failed = [attack for attack in met if self._asked[model, attack] in audits.get((model, attack), ())]
            if distrusted(failed=len(failed), met=len(met)):
                found.append(model)
        return tuple(found)

    def _block(self, models: Sequence[int], attacks: Sequence[int], samples: int) -> NDArray[np.float64]:
        block: NDArray[np.float64] = self._played[:, :, :samples][np.ix_(models, attacks)]
        return block

    def _decisions(self, order: RankedSide | None, cut: Cut | None) -> Iterable[StageDecision]:
        if order is None:
            return
        places = cut.places if cut else len(order.players)
        stay = places + (cut.spared if cut else 0)
        names = self._names(order.side, order.players)
        for index, (name, value) in enumerate(zip(names, order.values, strict=True)):
            yield StageDecision(
                side=order.side,
                name=name,
                place=index + 1,
                value=value,
                kept=index < stay,
                cut_line=order.values[places - 1] if cut else None,
                spared=places <= index < stay,
            )

    def _departures(self, others: int) -> Iterable[StageDecision]:
        """Yield a line for each model that leaves as inconsistent, after the `others`."""
        for place, name in enumerate(self._names(Side.MODEL, self._leaving), start=others + 1):
            yield StageDecision(Side.MODEL, name, place, value=None, kept=False, cut_line=None, inconsistent=True)

    def _names(self, side: Side, positions: Iterable[int]) -> tuple[str, ...]:
        entrants = self.field.models if side is Side.MODEL else self.field.attacks
        return tuple(entrants[position].name for position in positions)


def _demand(models: Sequence[int], attacks: Sequence[int], samples: int) -> Demand:
    return Demand(tuple(sorted(models)), tuple(sorted(attacks)), samples)


def _split(order: tuple[int, ...], cut: Cut | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    stay = cut.places + cut.spared if cut else len(order)
    return order[:stay], order[stay:]
