"""Seeds of matches: they depend on the rules, the sample set and the owners of the players.

A rejudging uses the seeds of the matches that it repeats.
"""

from __future__ import annotations

from competitions.models import RulesVersion, SampleSet
from submissions.models import Player
from submissions.secret_seeds import secret_seed, seed_identity


def match_seed(*, rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> int:
    """Return the seed of a match: 63 bits, the same for all submissions of one entry to a track.

    Equal seeds and equal players give equal rows.
    """
    sides = seed_identity(model), seed_identity(attack)
    return secret_seed(rules.competition, rules.values, rules.version, sample_set.digest, *sides)
