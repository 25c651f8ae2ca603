"""Seeds that no team can compute, and none can change without cost.

They depend on the secret salt of the competition. A player stands in them for its owner, not for its content: a bundled
baseline by its name, a submitted player by the repository that submitted it first, i.e. by entry and track. A team that
resubmits the same content with another comment, tag or title therefore gets the same randomness.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from competitions.models import Competition
from submissions.models import Player


def secret_seed(competition: Competition, *parts: object) -> int:
    """Return 63 bits that follow from the salt of the competition and from `parts`, plain values for JSON."""
    text = json.dumps(parts, sort_keys=True)
    return int.from_bytes(hmac.digest(bytes.fromhex(competition.seed_salt), text.encode(), hashlib.sha256)[:8]) >> 1


def seed_identity(player: Player) -> str:
    """Return the identity of a player's owner. A team has one repository per track."""
    if player.baseline:  # a copy that a team submitted, too
        return f"baseline {player.baseline}"
    return f"repository {player.repository_id}"
