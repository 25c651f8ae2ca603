"""Models of a round with failed audits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from formats.query.matches.models import Match
from formats.query.rounds.models import Decision
from formats.query.rounds.round_audits import failed_audits
from formats.query.tracks import MODEL
from rounds.models import Round


@dataclass(frozen=True)
class SuspiciousModel:
    """An entry of a model whose audit failed in `failed` of its `matches` in the round.

    `left_in` is the stage that it left as inconsistent, "" if it is still in; `kept` is the reason of an audit
    override.
    """

    entry: int
    team: str
    title: str
    failed: int
    matches: int
    left_in: str
    kept: str


def suspicious_models(round_: Round) -> list[SuspiciousModel]:
    """Return the entries of models that failed an audit, in order of entry, in a fixed number of queries."""
    of_round = Match.objects.filter(round_match__round=round_, state=Match.State.PLAYED)
    failed = Counter(match.model_id for match in failed_audits(of_round))
    if not failed:
        return []
    played = Counter(of_round.filter(model__in=failed).values_list("model", flat=True))
    left = Decision.objects.filter(stage__round=round_, inconsistent=True).select_related("stage")
    left_in = {line.player_id: f"stage {line.stage.number} ({line.stage.bracket})" for line in left}
    entries = round_.entries.filter(track__name=MODEL, player__in=failed)
    return [
        SuspiciousModel(
            entry=entry.pk,
            team=entry.submission.repository.entry.team.name,
            title=entry.submission.title,
            failed=failed[entry.player_id],
            matches=played[entry.player_id],
            left_in=left_in.get(entry.player_id, ""),
            kept=entry.audit_override_reason,
        )
        for entry in entries.select_related("submission__repository__entry__team").order_by("order")
    ]
