"""Quick start commands on the team page and the home page."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import Competition, SampleSet
from core import clock
from repositories import recent_commits
from repositories.models import Repository
from submissions.models import QuotaSlot, Submission


def git(folder: Path, *words: str) -> None:
    """Run git in `folder` as Bob."""
    identity = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


CHECK = "gauntlet check --competition http://testserver/competitions/digits ."


@pytest.fixture
def pushed(repositories: dict[str, Repository], tmp_path: Path) -> Repository:
    """The model repository of the Owls, with one tagged commit."""
    repository = repositories["model"]
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "--quiet")
    git(work, "commit", "--quiet", "--allow-empty", "--message", "A first look")
    for number in (1, 5, 6, 8, 9, 10, 11):
        git(work, "tag", f"submission-{number}")
    git(tmp_path, "init", "--quiet", "--bare", str(repository.path))
    git(work, "push", "--quiet", "--tags", str(repository.path), "main")
    return repository


def start_of(client: Client, kind: str) -> str:
    """Return the quick start commands of the Owls for a track."""
    page = client.get(f"/teams/owls?track={kind}").content.decode()
    return page.split(f'id="start-{kind}">')[1].split("</code>")[0]


def test_it_starts_an_empty_repository_from_a_bundled_one(
    client: Client, repositories: dict[str, Repository], bob: User
) -> None:
    client.force_login(bob)
    lines = start_of(client, "targeted").splitlines()
    assert lines[1:4] == ["cd owls-targeted", "gauntlet new targeted .", CHECK]
    assert lines[-2:] == ["git tag submission-1", "git push origin HEAD submission-1"]


def test_it_starts_a_repository_with_commits_from_them(client: Client, pushed: Repository, bob: User) -> None:
    client.force_login(bob)
    assert "gauntlet new" not in start_of(client, "model")
    assert CHECK in start_of(client, "model")


def test_the_proposed_tag_is_none_that_exists(client: Client, pushed: Repository, bob: User) -> None:
    client.force_login(bob)
    assert "git tag submission-12\n" in start_of(client, "model")
    QuotaSlot.objects.create(  # rejected, and its tag was deleted: the ledger still has it
        repository=pushed,
        commit="a" * 40,
        tag="submission-20",
        reserved_by=bob,
        reserved_at=pushed.created_at - timedelta(days=2),
    )
    assert "git tag submission-21\n" in start_of(client, "model")


def test_no_tag_is_proposed_while_the_tags_cannot_be_read(
    client: Client, pushed: Repository, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(bob)
    monkeypatch.setattr(recent_commits, "READING_SECONDS", 0.0)
    assert "git tag submission-N\n" in start_of(client, "model")
    assert "Replace N by a number that no tag has" in client.get("/teams/owls").content.decode()


def test_the_home_page_names_commands_that_exist(client: Client, competition: Competition) -> None:
    page = client.get("/").content.decode()
    assert f"gauntlet new untargeted my-attack\ncd my-attack\n{CHECK}" in page
    assert 'href="/docs#gauntlet"' in page
    assert ".venv" not in page, "a reader of the page has no checkout of this site"


def test_an_open_competition_has_its_own_commands_and_leads_to_tutorials_and_images(
    client: Client, competition: Competition, sample_sets: dict[str, SampleSet]
) -> None:
    section = client.get("/competitions/digits").content.decode().split('id="get-started"')[1].split("</section>")[0]
    assert f'<code id="start">gauntlet new model my-model\ncd my-model\n{CHECK}</code>' in section
    for address in ("/docs#gauntlet", "/docs/first-model", "/competitions/digits/development.zip"):
        assert f'href="{address}"' in section
    Competition.objects.update(ends_at=clock.now())
    assert "get-started" not in client.get("/competitions/digits").content.decode()


@pytest.mark.parametrize(
    ("source", "commands"),
    [
        (
            "https://git.example/gauntlet.git",
            "git clone https://git.example/gauntlet.git gauntlet\nmake -C gauntlet setup\n"
            "export PATH=&quot;$PWD/gauntlet/.venv/bin:$PATH&quot;",
        ),
        ("/home/me/gauntlet", "export PATH=&quot;/home/me/gauntlet/.venv/bin:$PATH&quot;"),
        ("", "Its organisers say where that is"),
    ],
)
def test_the_docs_say_how_to_get_the_command(
    client: Client, competition: Competition, settings: Any, source: str, commands: str
) -> None:
    settings.SOURCE_ADDRESS = source
    page = client.get("/docs").content.decode()
    assert commands in page
    assert CHECK in page


def test_a_commit_that_is_a_submission_is_not_offered_again(client: Client, pushed: Repository, bob: User) -> None:
    client.force_login(bob)
    page = client.get("/teams/owls?track=model").content.decode()
    assert "Submit the selected commit" in page
    commit = recent_commits.recent_of(pushed, 1).commits[0].sha
    submission = Submission.objects.create(
        repository=pushed, commit=commit, tag="submission-1", submitted_by=bob, received_at=clock.now(),
        title="A first look", licence="MIT", state=Submission.State.READY, state_since=clock.now(),
    )  # fmt: skip
    page = client.get("/teams/owls?track=model").content.decode()
    assert f'value="{commit}" disabled' in page
    assert "submitted as submission-1" in page
    assert "Submit the selected commit" not in page
    Submission.objects.filter(pk=submission.pk).update(state=Submission.State.WITHDRAWN)
    assert "Submit the selected commit" in client.get("/teams/owls?track=model").content.decode()
