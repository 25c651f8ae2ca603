"""Pages of what is best known of a released model, and uploads of proofs."""

from __future__ import annotations

from http import HTTPStatus
from typing import cast

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST, require_safe
from rest_framework.request import Request

from accounts.models import User
from accounts.selectors import signed_in_user
from core import object_store
from core.errors import Refusal
from formats.curves.best_known.best_known_distances import best_known
from formats.curves.best_known.proof_uploads import MOST_BYTES, too_large, upload
from formats.curves.best_known.released_models import released_models, require_open
from formats.curves.best_known.upload_rate import count_upload
from formats.curves.models import Proof
from formats.curves.pages.best_known_page_data import history_table, page_context
from pages import flash_messages
from pages.access import round_of, sign_in_required
from pages.csv_and_svg_downloads import csv_file
from pages.site.body_limit import limits_its_body
from rounds.models import RoundEntry

_FORM_BYTES = 64 << 10
"""The most bytes of a form around an upload."""


@require_safe
def show(request: HttpRequest, slug: str, number: int, model: int) -> HttpResponse:
    """Show what is best known of a released model beside what the attacks of the round found."""
    entry = _entry(request, slug, number, model)
    reader = request.user if isinstance(request.user, User) else None
    context = {
        "competition": entry.round.competition,
        "round": entry.round,
        "submission": entry.submission,
        "team": entry.submission.repository.entry.team,
        "most": MOST_BYTES >> 20,
        "closed": _closed(entry),
        **page_context(best_known(entry), reader),
    }
    return render(request, "formats/curves/best_known.html", context)


@require_safe
def history_csv(request: HttpRequest, slug: str, number: int, model: int) -> HttpResponse:
    """Return every best known distance of a released model since its round."""
    entry = _entry(request, slug, number, model)
    return csv_file(history_table(best_known(entry)), f"{slug}-round-{number}-best-known-{model}")


@require_safe
def images(request: HttpRequest, slug: str, number: int, model: int, proof: int) -> FileResponse:
    """Return the images of a verified proof: they are what proves it."""
    entry = _entry(request, slug, number, model)
    found = get_object_or_404(Proof, pk=proof, round_entry=entry, outcome=Proof.Outcome.VERIFIED)
    return FileResponse(
        object_store.open_object(found.content), as_attachment=True, filename=f"proof-{proof}.npz",
        content_type="application/octet-stream",
    )  # fmt: skip


@csrf_exempt  # checked by `_received`: the token is in the body, which is not read before its length is known
@require_POST
@sign_in_required
@limits_its_body
def upload_proof(request: HttpRequest, slug: str, number: int, model: int) -> HttpResponse:
    """Take an upload of a signed-in person."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or int(length) > MOST_BYTES + _FORM_BYTES:
        return HttpResponse(
            f"{too_large()}\n", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, content_type="text/plain; charset=utf-8"
        )
    return _received(request, slug, number, model)


@csrf_protect
def _received(request: HttpRequest, slug: str, number: int, model: int) -> HttpResponse:
    entry = _entry(request, slug, number, model)
    try:
        count_upload(cast("Request", request))  # it needs no more of a request than its user
        file = request.FILES.get("proof")
        if file is None:
            raise Refusal("no file was uploaded", fix="choose an archive of images")
        proof = upload(entry=entry, by=signed_in_user(request), content=file.read())
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, f"Proof {proof.pk} waits for its verification.")
    return redirect("pages:best_known", slug, number, model)


def _entry(request: HttpRequest, slug: str, number: int, model: int) -> RoundEntry:
    """Return a released model that the user may see. Raise 404 otherwise."""
    entry = released_models(round_of(request, slug, number)).filter(submission=model).first()
    if entry is None:
        raise Http404("no such model")
    return entry


def _closed(entry: RoundEntry) -> Refusal | None:
    """Return why no proof may be uploaded, None if one may."""
    try:
        require_open(entry)
    except Refusal as refusal:
        return refusal
    return None
