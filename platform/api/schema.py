"""The OpenAPI document of the API, and the page that draws it."""

from __future__ import annotations

import json
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import conditional_page, require_safe
from drf_spectacular.generators import SchemaGenerator


@conditional_page
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document, which is the same for everybody."""
    return HttpResponse(_document(), content_type="application/json")


@require_safe
def documentation(request: HttpRequest) -> HttpResponse:
    """Draw the OpenAPI document, with scripts of this site alone."""
    return render(request, "api/documentation.html")


@lru_cache(maxsize=1)
def _document() -> str:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return json.dumps(generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
