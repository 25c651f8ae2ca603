"""URL configuration of the site."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.decorators.http import require_safe
from django.views.generic import RedirectView, TemplateView

from operations.metrics import metrics
from pages.account.views import follow_sign_up_link
from repositories.http.views import GitView, HostGitView, PublicGitView
from rounds.release.released_parts import released_tags
from submissions.push_gate import submission_gate
from workers.host_credentials import number_of_host
from workers.host_join_views import join_site, site_identity

_no_email = path("accounts/password/reset/", TemplateView.as_view(template_name="account/no_email.html"))

urlpatterns = [
    # no password forms here: allauth's limit attempts, and a new password revokes the access tokens
    path("admin/login/", require_safe(secure_admin_login(admin.site.login))),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    path("admin/", admin.site.urls),
    *([] if settings.EMAIL_HOST else [_no_email]),
    path("accounts/signup/<key>/", follow_sign_up_link, name="sign_up_link"),
    path("accounts/waiting/", TemplateView.as_view(template_name="account/waiting.html"), name="account_waiting"),
    path("accounts/", include("allauth.urls")),
    path(
        "git/public/<team>/<track_name>.git/<path:service>",
        PublicGitView.as_view(released=released_tags),
        name="public_git",
    ),
    path(
        "git/hosts/<int:number>.git/<path:service>",
        HostGitView.as_view(number_of_host=number_of_host),
        name="git_of_hosts",
    ),
    path("git/<team>/<track_name>.git/<path:service>", GitView.as_view(gate=submission_gate), name="git"),
    path("api/", include("api.urls")),
    path("hosts/join", join_site, name="join_site"),
    path("hosts/identity", site_identity, name="site_identity"),
    path("metrics", metrics, name="metrics"),
    path("", include("pages.urls")),
]
handler404 = "pages.site.error_views.page_not_found"
handler500 = "pages.site.error_views.server_error"
