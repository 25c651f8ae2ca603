"""URL configuration of a site with git only; its push gate acts on the name of the pushed branch."""

from __future__ import annotations

import time

from django.contrib import admin
from django.urls import path

from core import clock, events
from core.errors import Refusal, RefusedForNow
from repositories.file_rules import check_files
from repositories.git_reader import GitReader
from repositories.push_gate import Push, PushGate
from repositories.views import GitView, PublicGitView
from rounds.release import released_tags


class BranchNameGate(PushGate):
    """Records every push as events "asked" and "pushed"; rejects or fails depending on the branch name."""

    def before(self, push: Push) -> str:
        events.record("asked", push.repository, by=push.user)
        words = {update.ref.removeprefix("refs/heads/") for update in push.updates}
        if "refused" in words:
            raise Refusal("the gate does not like \x1b[31mred", fix="paint it green")
        if "later" in words:
            raise RefusedForNow("not now", accepted_from=clock.now().replace(year=2099))
        if "failing" in words:
            raise RuntimeError("a secret")
        if "slow" in words:
            time.sleep(1.5)
        with GitReader(push.repository.path, push.environment) as reader:
            for update in push.updates:
                if commit := reader.resolve(update.new):
                    check_files(reader.files(commit), reader)
        return "Accepted."

    def after(self, push: Push) -> str:
        events.record("pushed", push.repository, by=push.user, refs=[update.ref for update in push.updates])
        return f"See {push.site_url}/submissions/1"


urlpatterns = [
    path("git/public/<team>/<track_name>.git/<path:service>", PublicGitView.as_view(released=released_tags)),
    path("git/<team>/<track_name>.git/<path:service>", GitView.as_view(gate=BranchNameGate())),
    path("admin/", admin.site.urls),
]
