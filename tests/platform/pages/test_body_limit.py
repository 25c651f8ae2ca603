"""Large bodies are refused before anything reads or stores them."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from pages.site.body_limit import MOST_BYTES

BINARY = "application/octet-stream"
FORMS = ("/accounts/login/", "/admin/core/event/", "/api/v1/submissions/1/withdraw")


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("signed_in", [False, True])
def test_a_large_body_is_refused(client: Client, bob: User, path: str, signed_in: bool) -> None:
    """Of people who are signed in, too: anybody may sign up."""
    if signed_in:
        client.force_login(bob)
    answer = client.post(path, b"x" * (MOST_BYTES + 1), content_type=BINARY)
    assert (answer.status_code, b"4 MiB" in answer.content) == (413, True)
    assert client.post(path, b"x" * MOST_BYTES, content_type=BINARY).status_code != 413


@pytest.mark.parametrize("length", ["-1", "many"])
def test_a_length_that_is_none_is_refused(client: Client, db: None, length: str) -> None:
    assert client.generic("POST", FORMS[0], b"x", CONTENT_LENGTH=length).status_code == 413


def test_staff_may_send_large_bodies(client: Client, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    client.force_login(bob)
    assert client.post(FORMS[1], b"x" * (MOST_BYTES + 1), content_type=BINARY).status_code != 413


@pytest.mark.parametrize(
    "path",
    [
        "/git/owls/model.git/git-receive-pack",
        "/competitions/digits/rounds/1/models/1/proofs",
        "/api/v1/competitions/digits/rounds/1/models/1/proofs",
    ],
)
def test_views_that_limit_their_own_bodies_answer_themselves(client: Client, db: None, path: str) -> None:
    assert client.post(path, b"x" * (MOST_BYTES + 1), content_type=BINARY).status_code in (302, 401)
