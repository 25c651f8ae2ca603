"""Pushed tags and their submissions, and the answers to rejected pushes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

from accounts.models import User
from accounts.services import remove_member
from competitions.models import Competition, FreezeWindow
from core.errors import Refusal, RefusedForNow
from core.time_format import in_words
from repositories.git_reader import GitReader
from repositories.http.push_hooks import Push
from repositories.models import Repository
from repositories.ref_rules import NULL_OBJECT, RefUpdate
from submissions import quota_ledger
from submissions.hiding import hide, show_again
from submissions.models import QuotaSlot, Submission
from submissions.push_gate import submission_gate
from workers.services import record_worker

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.submissions.push_gate.conftest import Copy

Send = Callable[..., str]


def test_a_pushed_tag_becomes_a_submission_and_uses_a_slot(
    send: Send, copy: Copy, alice: User, the_clock: FakeClock, notifications: list[object]
) -> None:
    commit = copy.commit()
    answer = send("submission-1", commit)
    submission = Submission.objects.get()
    assert (submission.commit, submission.tag, submission.submitted_by) == (commit, "submission-1", alice)
    assert (submission.title, submission.licence, submission.state) == ("Wise owl", "MIT", "received")
    assert submission.deadline is not None
    assert submission.deadline > the_clock.at
    slot = QuotaSlot.objects.get()
    assert (slot.state, slot.submission) == ("used", submission)
    assert notifications == [("submissions.build", {"submission": submission.pk})]
    assert f"https://arena.example/submissions/{submission.pk}" in answer
    assert "plan: as it is, Python" in answer
    assert "Slots left: 4 of 5 in any 24 hours. The next slot is free at 2026-11-22 12:00 UTC." in answer
    assert len(answer.splitlines()) < 10


def test_an_annotated_tag_submits_its_commit(send: Send, copy: Copy) -> None:
    commit = copy.commit()
    copy.git("tag", "--annotate", "submission-1", "--message", "the first")
    carried = copy.git("rev-parse", "submission-1")
    copy.land(carried, "not-yet-a-submission")  # its object is transferred too, in quarantine
    send("submission-1", carried)
    assert Submission.objects.get().commit == commit


def test_a_second_call_for_a_push_changes_nothing(copy: Copy, alice: User) -> None:
    commit = copy.commit()
    _, end = copy.ask(alice, commit, "submission-1")
    copy.land(commit, "submission-1")
    assert end() == end()
    assert Submission.objects.count() == QuotaSlot.objects.count() == 1


def test_a_tag_that_git_did_not_set_is_no_submission(copy: Copy, alice: User) -> None:
    """As if the tag was locked: git leaves it out of the updates, and moves the branch of the same push."""
    commit = copy.commit()
    branch, tag = (RefUpdate(NULL_OBJECT, commit, ref) for ref in ("refs/heads/idea", "refs/tags/submission-1"))
    with GitReader(copy.repository.path) as reader:
        accepted = submission_gate(Push(copy.repository, alice, [branch, tag], {}, "https://arena.example"), reader)
    assert accepted.after([branch]).startswith("Stored, not submitted.")
    assert not Submission.objects.exists()


@pytest.mark.usefixtures("the_clock")
def test_a_plain_push_is_answered_with_how_to_submit(send: Send, copy: Copy, alice: User) -> None:
    commit = copy.commit()
    updates = [RefUpdate(NULL_OBJECT, commit, "refs/heads/main")]
    push = Push(copy.repository, alice, updates, {"refs/tags/submission-1": commit}, "https://arena.example")
    with GitReader(copy.repository.path) as reader:
        accepted = submission_gate(push, reader)
    assert accepted.message == ""
    assert accepted.after(updates) == (
        "Stored, not submitted. To submit: git tag submission-2 && git push origin HEAD submission-2\n"
        "Slots left: 5 of 5 in any 24 hours."
    )
    send("submission-2", commit)
    assert "git tag submission-3 " in accepted.after(updates)


def _without_a_manifest(copy: Copy) -> None:
    (copy.folder / "submission.toml").unlink()


def _manifest_in_latin_1(copy: Copy) -> None:
    copy.write({"submission.toml": b'[submission]\ntrack = "model"\ntitle = "\xe9"\n'})


def _manifest_of_another_track(copy: Copy) -> None:
    copy.write({"submission.toml": (copy.folder / "submission.toml").read_text().replace('"model"', '"targeted"')})


def _manifest_with_an_unknown_key(copy: Copy) -> None:
    copy.write({"submission.toml": (copy.folder / "submission.toml").read_text() + 'licens = "MIT"\n'})


def _manifest_as_a_link(copy: Copy) -> None:
    (copy.folder / "submission.toml").rename(copy.folder / "real.toml")
    (copy.folder / "submission.toml").symlink_to("real.toml")


def _a_submodule(copy: Copy) -> None:
    copy.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},inner")
    (copy.folder / "inner").mkdir()  # an empty folder keeps it in the index through `git add`


def _a_large_file(copy: Copy) -> None:
    copy.write({"weights.bin": b"0" * 5000})


def _an_lfs_pointer(copy: Copy) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    copy.write({"weights.bin": pointer})


def _a_link_that_leaves(copy: Copy) -> None:
    (copy.folder / "passwords").symlink_to("../../../etc/passwd")


def _a_requirement_that_nobody_meets(copy: Copy) -> None:
    copy.write({"requirements.txt": "numpy\nno-such-package-at-all==1\n"})


def _a_requirement_in_binder(copy: Copy) -> None:
    copy.write({"binder/requirements.txt": "no-such-package-at-all==1\n"})


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_without_a_manifest, "submission.toml is missing in commit"),
        (_manifest_in_latin_1, "submission.toml, line 3: not UTF-8"),
        (_manifest_of_another_track, 'submission.toml says track = "targeted", but this repository is for'),
        (_manifest_with_an_unknown_key, "unknown key 'licens'"),
        (_manifest_as_a_link, "submission.toml is not a plain file"),
        (_a_submodule, "inner"),
        (_a_large_file, "weights.bin"),
        (_an_lfs_pointer, "weights.bin"),
        (_a_link_that_leaves, "passwords"),
        (_a_requirement_that_nobody_meets, "requirements.txt, line 2: the requirement 'no-such-package-at-all==1'"),
        (_a_requirement_in_binder, "binder/requirements.txt, line 1"),
    ],
)
def test_it_rejects_a_bad_commit_and_uses_no_slot(
    send: Send, copy: Copy, settings: Settings, spoil: Callable[[Copy], None], problem: str
) -> None:
    settings.MAX_FILE_BYTES = 4096
    spoil(copy)
    with pytest.raises(Refusal) as refused:
        send("submission-1")
    assert problem in refused.value.problem
    assert refused.value.fix
    assert not QuotaSlot.objects.exists()
    assert not Submission.objects.exists()


def test_docker_refuses_what_its_builder_would_refuse(send: Send, copy: Copy, settings: Settings) -> None:
    settings.SANDBOX = "docker"
    copy.write({"apt.txt": "not; a package\n"})
    with pytest.raises(Refusal, match=r"apt\.txt, line 1"):
        send("submission-1")
    copy.write({"apt.txt": "libgomp1\n", "environment.yml": "#" * ((1 << 20) + 1)})
    with pytest.raises(Refusal, match=r"environment\.yml has 1,048,577 bytes; at most 1,048,576 are allowed"):
        send("submission-1")
    (copy.folder / "environment.yml").unlink()
    copy.write({"requirements.txt": "numpy\nscipy\n"})
    assert "plan: lean pack, Python 3.11, 2 requirements" in send("submission-1")
    copy.write({"binder/Dockerfile": "FROM scratch\n"})
    assert "plan: your own binder/Dockerfile" in send("submission-2")


def test_it_rejects_a_tag_on_another_object_than_a_commit(send: Send, copy: Copy) -> None:
    copy.commit()
    blob = copy.git("rev-parse", "HEAD:main.py")
    with pytest.raises(Refusal, match="does not point to a commit"):
        send("submission-1", blob)


def test_it_rejects_strangers(send: Send, charlie: User) -> None:
    with pytest.raises(Refusal, match="charlie is not a member of The Owls"):
        send("submission-1", user=charlie)


def test_it_rejects_the_same_commit_twice_until_the_first_is_withdrawn(send: Send, copy: Copy) -> None:
    commit = copy.commit()
    send("submission-1", commit)
    first = Submission.objects.get()
    with pytest.raises(Refusal, match=f"is already submission {first.pk}"):
        send("submission-2", commit)
    Submission.objects.update(state="withdrawn")
    send("submission-2", commit)
    assert Submission.objects.count() == 2


def test_it_rejects_the_commit_of_a_hidden_submission_also_when_that_is_withdrawn(
    send: Send, copy: Copy, olga: User
) -> None:
    commit = copy.commit()
    send("submission-1", commit)
    hide(submission=Submission.objects.get(), by=olga, reason="It names a person.")
    Submission.objects.update(state="withdrawn")
    with pytest.raises(Refusal, match="which the organisers have hidden"):
        send("submission-2", commit)


def test_it_rejects_the_title_of_a_hidden_submission_of_the_team_until_that_is_shown_again(
    send: Send, olga: User
) -> None:
    send("submission-1")
    first = Submission.objects.get()
    hide(submission=first, by=olga, reason="It names a person.")
    with pytest.raises(Refusal, match=f"is that of submission {first.pk}, .* hidden: It names") as refused:
        send("submission-2")
    assert "another title" in refused.value.fix
    assert QuotaSlot.objects.count() == 1
    show_again(submission=first, by=olga, reason="The person agrees.")
    send("submission-2")


def test_it_rejects_the_sixth_push_of_a_day_and_names_the_next_free_slot(send: Send, the_clock: FakeClock) -> None:
    for number in range(5):
        the_clock.forward(minutes=7, seconds=1)
        send(f"submission-{number}")
    with pytest.raises(RefusedForNow) as refused:
        send("submission-6")
    first = QuotaSlot.objects.earliest("reserved_at")
    assert refused.value.accepted_from == first.reserved_at + timedelta(hours=24)
    assert QuotaSlot.objects.count() == 5
    the_clock.at = refused.value.accepted_from
    send("submission-6")


def test_it_rejects_pushes_in_a_freeze_window_until_the_last_adjacent_one_ends(
    send: Send, competition: Competition, the_clock: FakeClock
) -> None:
    for start, end in ((-1, 2), (2, 5)):
        FreezeWindow.objects.create(
            competition=competition,
            starts_at=the_clock.at + timedelta(hours=start),
            ends_at=the_clock.at + timedelta(hours=end),
            reason="development round 1",
        )
    with pytest.raises(RefusedForNow, match="development round 1") as refused:
        send("submission-1")
    assert refused.value.accepted_from == the_clock.at + timedelta(hours=5)
    the_clock.at = refused.value.accepted_from
    send("submission-1")


def test_it_rejects_pushes_before_the_start_and_after_the_end(
    send: Send, competition: Competition, the_clock: FakeClock
) -> None:
    the_clock.at = competition.starts_at - timedelta(hours=1)
    with pytest.raises(RefusedForNow, match="Digits starts at") as refused:
        send("submission-1")
    assert refused.value.accepted_from == competition.starts_at
    the_clock.at = competition.ends_at
    with pytest.raises(Refusal, match="Digits ended at"):
        send("submission-1")


@pytest.mark.parametrize("until_then", ["no slot is free", "submissions are frozen"])
def test_it_promises_no_time_after_the_end(
    send: Send, competition: Competition, the_clock: FakeClock, take_slots: Callable[[int], None], until_then: str
) -> None:
    the_clock.at = competition.ends_at - timedelta(hours=3)
    if until_then == "no slot is free":
        take_slots(5)
    else:
        FreezeWindow.objects.create(
            competition=competition,
            starts_at=the_clock.at,
            ends_at=competition.ends_at + timedelta(days=2),
            reason="the final",
        )
    with pytest.raises(Refusal) as refused:
        send("submission-1")
    assert not isinstance(refused.value, RefusedForNow)
    ends = in_words(competition.ends_at)
    assert refused.value.fix == f"Digits ends at {ends}, before submissions are accepted again"


@pytest.mark.usefixtures("the_clock")
def test_an_image_that_is_not_allowed_is_refused_with_its_line(send: Send, copy: Copy, settings: Settings) -> None:
    settings.SANDBOX = "docker"
    copy.write({"Dockerfile": "FROM gauntlet-base:latest\n# theirs\nCOPY --from=gauntlet/0123456789abcdef / /\n"})
    with pytest.raises(Refusal) as refused:
        send("submission-1")
    assert refused.value.problem.startswith("Dockerfile, line 3: COPY names the image 'gauntlet/0123456789abcdef'")
    assert "gauntlet-base:latest, scratch" in refused.value.fix
    assert not QuotaSlot.objects.exists()


@pytest.mark.usefixtures("the_clock")
@pytest.mark.parametrize("link", [True, False])
def test_a_dockerfile_that_the_gate_cannot_read_is_refused(
    send: Send, copy: Copy, settings: Settings, link: bool
) -> None:
    settings.SANDBOX = "docker"
    if link:
        copy.write({"recipe": "FROM gauntlet/0123456789abcdef\n"})
        (copy.folder / "Dockerfile").symlink_to("recipe")
    else:
        copy.write({"Dockerfile": "FROM gauntlet/0123456789abcdef\n" + "# more\n" * 40_000})
    with pytest.raises(Refusal, match="Dockerfile is not a plain file of at most 256 KiB"):
        send("submission-1")


def test_a_player_that_needs_a_gpu_is_refused_without_a_gpu_worker(
    send: Send, copy: Copy, the_clock: FakeClock
) -> None:
    manifest = copy.folder / "submission.toml"
    manifest.write_text(manifest.read_text() + "gpu = true\n")
    _see_worker("cpu", the_clock)
    with pytest.raises(Refusal) as refused:
        send("submission-1")
    assert refused.value.problem == "submission.toml says gpu = true, and no worker with a GPU is running now"
    assert "gpu = false" in refused.value.fix
    assert not QuotaSlot.objects.exists()

    _see_worker("gpu", the_clock)
    assert " received: " in send("submission-1")

    the_clock.forward(hours=1)
    with pytest.raises(Refusal, match="no worker with a GPU"):
        send("submission-2")


def _see_worker(worker_class: str, the_clock: FakeClock) -> None:
    record_worker(
        name=f"arena/{worker_class}/0", worker_class=worker_class, device="", calibration=1.0, started_at=the_clock.at
    )


def test_who_left_the_team_during_a_push_changes_nothing(copy: Copy, alice: User, bob: User) -> None:
    commit = copy.commit()
    deleted = [RefUpdate(commit, NULL_OBJECT, "refs/heads/main")]
    push = Push(copy.repository, bob, deleted, {"refs/heads/main": commit}, "https://arena.example")
    remove_member(team=copy.repository.entry.team, user=bob, by=alice)
    with GitReader(copy.repository.path) as reader, pytest.raises(Refusal, match="bob is not a member of The Owls"):
        submission_gate(push, reader)


def test_an_archived_competition_rejects_every_push_and_uses_no_slot(
    send: Send, copy: Copy, alice: User, competition: Competition
) -> None:
    Competition.objects.update(archived_at=competition.starts_at)
    commit = copy.commit()
    with pytest.raises(Refusal, match="Digits was archived at 2025-11-21 12:00 UTC") as refused:
        send("submission-1", commit)
    assert "take it back" in refused.value.fix
    push = Push(
        copy.repository, alice, [RefUpdate(NULL_OBJECT, commit, "refs/heads/idea")], {}, "https://arena.example"
    )
    with GitReader(copy.repository.path) as reader, pytest.raises(Refusal, match="Digits was archived"):
        submission_gate(push, reader)
    assert not QuotaSlot.objects.exists()


def test_a_competition_that_is_archived_during_the_checks_uses_no_slot(
    copy: Copy, alice: User, competition: Competition
) -> None:
    repository = Repository.objects.select_related("entry__competition").get(pk=copy.repository.pk)
    Competition.objects.update(archived_at=competition.starts_at)
    with pytest.raises(Refusal, match="Digits was archived"):
        quota_ledger.reserve(
            repository=repository, commit=copy.commit(), tag="submission-1", by=alice, title="A", licence="MIT"
        )
    assert not QuotaSlot.objects.exists()
