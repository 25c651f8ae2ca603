"""The page of the admin on which a superuser copies a competition: a form, then the preview of an import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.forms import CharField, DateTimeField, DateTimeInput, Form
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import INPUT_CLASSES, UnfoldAdminTextInputWidget

from competitions.file_upload_page import UploadForm, uploaded
from competitions.models import Competition
from competitions.services import export_competition
from competitions.shifted_dates import shifted
from competitions.toml_fields import SLUG
from competitions.toml_text import written
from core.errors import Refusal
from core.time_format import FIELD

ABOUT = (
    "The copy has its rules, tracks with their baselines, sample sets, freeze windows, pages and terms; no teams, "
    "submissions or scores, and no rounds, since their images are no longer secret: import others and plan its own. "
    "It is hidden until you make it public."
)


def moment_field(label: str, help_text: str) -> DateTimeField:
    """Return the field of a time, which a browser shows as a calendar."""
    attrs = {"type": "datetime-local", "class": " ".join(INPUT_CLASSES)}
    return DateTimeField(widget=DateTimeInput(format=FIELD, attrs=attrs), label=label, help_text=help_text)


class CloneForm(Form):
    """What a copy has of its own."""

    slug = CharField(
        max_length=60,
        validators=[RegexValidator(rf"^{SLUG.pattern}\Z", "Use lower-case letters, digits and single hyphens.")],
        widget=UnfoldAdminTextInputWidget(),
        help_text="Part of its addresses. It never changes.",
    )
    title = CharField(max_length=120, widget=UnfoldAdminTextInputWidget())
    starts_at = moment_field("Start", "In UTC. Its end and its freeze windows move by the same time.")

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if Competition.objects.filter(slug=slug).exists():
            raise ValidationError("A competition has this slug. Choose another one.")
        return slug


def clone_page(request: HttpRequest, competition: Competition, context: dict[str, Any]) -> HttpResponse:
    """Answer with the form, or with the preview of the copy's import, which the page of the import confirms."""
    form = CloneForm(request.POST or None, initial={"title": competition.title, "starts_at": competition.starts_at})
    if form.is_valid():
        try:
            text = written(copy_of(competition, **form.cleaned_data))
        except Refusal as refusal:
            form.add_error("starts_at", f"{refusal.problem}: {refusal.fix}")
        else:
            context |= {"title": "Import a competition", "form": UploadForm(), "shown": uploaded(text.encode())}
            return TemplateResponse(request, "admin/competitions/upload.html", context)
    context |= {"title": f"A competition like {competition}", "form": form, "about": ABOUT}
    return TemplateResponse(request, "admin/competitions/before_preview.html", context)


def copy_of(competition: Competition, *, slug: str, title: str, starts_at: Any) -> Mapping[str, Any]:
    """Return the content of the file of a copy, which is hidden until somebody makes it public.

    Rounds are left out: no second one can be planned on the images of the first. Raise `Refusal` if a date would be out
    of range.
    """
    document = shifted(export_competition(competition), starts_at)
    document.pop("rounds", None)
    return document | {"competition": document["competition"] | {"slug": slug, "title": title, "public": False}}
