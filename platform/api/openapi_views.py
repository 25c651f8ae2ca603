"""The OpenAPI document of the API, and the page that draws it."""

from __future__ import annotations

import json
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from api.base_views import ApiView


@extend_schema(exclude=True)
class ShowOpenApi(ApiView):
    """The OpenAPI document, which is the same for everybody."""

    def get(self, request: Request) -> HttpResponse:
        """Return the document."""
        return HttpResponse(_document(), content_type="application/json")


@require_safe
def documentation(request: HttpRequest) -> HttpResponse:
    """Draw the OpenAPI document, with scripts of this site alone."""
    return render(request, "api/documentation.html")


@lru_cache(maxsize=1)
def _document() -> str:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return json.dumps(generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
