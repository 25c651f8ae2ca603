"""Pages that organisers write, terms, the data set, and how to cite a competition."""

from __future__ import annotations

from functools import partial

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.selectors import is_captain, signed_in_user
from competitions.models import Page
from competitions.sample_archive import open_development_archive
from competitions.selectors import acceptance_of, terms_in_force
from competitions.terms import accept_terms as record_acceptance
from core.errors import Refusal
from pages import flash_messages
from pages.access import competition_of, own_entry, sign_in_required
from pages.archive_download import archive_download
from pages.competition.citation import bibtex
from pages.competition.data_set_page_data import data_set
from pages.competition.development_samples import development_set, examples
from pages.formats import page_formats


@require_safe
def page(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Show a page of a competition, or the site's page of that name if the competition has none."""
    competition = competition_of(request, slug)
    found = Page.objects.filter(competition=competition, name=name).first()
    if found is None:
        found = get_object_or_404(Page, competition=None, name=name)
    context = {"competition": competition, "tracks": competition.tracks.all(), "page": found}
    return render(request, "pages/competition/written_page.html", context)


@require_safe
def site_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show a page of the site: imprint, privacy or code of conduct."""
    found = get_object_or_404(Page, competition=None, name=name)
    return render(request, "pages/competition/written_page.html", {"page": found})


@require_safe
def terms(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the terms in force and all earlier versions, and to members whether their team has accepted them."""
    competition = competition_of(request, slug)
    in_force = terms_in_force(competition)
    own = own_entry(request.user, competition)
    captain = own is not None and is_captain(request.user, own.team)
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "terms": in_force,
        "earlier": [each for each in competition.terms_versions.all() if each != in_force and each.text],
        "own": own,
        "captain": captain,
        "acceptance": acceptance_of(own, in_force) if own and in_force else None,
    }
    return render(request, "pages/competition/terms.html", context)


@require_POST
@sign_in_required
def accept_terms(request: HttpRequest, slug: str) -> HttpResponse:
    """Accept the terms for the own team."""
    competition = competition_of(request, slug)
    own = own_entry(request.user, competition)
    if own is None:
        raise Http404("no team in this competition")
    try:
        record_acceptance(entry=own, digest=request.POST.get("terms", ""), by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, f"Terms accepted for {own.team.name}.")
    return redirect("pages:terms", slug)


@require_safe
def data(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the data set of a competition: shape, classes, numbers of samples, source and some public images."""
    competition = competition_of(request, slug)
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "data": data_set(competition),
        "examples": examples(competition),
    }
    return render(request, "pages/competition/data.html", context)


@require_safe
def development_archive(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Return the development samples of a competition as an archive."""
    competition = competition_of(request, slug)
    samples = development_set(competition)
    if samples is None:
        raise Http404("no development samples")
    return archive_download(
        partial(open_development_archive, competition, samples), f"{slug}-development.zip", "application/zip"
    )


@require_safe
def citation(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how to cite a competition."""
    competition = competition_of(request, slug)
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "bibtex": bibtex(competition, _address(request, slug), settings.SITE_NAME),
        "origin": page_formats.of(competition).origin(),
    }
    return render(request, "pages/competition/citation.html", context)


@require_safe
def citation_file(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the BibTeX entry of a competition as a file."""
    text = bibtex(competition_of(request, slug), _address(request, slug), settings.SITE_NAME)
    headers = {"Content-Disposition": f'attachment; filename="{slug}.bib"'}
    return HttpResponse(f"{text}\n", content_type="application/x-bibtex; charset=utf-8", headers=headers)


def _address(request: HttpRequest, slug: str) -> str:
    return request.build_absolute_uri(reverse("pages:competition", args=[slug]))
