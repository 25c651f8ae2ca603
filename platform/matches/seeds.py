"""The seed of a match: what a team could vary for free is no part of it.

It follows from the competition's secret salt, the rules, the sample set, and who plays: a bundled baseline by its name,
a submitted player by the repository that sent it first, that is by entry and track. So a team that sends the same again
with another comment, tag or title meets each opponent with the randomness that it met before. The salt keeps teams from
computing seeds; a rejudging takes the seeds of what it plays once more.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from competitions.models import RulesVersion, SampleSet
from submissions.models import Player


def match_seed(*, rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> int:
    """The seed of a match: 63 bits that are the same for all that one entry sends to a track.

    Equal seeds and equal players give equal rows.
    """
    played = [rules.values, rules.version, sample_set.digest, seed_identity(model), seed_identity(attack)]
    text = json.dumps(played, sort_keys=True)
    salt = bytes.fromhex(rules.competition.seed_salt)
    return int.from_bytes(hmac.digest(salt, text.encode(), hashlib.sha256)[:8]) >> 1


def seed_identity(player: Player) -> str:
    """Whose a player is, for seeds. A team has one repository for each track."""
    if player.repository_id is None:
        return f"baseline {player.baseline}"
    return f"repository {player.repository_id}"
