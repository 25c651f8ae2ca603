"""A submission on the command line: a directory, or the name of a bundled one."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from evaluation.builder.docker_build_settings import CacheLimits
from evaluation.builder.installed_layer_cache import InstalledLayerCache
from evaluation.cli.main import parser
from evaluation.cli.options import installed_layers, submission
from evaluation.formats.query.catalogue import find_baseline

PLAIN = find_baseline("plain-resnet")


def test_a_submission_is_a_directory_or_the_name_of_a_bundled_one(tmp_path: Path) -> None:
    assert submission(str(tmp_path)) == tmp_path
    assert submission("plain-resnet") == PLAIN.repository()


def test_a_directory_comes_before_a_bundled_one_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain-resnet").mkdir()
    assert submission("plain-resnet") == Path("plain-resnet")


def test_a_folder_of_the_catalogue_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert submission(str(PLAIN.source)) == PLAIN.repository()
    monkeypatch.chdir(PLAIN.source.parent)
    assert submission("plain-resnet") == submission("./plain-resnet/") == PLAIN.repository()


def test_it_refuses_what_is_neither() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="nowhere is not a directory, and no bundled"):
        submission("nowhere")
    with pytest.raises(argparse.ArgumentTypeError, match=r"this name; did you mean plain-resnet\?"):
        submission("plain-resnt")


def test_the_nearest_choice_is_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    for words, near in ((["chek", "."], "check"), (["new", "untargetd", "mine"], "untargeted")):
        with pytest.raises(SystemExit):
            parser().parse_args(words)
        assert capsys.readouterr().err.endswith(f"did you mean '{near}'?\n")


def test_a_subcommand_is_parsed_alone_as_among_all(capsys: pytest.CaptureFixture[str]) -> None:
    def help_of(top: argparse.ArgumentParser, word: str) -> str:
        with pytest.raises(SystemExit):
            top.parse_args([word, "--help"])
        return capsys.readouterr().out

    every = parser()
    assert not [word for word in commands_in(every) if help_of(parser(word), word) != help_of(every, word)]
    assert commands_in(parser("logout")) == ["login", "logout", "whoami"], "nothing is imported for another"


def commands_in(top: argparse.ArgumentParser) -> list[str]:
    """The subcommands that a parser takes."""
    (subcommands,) = (each for each in top._actions if isinstance(each, argparse._SubParsersAction))
    return list(subcommands.choices)


def test_builds_of_one_user_share_what_they_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("GAUNTLET_BUILD_CACHE_DAYS", "2")
    cache = installed_layers()

    assert cache == InstalledLayerCache(tmp_path / "gauntlet" / "installed-layers", "local", CacheLimits(days=2))
    monkeypatch.setenv("GAUNTLET_BUILD_CACHE_DAYS", "0")
    assert installed_layers() is None
