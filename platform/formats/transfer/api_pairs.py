"""Pairs of an attack and a defence, as the API shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from api.formats import MatchAnswer
from evaluation.formats.transfer.results import PairCounts
from formats.transfer.api_serializers import PairNumbersSerializer
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.models import Entrant, Tournament
from formats.transfer.tournaments.pair_tables import success, success_interval
from formats.transfer.tournaments.selectors import current_entrants
from formats.transfer.tracks import ATTACK_TRACKS
from submissions.models import Player, Submission

_KEY = re.compile(r"([0-9]{1,18})/([0-9]{1,18})")
"""The key of a pair: that of the attack, and that of the defence."""


def pairs_of_submission(tournament: Tournament, submission: Submission) -> Sequence[MatchAnswer]:
    """Return the pairs of a submission with the entrants of the other side that count now."""
    if submission.player is None:
        return ()
    attacks = submission.player.track_name in ATTACK_TRACKS
    entrants = list(current_entrants(tournament))
    others = {each.player_id: each.player for each in entrants if (each.track.name in ATTACK_TRACKS) != attacks}
    sides = [submission.player], list(others.values())
    found = pair_totals.pair_counts(tournament, *(sides if attacks else sides[::-1]))
    return _answers(found, {submission.player.pk: submission.player, **others}, entrants)


def pair_of_entrants(tournament: Tournament, key: str) -> MatchAnswer | None:
    """Return the pair of two entrants that count; None for an unknown key, and before it is played."""
    asked = _KEY.fullmatch(key)
    if asked is None:
        return None
    entrants = list(current_entrants(tournament))
    players = {each.player_id: each.player for each in entrants}
    attack, defence = (players.get(int(number)) for number in asked.groups())
    if attack is None or defence is None:
        return None
    if attack.track_name not in ATTACK_TRACKS or defence.track_name in ATTACK_TRACKS:
        return None
    return next(iter(_answers(pair_totals.pair_counts(tournament, [attack], [defence]), players, entrants)), None)


def attack_of(key: str) -> int | None:
    """Return the attack of a pair; None for what is no key."""
    asked = _KEY.fullmatch(key)
    return int(asked[1]) if asked else None


def _answers(
    pairs: Iterable[PairCounts], players: dict[int, Player], entrants: Iterable[Entrant]
) -> Sequence[MatchAnswer]:
    submissions = {each.player_id: each.submission for each in entrants if each.submission}

    def title(player: Player) -> str:
        sent = submissions.get(player.pk)
        return sent.title if sent else player.baseline or player.title

    def number(player: Player) -> int | None:
        sent = submissions.get(player.pk)
        return sent.pk if sent else None

    found = []
    for pair in pairs:
        attack, defence = players[int(pair.attack)], players[int(pair.defence)]
        low, high = success_interval(pair) or (None, None)
        counts = {name: getattr(pair, name) for name in ("images", "made", "labelled", "correct", "hits")}
        numbers = {**counts, "success": success(pair), "low": low, "high": high}
        found.append(
            MatchAnswer(
                key=f"{pair.attack}/{pair.defence}",
                track=attack.track_name,
                state="played",
                model=title(defence),
                model_submission=number(defence),
                attack=title(attack),
                attack_submission=number(attack),
                numbers=PairNumbersSerializer(numbers).data,
            )
        )
    return found
