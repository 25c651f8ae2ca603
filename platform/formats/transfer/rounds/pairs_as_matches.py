"""The matches of a round of the transfer format: its pairs of an attack and a defence."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from formats.transfer.tournaments.models import PairTotal
from rounds.formats import MatchInRound
from rounds.models import Round
from submissions.models import Player

_KEY = re.compile(r"([1-9][0-9]{0,17})/([1-9][0-9]{0,17})")
"""The key of a pair, as the address of its page has it: that of the attack, and that of the defence."""


def matches_of(round_: Round, keys: Collection[str]) -> Mapping[str, MatchInRound]:
    """Return the pairs of a round that `keys` name and that were played, by key."""
    asked = {(int(match[1]), int(match[2])): key for key in keys if (match := _KEY.fullmatch(key))}
    attacks, defences = {attack for attack, _ in asked}, {defence for _, defence in asked}
    totals = PairTotal.objects.filter(tournament__round=round_, attack__in=attacks, defence__in=defences)
    pairs = asked.keys() & set(totals.values_list("attack", "defence"))
    players = Player.objects.in_bulk({player for pair in pairs for player in pair})
    return {
        asked[attack, defence]: MatchInRound(
            f"{players[attack].title} against {players[defence].title}", (players[attack], players[defence])
        )
        for attack, defence in pairs
    }
