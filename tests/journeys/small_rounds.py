"""Sets up a site at which a small round of each format has begun; prints a token with which a team can push.

Run with the settings of that site, Django set up.
"""

from __future__ import annotations

from django.core.management import call_command

from accounts.models import User
from accounts.services import issue_token
from bench.tables import make_tables
from competitions.freeze_windows import end_window
from competitions.models import FreezeWindow
from tests.journeys import small_round, small_transfer_round


def begin() -> None:
    """Make the tables, the files of pages, and both rounds."""
    make_tables()
    call_command("collectstatic", interactive=False, verbosity=0)  # pages name these files
    organiser = User.objects.create_superuser("olga", "", "a long enough password")
    small_round.begin(organiser)
    small_transfer_round.begin(organiser)
    for window in FreezeWindow.objects.all():  # so that the team can push while the rounds are played
        end_window(window=window, by=organiser, reason="The rounds have begun.")


if __name__ == "__main__":
    begin()
    pusher = User.objects.get(username="noise-0")
    print(issue_token(user=pusher, name="journey", scopes=["submit"], days=1)[1])  # noqa: T201
