"""The file of the objections to a round and their answers: a bundle of lines, signed with the site's key."""

from __future__ import annotations

from io import BytesIO
from typing import IO, Any

from django.contrib.auth.models import AnonymousUser

from core.time_format import for_programs
from rounds.models import Round
from rounds.objections.period import period_end
from rounds.objections.selectors import ShownObjection, shown_objections
from rounds.release.signing_keys import signed
from rounds.shared_bundle_values import encode


def objections_of(round_: Round) -> IO[bytes]:
    """Return an open file with what everyone sees of the objections to a round, signed. The caller closes it.

    Its head names the outcome of the bundle beside which it is released, each line the outcome that the objection
    concerned. It follows from rows that do not change once the result is final, so equal bytes come again until the
    outcome is made again without a title.
    """
    until = period_end(round_)
    head = {
        "kind": "objections",
        "format": "objections",
        "competition": round_.competition.slug,
        "round": round_.number,
        "title": round_.title,
        "outcome": round_.outcome,
        "until": for_programs(until) if until else None,
    }
    return signed(BytesIO(encode([head, *(_line(each) for each in shown_objections(round_, AnonymousUser()))])))


def _line(shown: ShownObjection) -> dict[str, Any]:
    row, entry = shown.row, shown.row.entry
    return {
        "kind": "objection",
        "number": row.pk,
        "team": row.team.slug,
        "track": entry.track.name if entry else None,
        "entrant": entry.submission.repository.entry.team.slug if entry else None,
        "commit": entry.submission.commit if entry else None,
        "match": list(shown.players),
        "outcome": row.outcome or None,
        "text": row.text,
        "made_at": for_programs(row.made_at),
        "state": row.state,
        "answer": row.answer,
        "closed_at": for_programs(row.closed_at) if row.closed_at else None,
    }
