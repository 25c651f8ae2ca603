"""A submission of the transfer format from its commit to a player, with the smoke test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from evaluation.formats.transfer.runner.resource_limits import resources
from formats.transfer.tournaments.player_builds import ready_player
from submissions import pipeline, smoke_test_pictures, state_timeouts
from submissions.models import Submission
from submissions.selectors import whole_log
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.printed_command import rows_of, rows_of_the_printed_command

pytestmark = pytest.mark.django_db(transaction=True)

Submit = Callable[..., Submission]


def advanced(submission: Submission) -> tuple[Submission, str]:
    """Send a submission through the pipeline as if it was just received; return it with its log."""
    now = timezone.now()
    Submission.objects.filter(pk=submission.pk).update(
        state=Submission.State.RECEIVED, player=None, state_since=now, deadline=now + state_timeouts.RECEIVED
    )
    pipeline.advance()
    submission.refresh_from_db()
    return submission, "".join(whole_log(submission.builds.get()))


def test_submissions_become_players_and_the_printed_command_repeats_the_smoke_test(
    push: Submit, live_server: Any, settings: Settings, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings.SITE_ADDRESS = live_server.url
    attack, log = advanced(push("owls", "attack", COPY))
    assert attack.state == "ready", log
    assert [(check["name"], check["passed"]) for check in attack.builds.get().checks] == [
        ("run", True), ("images", True),
    ]  # fmt: skip
    pictured = smoke_test_pictures.kept(attack.builds.get())
    assert [(each.perturbed, each.largest_change, each.clean_label) for each in pictured] == [(True, 0, None)] * 4
    assert attack.player is not None
    assert (attack.player.title, attack.player.command) == ("owls 1", ["run.sh"])
    assert ready_player(attack.player, print).digest == attack.player.digest
    defence, log = advanced(push("bats", "defence", CHECKSUM))
    assert defence.state == "ready", log
    build = defence.builds.get()
    assert [(each.perturbed, each.clean_label is None) for each in smoke_test_pictures.kept(build)] == [
        (False, False)
    ] * 4
    assert rows_of_the_printed_command(build, tmp_path / "work-2", capfd) == rows_of(build)


def test_a_run_has_the_disk_space_of_the_command(push: Submit) -> None:
    # `gauntlet check` and the site share the limits; a shell counts blocks of 512 bytes
    attack, log = advanced(push("owls", "attack", f'echo "blocks of a file: $(ulimit -f)"; {COPY}'))
    assert attack.state == "ready", log
    assert f"blocks of a file: {resources().scratch_bytes // 512}\n" in log
    assert resources().scratch_bytes == 2 << 30


def test_an_attack_that_writes_half_of_the_images_is_rejected(push: Submit) -> None:
    attack, _ = advanced(push("owls", "attack", 'for file in $(ls "$1" | head -n 2); do cp "$1/$file" "$2"; done'))
    assert (attack.state, attack.problem) == ("rejected", "It made 2 of 4 images")
    assert "write one PNG file of the same name for each input image" in attack.fix


def test_a_crash_is_quoted_with_its_last_line(push: Submit) -> None:
    attack, log = advanced(push("owls", "attack", "exec python3 -c 'import nothing_of_this_name'"))
    assert attack.problem.splitlines()[0].startswith("ModuleNotFoundError: No module named 'nothing_of_this_name'")
    assert "not reached  images" in log


def test_a_defence_without_labels_is_rejected(push: Submit) -> None:
    defence, _ = advanced(push("owls", "defence", 'echo "nothing,1" > "$2"'))
    assert (defence.state, defence.problem) == ("rejected", "It labelled 0 of 4 images")


def test_a_last_line_of_control_characters_is_quoted_without_them(push: Submit) -> None:
    # PostgreSQL stores no NUL, not even in JSON
    attack, _ = advanced(push("owls", "attack", r"printf 'bad\000\033[1mend\n'; exit 3"))
    assert attack.state == "rejected"
    assert attack.problem.endswith("its last output: badend")
    assert attack.builds.get().checks[0]["headline"] == attack.problem
