"""Seeds of matches: a team cannot change them without cost.

A seed depends on the competition's secret salt, the rules, the sample set and the players: a bundled baseline by its
name, a submitted player by the repository that submitted it first, i.e. by entry and track. A team that resubmits the
same content with another comment, tag or title therefore gets the same randomness against each opponent. The salt
prevents teams from computing seeds. A rejudging uses the seeds of the matches that it repeats.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from competitions.models import RulesVersion, SampleSet
from submissions.models import Player


def match_seed(*, rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> int:
    """Return the seed of a match: 63 bits, the same for all submissions of one entry to a track.

    Equal seeds and equal players give equal rows.
    """
    played = [rules.values, rules.version, sample_set.digest, seed_identity(model), seed_identity(attack)]
    text = json.dumps(played, sort_keys=True)
    salt = bytes.fromhex(rules.competition.seed_salt)
    return int.from_bytes(hmac.digest(salt, text.encode(), hashlib.sha256)[:8]) >> 1


def seed_identity(player: Player) -> str:
    """Return the identity of a player's owner, for seeds. A team has one repository per track."""
    if player.baseline:  # a copy that a team submitted, too
        return f"baseline {player.baseline}"
    return f"repository {player.repository_id}"
