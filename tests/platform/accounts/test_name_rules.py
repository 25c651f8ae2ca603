"""Valid user names at sign-up."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User

PASSWORD = "correct horse battery"  # noqa: S105 - not a real password


def sign_up(name: str) -> tuple[int, str]:
    """Return the status and the page of the response."""
    form = {"username": name, "email": "", "password1": PASSWORD, "password2": PASSWORD}
    response = Client().post("/accounts/signup/", form)
    return response.status_code, response.content.decode()


@pytest.mark.parametrize("name", ["owls", "you", "Al", "robust-owl_2", "a" * 30])
def test_a_name_of_letters_digits_hyphens_and_underscores_is_kept_as_written(db: None, name: str) -> None:
    assert sign_up(name) == (302, "")
    assert User.objects.get().username == name


@pytest.mark.parametrize(
    "name",
    ["charlie@example.org", "a", "a" * 31, "2owls", "-owl", "_owl", "o.wl", "two owls", "\u00f6wl", "\u0430lice"],
)
def test_it_rejects_other_names(db: None, name: str) -> None:
    status, page = sign_up(name)
    assert status == 200
    assert "Use 2 to 30 unaccented letters, digits, hyphens and underscores" in page
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["char1ie", "charIie", "Charlie"])
def test_it_rejects_a_name_that_looks_like_another(charlie: User, name: str) -> None:
    status, page = sign_up(name)
    assert status == 200
    assert "looks like another account" in page or "already exists" in page
    assert User.objects.get() == charlie


def test_it_rejects_a_look_alike_of_an_account_made_in_the_console(root_user: User) -> None:
    assert "looks like another account" in sign_up("r00t")[1]


@pytest.mark.parametrize("name", ["Admin", "gaunt1et"])
def test_it_rejects_a_name_that_looks_like_the_site(db: None, name: str) -> None:
    assert "Username can not be used" in sign_up(name)[1]
    assert not User.objects.exists()


def test_it_rejects_the_address_of_another_person(charlie: User) -> None:
    sign_up(charlie.email)
    assert User.objects.get() == charlie


def test_an_account_with_an_older_name_can_still_log_in(db: None) -> None:
    User.objects.create_user("old.name@example.org", password=PASSWORD)
    response = Client().post("/accounts/login/", {"login": "old.name@example.org", "password": PASSWORD})
    assert response.status_code == 302
