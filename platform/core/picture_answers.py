"""Answers with a picture of a sample. A page may show dozens, so each counts little for the limit of readers."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase

from core.errors import Refusal


def picture_answer(read: Callable[[], bytes | None], not_found: Callable[[str], Exception] = Http404) -> HttpResponse:
    """Return the PNG that `read` returns. Raise `not_found` where that is None or a `Refusal`."""
    try:
        content = read()
    except Refusal as refusal:
        raise not_found(refusal.problem) from refusal
    if content is None:
        raise not_found("there is no such picture, or you may not see it")
    # not longer: a release may be withdrawn
    answer = HttpResponse(content, content_type="image/png", headers={"Cache-Control": "private, max-age=600"})
    vars(answer)["shows_a_sample"] = True
    return answer


def shows_a_sample(response: HttpResponseBase) -> bool:
    """Return whether an answer is a picture of a sample."""
    return "shows_a_sample" in vars(response)
