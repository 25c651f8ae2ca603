"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from repositories.views import GitView
from submissions.door import SubmissionDoor

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("git/<team>/<kind>.git/<path:service>", GitView.as_view(door=SubmissionDoor()), name="git"),
    path("api/", include("api.urls")),
    path("", include("pages.urls")),
]
