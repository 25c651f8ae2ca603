"""The admin page of uploaded data sets, and the form of the upload."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms import CharField, FileField, Form, SlugField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from competitions.data_sets import LIMITS, add_data_set, sample_sets_text
from competitions.models import UploadedDataSet
from core import platform_error_report
from core.administration.permissions import ReadOnlyAdmin, is_superuser
from core.errors import Fault, Refusal

log = logging.getLogger(__name__)


class DataSetUploadForm(Form):
    """Name, licence and archive of a data set."""

    name = SlugField(
        max_length=40,
        widget=UnfoldAdminTextInputWidget,
        help_text='Letters, digits and hyphens. A competition names the set by it: source = "uploaded:NAME".',
    )
    licence = CharField(
        max_length=2000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Licence and source of the images, and who may publish them: development images are public.",
    )
    archive = FileField(
        widget=UnfoldAdminFileFieldWidget,
        help_text=f"ZIP with CLASS/IMAGE or SPLIT/CLASS/IMAGE, all images of one size, at most {LIMITS.files:,} files "
        f"and {LIMITS.bytes >> 30} GiB unpacked.",
    )


@admin.register(UploadedDataSet)
class UploadedDataSetAdmin(ReadOnlyAdmin):
    """Data sets that superusers uploaded. Any competition can take its images from them."""

    list_display = ("name", "images", "class_count", "image_size", "repeated", "uploaded_by", "uploaded_at")
    list_select_related = ("uploaded_by",)
    search_fields = ("name", "licence")
    fields = (
        *("name", "licence", "images", "sizes_of_splits", "classes", "image_size", "repeated", "in_sample_sets"),
        *("file_part", "digest", "uploaded_by", "uploaded_at"),
    )
    readonly_fields = ("images", "sizes_of_splits", "classes", "image_size", "in_sample_sets", "file_part")

    @admin.display(description="classes")
    def class_count(self, row: UploadedDataSet) -> int:
        """Return the number of classes."""
        return len(row.class_names)

    @admin.display(description="splits")
    def sizes_of_splits(self, row: UploadedDataSet) -> str:
        """Return the number of images of each split."""
        return "; ".join(f"{name}: {number:,}" for name, number in row.splits.items())

    @admin.display(description="classes")
    def classes(self, row: UploadedDataSet) -> str:
        """Return the names of the classes, in the order of their labels."""
        return f"{len(row.class_names)}: {', '.join(row.class_names)}"

    @admin.display(description="images that sample sets had already")
    def in_sample_sets(self, row: UploadedDataSet) -> str:
        """Return how many images each sample set of the site had when the data set was uploaded."""
        return "; ".join(f"{name}: {number:,}" for name, number in row.shared.items()) or "none"

    @admin.display(description="image size")
    def image_size(self, row: UploadedDataSet) -> str:
        """Return height and width in pixels, and the channels."""
        return " x ".join(map(str, row.shape))

    @admin.display(description="for the competition's file")
    def file_part(self, row: UploadedDataSet) -> str:
        """Return tables for a competition's file, to be copied."""
        return sample_sets_text(row)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show the form, or prepare the uploaded images."""
        by = request.user
        if not self.has_add_permission(request) or not by.is_authenticated:
            raise PermissionDenied
        form = DataSetUploadForm(request.POST or None, request.FILES or None)
        if form.is_valid():
            try:
                made = add_data_set(**form.cleaned_data, by=by)
            except Refusal as refusal:
                form.add_error("archive", [*refusal.problem.splitlines(), f"Fix: {refusal.fix}."])
            except Fault as fault:
                platform_error_report.report(log, fault, "a data set could not be prepared")
                form.add_error(None, f"Platform error: {fault}. Try again later.")
            else:
                messages.success(request, f"{made.name} is uploaded: {made.images:,} images.")
                for name, number in made.shared.items():
                    messages.warning(request, f"{number:,} of its images are also in {name}.")
                return redirect("admin:competitions_uploadeddataset_change", made.pk)
        context = self.admin_site.each_context(request) | {
            "opts": self.opts,
            "title": "Upload a data set",
            "form": form,
        }
        return TemplateResponse(request, "admin/competitions/upload_data_set.html", context)
