"""Terms: versions, and their acceptance by a team's captain."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from competitions.models import Competition, Entry, TermsAcceptance
from competitions.selectors import terms_in_force
from competitions.services import make_team
from competitions.terms import accept_terms, publish_terms, require_accepted_terms
from core.errors import Refusal
from core.models import Event

ADDRESS = "/competitions/digits/terms"


def test_a_team_is_refused_until_its_captain_accepts_the_terms(entry: Entry, alice: User, olga: User) -> None:
    require_accepted_terms(entry, ADDRESS)  # there are none
    terms = publish_terms(competition=entry.competition, text="Be fair.", by=olga)
    with pytest.raises(Refusal, match="The Owls has not accepted version 1") as refused:
        require_accepted_terms(entry, ADDRESS)
    assert ADDRESS in refused.value.fix
    accepted = accept_terms(entry=entry, digest=terms.digest, by=alice)
    assert accepted is not None
    assert (accepted.user, accepted.terms) == (alice, terms)
    assert accept_terms(entry=entry, digest=terms.digest, by=alice) == accepted
    require_accepted_terms(entry, ADDRESS)
    assert list(Event.objects.values_list("verb", "by__username")) == [
        ("accept_terms", "alice"),
        ("publish_terms", "olga"),
    ]


def test_a_change_asks_again_and_the_same_text_does_not(entry: Entry, alice: User, olga: User) -> None:
    first = publish_terms(competition=entry.competition, text="Be fair.", by=olga)
    accept_terms(entry=entry, digest=first.digest, by=alice)
    assert publish_terms(competition=entry.competition, text="Be fair.", by=olga) == first
    second = publish_terms(competition=entry.competition, text="Be kind.", by=olga)
    assert second.version == 2
    with pytest.raises(Refusal, match="have changed, and The Owls has not accepted version 2"):
        require_accepted_terms(entry, ADDRESS)
    assert publish_terms(competition=entry.competition, text="Be fair.", by=olga).version == 3
    require_accepted_terms(entry, ADDRESS)  # the text of version 1


def test_an_empty_text_ends_the_terms(entry: Entry, olga: User) -> None:
    publish_terms(competition=entry.competition, text="Be fair.", by=olga)
    publish_terms(competition=entry.competition, text=" \n", by=olga)
    assert terms_in_force(entry.competition) is None
    require_accepted_terms(entry, ADDRESS)


def test_it_rejects_everybody_but_the_captain(entry: Entry, bob: User, charlie: User, olga: User) -> None:
    terms = publish_terms(competition=entry.competition, text="Be fair.", by=olga)
    for user in (bob, charlie, olga):
        with pytest.raises(Refusal, match="only the captain"):
            accept_terms(entry=entry, digest=terms.digest, by=user)
    assert not TermsAcceptance.objects.exists()


def test_it_rejects_terms_that_are_not_in_force(entry: Entry, alice: User, olga: User) -> None:
    """The captain read version 1 while an organiser published version 2."""
    first = publish_terms(competition=entry.competition, text="Be fair.", by=olga)
    publish_terms(competition=entry.competition, text="Be kind.", by=olga)
    with pytest.raises(Refusal, match="version 2 of the terms is in force"):
        accept_terms(entry=entry, digest=first.digest, by=alice)


def test_a_new_team_accepts_them_or_is_not_made(competition: Competition, charlie: User, olga: User) -> None:
    terms = publish_terms(competition=competition, text="Be fair.", by=olga)
    values: dict[str, Any] = {"slug": "newts", "name": "Newts", "captain": charlie, "competition": competition}
    with pytest.raises(Refusal, match="version 1 of the terms"):
        make_team(**values)
    assert not Entry.objects.exists()
    made = make_team(**values, terms=terms.digest)
    assert made.terms_acceptances.get().user == charlie


def test_it_rejects_terms_of_somebody_who_does_not_organise(competition: Competition, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        publish_terms(competition=competition, text="Be fair.", by=alice)
