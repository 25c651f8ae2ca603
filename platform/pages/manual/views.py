"""Pages of the documents, their images, and the search in them."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe
from django.views.static import serve

from pages.manual import documents
from pages.manual.search import LONGEST, search

_SHORT = 3
"""Headings that need no list of them."""


@require_safe
@conditional_page
def show(request: HttpRequest, name: str) -> HttpResponse:
    """Show a document."""
    shown = documents.documents().get(name)
    if shown is None:
        raise Http404("no such document")
    contents = documents.contents(shown, request.build_absolute_uri("/").rstrip("/"))
    before, after = documents.neighbours(shown)
    context = {
        "document": shown,
        "contents": contents,
        "headings": contents.headings if len(contents.headings) > _SHORT else (),
        "before": before,
        "after": after,
        "decision": shown in documents.decisions(),
        "groups": documents.groups(),
        "longest": LONGEST,
    }
    return render(request, "pages/manual/document.html", context)


@require_safe
@cache_control(public=True, max_age=3600)
def image(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return an image of the documents. Raise 404 for any other file."""
    file = documents.images().get(name)
    if file is None:
        raise Http404("no such image")
    return serve(request, file.name, document_root=str(file.parent))


@require_safe
def found(request: HttpRequest) -> HttpResponse:
    """Show the sections of documents that have all words of a question (`?q=`)."""
    question = request.GET.get("q", "").strip()[:LONGEST]
    context = {"question": question, "hits": search(question), "longest": LONGEST}
    return render(request, "pages/manual/search.html", context)
