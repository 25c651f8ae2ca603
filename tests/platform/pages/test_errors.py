"""Pages of errors: platform errors, maintenance, wrong methods, too many requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest
from django.db import OperationalError
from django.template.loader import render_to_string
from django.test import Client, RequestFactory

from core import missing_migrations_check
from core.errors import Refusal
from pages.site import error_views as errors
from pages.site import home_views as home


def raising(error: Exception) -> Callable[..., NoReturn]:
    """Return a function that raises `error`."""

    def call(*args: object, **kwargs: object) -> NoReturn:
        raise error

    return call


@pytest.fixture
def visitor(db: None) -> Client:
    """A client that gets the answer to an exception, as a browser does."""
    return Client(raise_request_exception=False)


def test_a_defect_is_a_platform_error_without_its_details(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "competition_lists", raising(ValueError("a defect")))
    answer = visitor.get("/")
    assert answer.status_code == 500
    assert "Retry-After" not in answer.headers
    assert "<h1>Platform error</h1>" in answer.content.decode()
    assert "a defect" not in answer.content.decode()


def test_a_site_without_its_database_is_under_maintenance(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "competition_lists", raising(OperationalError("no connection to 10.0.0.7")))
    monkeypatch.setattr(errors, "require_migrated", raising(Refusal("the database cannot be reached")))
    answer = visitor.get("/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert "The site is being maintained" in answer.content.decode()
    assert "10.0.0.7" not in answer.content.decode()


def test_an_error_of_a_database_that_answers_is_a_platform_error(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "competition_lists", raising(OperationalError("deadlock detected")))
    missing_migrations_check.require_migrated()
    assert visitor.get("/").status_code == 500


@pytest.mark.parametrize(
    ("path", "kind"), [("/api/x", "application/problem+json"), ("/git/x", "text/plain"), ("/x", "text/html")]
)
def test_programs_get_no_page(path: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = errors.server_error(RequestFactory().get(path))
    assert answer.status_code == 500
    assert answer.headers["Content-Type"].startswith(kind)
    assert "platform error" in answer.content.decode().lower()


def test_a_wrong_method_is_explained_to_people(client: Client, db: None) -> None:
    address = "/competitions/digits/terms/accept"
    answer = client.get(address, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "It only receives forms. Nothing was changed." in answer.content.decode()
    assert client.get(address, headers={"Accept": "application/json"}).content == b""


@pytest.mark.parametrize(
    "address", ["search?q=a%00b", "teams?q=%00", "people/a%00", "git/public/owls/model%00.git/HEAD"]
)
def test_an_address_with_a_nul_character_is_no_platform_error(visitor: Client, address: str) -> None:
    """PostgreSQL compares no text with it."""
    answer = visitor.get(f"/{address}")
    assert answer.status_code == 404
    assert b"<!doctype html>" in answer.content
    assert visitor.get("/search?q=100%2500").status_code == 200


def test_too_many_requests_have_a_page_of_the_site(rf: RequestFactory, db: None) -> None:
    assert "Wait a minute, then try again." in render_to_string("429.html", request=rf.get("/"))
