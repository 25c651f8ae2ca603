"""URL configuration of a site with git only; its push gate acts on the name of the pushed branch."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.contrib import admin
from django.urls import path

from core import clock, event_log
from core.errors import Refusal, RefusedForNow
from repositories.file_rules import check_files
from repositories.git_reader import GitReader
from repositories.http.push_hooks import AcceptedPush, Push
from repositories.http.views import GitView, HostGitView, PublicGitView
from repositories.ref_rules import RefUpdate
from rounds.release.released_parts import released_tags
from workers.host_credentials import number_of_host
from workers.host_join_views import site_identity


def branch_name_gate(push: Push, reader: GitReader) -> AcceptedPush:
    """Record a push as events "asked" and "pushed"; reject it or fail depending on the branch name."""
    event_log.record("asked", push.repository, by=push.user)
    words = {update.ref.removeprefix("refs/heads/") for update in push.updates}
    if "refused" in words:
        raise Refusal("the gate does not like \x1b[31mred", fix="paint it green")
    if "later" in words:
        raise RefusedForNow("not now", accepted_from=clock.now().replace(year=2099))
    if "failing" in words:
        raise RuntimeError("a secret")
    if "slow" in words:
        time.sleep(1.5)
    for update in push.updates:
        if commit := reader.resolve(update.new):
            check_files(reader.files(commit), reader)

    def after(updates: Sequence[RefUpdate]) -> str:
        event_log.record("pushed", push.repository, by=push.user, refs=[update.ref for update in updates])
        return f"See {push.site_url}/submissions/1"

    return AcceptedPush("Accepted.", after)


urlpatterns = [
    path("git/public/<team>/<track_name>.git/<path:service>", PublicGitView.as_view(released=released_tags)),
    path("git/hosts/<int:number>.git/<path:service>", HostGitView.as_view(number_of_host=number_of_host)),
    path("git/<team>/<track_name>.git/<path:service>", GitView.as_view(gate=branch_name_gate)),
    path("hosts/identity", site_identity),
    path("admin/", admin.site.urls),
]
