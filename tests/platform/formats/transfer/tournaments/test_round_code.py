"""The release of the code of a final of the transfer format."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone

from accounts.models import User
from competitions.models import Competition
from formats.transfer.rounds.competition_verification import differing_places
from formats.transfer.tournaments import services
from repositories.public_copies import public_copy
from rounds.formats import format_of
from rounds.models import Release, Round
from rounds.publishing.licence_review import confirm_licence
from rounds.publishing.preview import preview_digest
from rounds.publishing.publication import publish
from rounds.release.released_parts import release, released_entries, released_tags, withdraw
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.play_rounds import begin, plan, play

Submit = Callable[..., Submission]


@pytest.mark.slow(8)
def test_code_is_released_of_entries_whose_licence_is_open_source_or_confirmed(
    transfer: Competition, olga: User, push: Submit, the_clock: FakeClock, tmp_path: Path
) -> None:
    """A licence that is not known to be open source is, once an organiser confirms it; places do not depend on it."""
    Competition.objects.update(licence_policy=Competition.LicencePolicy.OPEN_SOURCE)
    the_clock.at = timezone.now()
    attack, defence = push("owls", "attack", COPY), push("bats", "defence", CHECKSUM)
    other = push("cats", "attack", f"{COPY} # cats")
    Submission.objects.filter(pk=defence.pk).update(licence="LicenseRef-ours")
    Submission.objects.filter(pk=other.pk).update(licence="")
    services.make_baselines()
    the_clock.at = timezone.now()
    final = plan(transfer, olga, kind="final", source=transfer.sample_sets.get(name="final"))
    begin(final, olga, the_clock)
    play(final)
    assert why_not(final) == {
        "owls": "",
        "bats": "its licence is not known to be open source: LicenseRef-ours",
        "cats": "its licence is not known to be open source: none was found",
    }
    before = final.outcome
    confirm_licence(entries=[final.entries.get(submission=defence)], by=olga, reason="It is the MIT licence.")
    final.refresh_from_db()
    assert why_not(final)["bats"] == ""
    assert final.outcome != before, "it states who is eligible"
    publish(round_=final, by=olga, previewed=preview_digest(final, format_of(final).preview(final)))
    assert set(final.entries.values_list("place", flat=True)) == {1}
    assert list(differing_places(Competition.objects.all())) == []

    made = release(round_=final, part=Release.Part.CODE, by=olga, reason="It is over.")
    assert [entry.submission for entry in released_entries(final)] == [defence, attack]
    for submission in (attack, defence):
        clone = tmp_path / f"clone-{submission.pk}"
        copy = public_copy(submission.repository, released_tags(submission.repository))
        subprocess.run(["git", "clone", "--quiet", copy, clone], check=True)
        assert (clone / "metadata.json").is_file()
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True)
        assert head.stdout.strip() == submission.commit
    assert public(final) == {"owls", "bats"}
    assert released_tags(other.repository) == {}
    withdraw(release=made, by=olga, reason="A team asked for it.")
    assert public(final) == set()


def why_not(round_: Round) -> dict[str, str]:
    """Return why each team is not eligible, "" where it is."""
    rows = round_.entries.values_list("submission__repository__entry__team__slug", "ineligible_because")
    return dict(rows)


def public(round_: Round) -> set[str]:
    """Return the teams whose repositories are public."""
    rows = round_.entries.exclude(submission__repository__public_since=None)
    return set(rows.values_list("submission__repository__entry__team__slug", flat=True))
