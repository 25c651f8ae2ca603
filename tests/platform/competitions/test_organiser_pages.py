"""Pages and announcements that organisers write."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from accounts.models import User
from competitions.models import Competition, Page
from competitions.organiser_pages import (
    announce,
    change_announcement,
    remove_announcement,
    remove_page,
    write_page,
)
from competitions.selectors import announcements_of, terms_in_force
from competitions.services import export_competition, import_competition
from core.errors import Refusal
from core.models import Event
from tests.platform.competitions.test_import import DIGITS
from tests.platform.conftest import FakeClock


def test_a_page_is_written_changed_and_removed_and_the_same_text_changes_nothing(
    competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    page = write_page(competition=competition, name="prizes", text="A letter.\r\n", by=olga)
    the_clock.forward(hours=1)
    assert write_page(competition=competition, name="prizes", text="A letter.\n", by=olga).changed_at == page.changed_at
    changed = write_page(competition=competition, name="prizes", text="A book.", by=olga)
    assert (changed.pk, changed.text, changed.changed_at) == (page.pk, "A book.", the_clock.at)
    remove_page(page=changed, by=olga)
    assert not Page.objects.exists()
    assert list(Event.objects.values_list("verb", flat=True)) == ["remove_page", "write_page", "write_page"]


def test_superusers_write_the_pages_of_the_site(competition: Competition, olga: User, root_user: User) -> None:
    with pytest.raises(Refusal, match="only superusers"):
        write_page(competition=None, name="imprint", text="Us.", by=olga)
    page = write_page(competition=None, name="imprint", text="Us.", by=root_user)
    with pytest.raises(Refusal, match="only superusers"):
        remove_page(page=page, by=olga)
    with pytest.raises(Refusal, match="prizes belong to a competition"):
        write_page(competition=None, name="prizes", text="A letter.", by=root_user)
    with pytest.raises(IntegrityError), transaction.atomic():
        Page.objects.create(name="imprint", text="Twice.", changed_at=page.changed_at)


def test_it_rejects_people_who_do_not_organise(competition: Competition, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        write_page(competition=competition, name="prizes", text="All mine.", by=alice)
    with pytest.raises(Refusal, match="only organisers"):
        announce(competition=competition, title="Hi", text="!", published_at=competition.created_at, by=alice)
    assert not Page.objects.exists()


def test_announcements_appear_at_their_time(competition: Competition, olga: User, the_clock: FakeClock) -> None:
    at = the_clock.at + timedelta(hours=2)
    with pytest.raises(Refusal, match="the year 9999 is out of range"):  # no page could write it
        announce(competition=competition, title="News", text="Soon.", published_at=at.replace(year=9999), by=olga)
    made = announce(competition=competition, title="News", text="Soon.", published_at=at, by=olga)
    assert list(announcements_of(competition)) == []
    assert list(announcements_of(competition, with_coming=True)) == [made]
    the_clock.forward(hours=3)
    assert list(announcements_of(competition)) == [made]
    change_announcement(announcement=made, title="News!", text="Now.", published_at=at, by=olga)
    assert made.changed_at == the_clock.at
    remove_announcement(announcement=made, by=olga)
    verbs = ["remove_announcement", "change_announcement", "announce"]
    assert list(Event.objects.values_list("verb", flat=True)) == verbs


def test_a_file_sets_what_it_names_and_leaves_the_rest(db: None, root_user: User) -> None:
    document = deepcopy(DIGITS)
    document["pages"] = {"prizes": "A letter.", "terms": "Be fair."}
    made = import_competition(document)
    write_page(competition=made, name="privacy", text="Little.", by=root_user)
    assert export_competition(made)["pages"] == document["pages"] | {"privacy": "Little."}
    assert terms_in_force(import_competition(document)) == terms_in_force(made)
    document["pages"] = {"prizes": "", "terms": ""}
    again = import_competition(document)
    assert export_competition(again)["pages"] == {"privacy": "Little."}
    assert terms_in_force(again) is None


def test_it_rejects_a_page_that_does_not_exist(db: None) -> None:
    with pytest.raises(Refusal, match=r"\[pages\] price: unknown key") as refused:
        import_competition(deepcopy(DIGITS) | {"pages": {"price": "A letter."}})
    assert "did you mean 'prizes'" in refused.value.fix
