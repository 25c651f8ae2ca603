"""Names of players decide nothing, so a site may play a round under one name and publish it under another."""

from __future__ import annotations

import json

from evaluation.domain.pseudonyms import pseudonym
from evaluation.formats.query.bundle.pseudonymisation import rename_facts, rename_pairs, rename_players
from evaluation.formats.query.bundle.writer import Record, derived_lines
from evaluation.formats.query.tournament.round_state import advance


def named(player: str) -> str:
    return pseudonym(b"a secret", player)


def test_every_player_of_a_round_gets_its_other_name(played: Record) -> None:
    facts = rename_facts(played.facts, named)
    assert [one.player for one in facts.entrants] == [named(one.player) for one in played.facts.entrants]
    assert facts.results.keys() == {(named(model), named(attack)) for model, attack in played.facts.results}
    assert facts.kept == {named("model-05"): played.facts.kept["model-05"]}
    assert rename_pairs({("a", "b"): 1}, named) == {(named("a"), named("b")): 1}
    assert rename_players({"a": 1}, named) == {named("a"): 1}


def test_the_same_follows_under_other_names(played: Record) -> None:
    text = json.dumps(derived_lines(advance(rename_facts(played.facts, named))))
    for entrant in played.facts.entrants:
        text = text.replace(named(entrant.player), entrant.player)
    assert json.loads(text) == derived_lines(advance(played.facts))
