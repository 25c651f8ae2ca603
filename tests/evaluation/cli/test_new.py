"""`gauntlet new`: where a first submission may begin, what it is called, and what to type next."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.builder.manifest import read_manifest
from evaluation.formats.query.catalogue import find_baseline
from evaluation.formats.transfer.metadata import read_metadata


def git(folder: Path, *words: str) -> None:
    """Run git there, as nobody in particular."""
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A fresh clone of an empty repository: it holds `.git` alone."""
    folder = tmp_path / "owls-model"
    folder.mkdir()
    git(folder, "init", "--quiet")
    return folder


def commands(err: str) -> list[str]:
    """The lines of `err` that are meant to be typed."""
    return [line.strip() for line in err.splitlines() if line.startswith("  ")]


def test_a_submission_begins_in_a_fresh_clone_and_is_called_after_it(
    gauntlet: Callable[..., Any], clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)
    status, _, err = gauntlet("new", "model", ".")
    assert status == 0, err
    assert read_manifest(clone).title == "Owls model"
    assert (clone / "README.md").read_text().startswith("# Owls model\n")
    assert (clone / ".git").is_dir()
    (clone / ".venv").mkdir()
    (clone / ".venv" / "pyvenv.cfg").touch()
    git(clone, "check-ignore", ".venv/pyvenv.cfg")


def test_the_next_commands_lead_to_a_tagged_push(
    gauntlet: Callable[..., Any], clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)
    git(tmp_path, "init", "--quiet", "--bare", "server.git")
    git(clone, "remote", "add", "origin", str(tmp_path / "server.git"))
    told = commands(gauntlet("new", "untargeted", ".")[2])
    assert any(command.endswith("check .") for command in told)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ann")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ann@example.org")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Ann")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "ann@example.org")
    script = " && ".join(command for command in told if command.startswith("git "))
    done = subprocess.run(["bash", "-ec", script], cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tags = subprocess.run(["git", "tag"], cwd=tmp_path / "server.git", capture_output=True, text=True, check=True)
    assert tags.stdout.split() == ["submission-1"]


def test_the_next_commands_begin_a_repository_where_there_is_none(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    told = commands(gauntlet("new", "model", tmp_path / "my model")[2])
    assert told[0] == f"cd '{tmp_path / 'my model'}'"
    assert "git init" in told
    assert any(command.startswith("git remote add origin ") for command in told)


def test_the_proposed_tag_follows_the_highest_that_exists(gauntlet: Callable[..., Any], clone: Path) -> None:
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "empty")
    for tag in ("submission-1", "submission-11", "submission-web-40"):
        git(clone, "tag", tag)
    assert "git tag submission-12" in gauntlet("new", "model", clone)[2]


def test_a_title_can_be_given(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    title = 'Ann\'s "best" \\ attack, ä'
    assert gauntlet("new", "untargeted", tmp_path / "mine", "--title", title)[0] == 0
    assert read_manifest(tmp_path / "mine").title == title


@pytest.mark.parametrize("title", ["", "x" * 121, "two\nlines"])
def test_it_rejects_a_title_that_no_submission_may_have(
    gauntlet: Callable[..., Any], tmp_path: Path, title: str
) -> None:
    status, _, err = gauntlet("new", "model", tmp_path / "mine", "--title", title)
    assert status == 2
    assert "title" in err
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("track", ["model", "untargeted", "targeted", "attack", "targeted_attack", "defence"])
def test_it_begins_on_the_track_that_was_named(gauntlet: Callable[..., Any], tmp_path: Path, track: str) -> None:
    assert gauntlet("new", track, tmp_path / "mine")[0] == 0
    layout_of_2017 = (tmp_path / "mine" / "metadata.json").exists()
    manifest = read_metadata(tmp_path / "mine") if layout_of_2017 else read_manifest(tmp_path / "mine")
    assert (manifest.track, manifest.title) == (track, "Mine")
    readme = (tmp_path / "mine" / "README.md").read_text()
    assert "gauntlet check .\ngauntlet play " in readme
    assert readme.startswith("# Mine\n\nThis began as a copy of the bundled submission ")
    assert "\n## What was copied: " in readme
    assert ("--format transfer" in readme) == layout_of_2017


def test_it_copies_a_named_submission_of_2017(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    mine, title = tmp_path / "mine", 'Ann\'s "best", ä'
    assert gauntlet("new", "attack", mine, "--like", "fgsm", "--title", title)[0] == 0
    assert read_metadata(mine).title == title
    assert (mine / "plain.safetensors").is_file()
    assert gauntlet("new", "attack", tmp_path / "other", "--like", "fgsm", "--title", "x" * 121)[0] == 2
    status, _, err = gauntlet("new", "attack", tmp_path / "other", "--like", "boundary")
    assert status == 2
    assert "run `gauntlet new untargeted`" in err


def test_a_submission_of_2017_names_the_competition_in_its_commands(
    gauntlet: Callable[..., Any], tmp_path: Path
) -> None:
    address, mine = "https://arena.example/competitions/nips", tmp_path / "mine"
    status, _, err = gauntlet("new", "attack", mine, "--like", "fgsm", "--competition", address)
    assert status == 0, err
    command = f"check --competition {address} ."
    assert any(told.endswith(command) for told in commands(err))
    assert f"gauntlet {command}\n" in (mine / "README.md").read_text()
    assert address not in (mine / "metadata.json").read_text(), "its layout has no place for it"
    status, _, err = gauntlet("new", "attack", tmp_path / "other", "--competition", "rules.toml")
    assert (status, "gauntlet check --competition FILE DIR" in err) == (2, True)


@pytest.mark.parametrize(
    ("track", "name", "told"),
    [
        ("model", "adversarial-logit-pairing", "on digits (recipe adversarial, 80 epochs, seed 0). They label 99.8% of "
         "the training images and 99.5% of the validation images right."),
        ("model", "efficientnet-lite0", "on tiny-imagenet (recipe head, 60 iterations, seed 0). They label 99.3% of "),
        ("attack", "attack-network", "on digits (recipe attack-network, 60 epochs, seed 0). `training.json` has"),
    ],
)  # fmt: skip
def test_the_readme_says_how_the_weights_were_trained(
    gauntlet: Callable[..., Any], tmp_path: Path, track: str, name: str, told: str
) -> None:
    assert gauntlet("new", track, tmp_path / "mine", "--like", name)[0] == 0
    assert f"The weights were trained {told}" in (tmp_path / "mine" / "README.md").read_text()
    assert (tmp_path / "mine" / "training.json").is_file()


def test_it_rejects_a_bundled_submission_of_another_track(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = gauntlet("new", "targeted", tmp_path / "mine", "--like", "boundary")
    assert status == 2
    assert "untargeted" in err


@pytest.mark.parametrize("name", ["notes", "submission.toml", "metadata.json"])
def test_it_keeps_what_is_there(gauntlet: Callable[..., Any], clone: Path, name: str) -> None:
    (clone / name).write_text("mine")
    status, _, err = gauntlet("new", "model", clone)
    assert status == 2
    assert name in err
    assert {path.name for path in clone.iterdir()} == {".git", name}
    assert (clone / name).read_text() == "mine"


def test_it_says_which_directory_cannot_be_written(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    status, _, err = gauntlet("new", "model", tmp_path / "file" / "mine")
    assert (status, "Traceback" in err) == (2, False), err
    assert f"cannot write to {tmp_path / 'file' / 'mine'}" in err


def test_the_commands_of_the_readme_make_a_first_submission(root: Path, tmp_path: Path) -> None:
    readme = (root / "README.md").read_text().split("## Your first submission")[1]
    script = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)[0]
    git(tmp_path, "init", "--quiet", "--bare", "server.git")
    identity = {f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", script.replace("SITE/git/TEAM/model.git", str(tmp_path / "server.git"))],
        cwd=tmp_path,
        env=os.environ | identity | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tags = subprocess.run(["git", "tag"], cwd=tmp_path / "server.git", capture_output=True, text=True, check=True)
    assert tags.stdout.split() == ["submission-1"]


def test_a_targeted_attack_gets_start_images_of_another_data_set(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    status, _, err = gauntlet("new", "targeted", mine, "--like", "targeted-boundary", "--starts", "digits")
    assert status == 0, err
    assert "50 start images from digits" in err
    with np.load(mine / "starts.npz") as arrays:
        assert np.bincount(arrays["labels"]).tolist() == [5] * 10
    assert (mine / "starts.npz").read_bytes() != (
        find_baseline("targeted-boundary").repository() / "starts.npz"
    ).read_bytes()


def test_an_untargeted_attack_takes_no_start_images(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = gauntlet("new", "untargeted", tmp_path / "mine", "--starts", "digits")
    assert status == 2
    assert "gaussian-noise takes no start images" in err
    assert not (tmp_path / "mine").exists()
