"""The builder of submissions of 2018: what it replaces, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evaluation.builder.manifest import read_manifest
from evaluation.domain.errors import BuildRefusal, HostRefusal
from evaluation.domain.players import TrackName
from evaluation.formats.query.submissions_2018.builders import LegacyBuilder, write_image_source
from evaluation.formats.query.submissions_2018.manifest_2018 import is_2018, read_submission
from evaluation.formats.query.submissions_2018.plan_2018 import plan_line, read_plan
from evaluation.formats.query.submissions_2018.requirements_2018 import Replacement
from evaluation.legacy.environment import LegacyEnvironment
from tests.evaluation.legacy.conftest import REPOSITORIES, NoBuilder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of a look-alike, to break."""
    folder = tmp_path / "repository"
    shutil.copytree(REPOSITORIES / "plain-attack", folder)
    return folder


def log_of(source: Path, environment: LegacyEnvironment) -> list[str]:
    lines: list[str] = []
    LegacyBuilder(NoBuilder(), environment).build(source, on_log=lines.append)
    return lines


def test_a_player_is_built_and_the_log_has_a_line_for_each_replacement(
    source: Path, environment: LegacyEnvironment
) -> None:
    lines: list[str] = []
    player = LegacyBuilder(NoBuilder(), environment).build(source, on_log=lines.append)
    assert player.track is TrackName.UNTARGETED
    assert player.command[-1] == "attack"
    assert environment.directory in player.readable
    assert [line.partition(" is replaced by ")[0] for line in lines[:4]] == [
        "requirements.txt, line 1: numpy==1.14.2",
        "requirements.txt, line 2: git+https://github.com/bethgelab/adversarial-vision-challenge",
        "requirements.txt, line 3: randomgen==1.14.4",
        "apt.txt, line 1: git",
    ]
    assert "licence unknown, so it is not eligible for a final" in lines[4]


def test_an_answer_to_a_push_counts_many_replacements() -> None:
    few = [Replacement("requirements.txt, line 1", "git", "nothing", "why")]
    assert plan_line([]) == "as it is, in the legacy environment; nothing is replaced"
    assert plan_line(few) == "as it is, in the legacy environment; git is replaced by nothing"
    assert "; 5 requirements are replaced" in plan_line(few * 5)


def test_foolbox_stands_in_for_all_of_its_first_version(
    source: Path, environment: LegacyEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(environment.versions, "foolbox", "1.2.0")
    for line in ("foolbox==1.1.0", "foolbox==1.3.2"):
        (source / "requirements.txt").write_text(line)
        assert log_of(source, environment)[0].startswith(
            f"requirements.txt, line 1: {line} is replaced by foolbox 1.2.0"
        )


def test_the_digest_follows_from_the_files(source: Path, environment: LegacyEnvironment) -> None:
    builder = LegacyBuilder(NoBuilder(), environment)
    before = builder.build(source, on_log=print).digest
    assert builder.build(source, on_log=print).digest == before
    (source / "main.py").write_text("import os\n")
    assert builder.build(source, on_log=print).digest != before


def test_it_needs_a_legacy_environment(source: Path) -> None:
    with pytest.raises(HostRefusal, match="needs the legacy environment"):
        LegacyBuilder(NoBuilder(), None).build(source, on_log=print)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("requirements.txt", "tensorflow-gpu===1.8.0", "line 1: 'tensorflow-gpu===1.8.0' needs TensorFlow 1"),
        ("requirements.txt", "numpy\ntensorpack==0.8.9", "line 2: 'tensorpack==0.8.9' is not in the legacy"),
        ("requirements.txt", "numpy>=99", "'numpy>=99' is newer than the legacy environment's numpy"),
        ("requirements.txt", "foolbox>=2.0.0", "'foolbox>=2.0.0' is newer than the legacy environment's foolbox"),
        ("requirements.txt", "git+https://github.com/someone/else", "is no package name, and nothing here stands"),
        ("requirements.txt", "-r others.txt", "is no package name, and nothing here stands"),
        ("requirements.txt", "foolbox @ git+https://github.com/bethgelab/foolbox", "is no package name"),
        ("apt.txt", "git\nlibsm6", "apt.txt, line 2: the system package 'libsm6' is not part"),
        ("environment.yml", "name: x", "requirements.txt and apt.txt alone"),
        ("requirements.txt", "numpy; os_name ~= 'x'", "line 1: neither its version nor its marker can be read"),
        ("requirements.txt", f"numpy=={'9' * 4400}", "line 1: neither its version nor its marker can be read"),
        (".gauntlet-2018", "x", ".gauntlet-2018: the arena's modules have this name"),
        ("run.sh", "python3 main.py\r\n", "line ends of Windows"),
        ("run.sh", "python3 -u ./start.py", "starts 'start.py', which is not in the repository"),
        ("run.sh", "cd resnet-base\npython3 main.py", "goes to the folder 'resnet-base'"),
        ("main.py", "print 'Python 2'", "main.py, line 1: not Python 3"),
        ("main.py", "# coding: hex\n00", "main.py, line 1: not Python 3: 'hex' is not a text encoding"),
        ("main.py", "import os\nimport tensorflow as tf", "main.py, line 2: imports 'tensorflow'"),
        ("main.py", f"import {'a' * 300}", "main.py, line 1: imports 'aaa"),
        ("weights.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0", "weights.bin: a Git LFS pointer"),
        ("model.ckpt-1.index", "x", "model.ckpt-1.index: the weights beside it"),
    ],
)
def test_it_rejects_what_cannot_run_in_one_sentence(
    source: Path,
    environment: LegacyEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str,
    problem: str,
) -> None:
    monkeypatch.setitem(environment.versions, "foolbox", "1.2.0")
    (source / name).write_text(content)
    with pytest.raises(BuildRefusal) as refused:
        read_plan(source, environment)
    assert problem in refused.value.problem
    assert "\n" not in refused.value.problem


def test_it_rejects_a_repository_without_run_sh(source: Path, environment: LegacyEnvironment) -> None:
    (source / "run.sh").unlink()
    with pytest.raises(BuildRefusal, match=r"run\.sh is missing"):
        LegacyBuilder(NoBuilder(), environment).build(source, on_log=print)


@pytest.mark.parametrize("target", ["nothing", "folder"])
def test_run_sh_is_a_file(source: Path, environment: LegacyEnvironment, target: str) -> None:
    (source / "folder").mkdir()
    (source / "run.sh").unlink()
    (source / "run.sh").symlink_to(target)
    with pytest.raises(BuildRefusal, match=r"run\.sh is missing"):
        read_plan(source, environment)


def test_a_broken_link_named_as_the_manifest_is_a_submission_of_today(source: Path) -> None:
    """Otherwise the manifest of an image would be written through it."""
    assert is_2018(source)
    (source / "submission.toml").symlink_to("nowhere/at-all")
    assert not is_2018(source)


def test_the_source_of_an_image_is_a_submission_of_today(source: Path, tmp_path: Path) -> None:
    (source / "net").mkdir()
    (source / "net" / "requirements.txt").touch()
    write_image_source(source, read_submission(source), tmp_path / "image")
    manifest = read_manifest(tmp_path / "image")
    assert (manifest.track, manifest.title, manifest.licence) == (
        TrackName.UNTARGETED,
        "plain-attack",
        "LicenseRef-scancode-unknown",
    )
    assert (tmp_path / "image" / manifest.run[2]).is_file()
    assert (tmp_path / "image" / "net" / "requirements.txt").exists()
    assert not (tmp_path / "image" / "requirements.txt").exists()


def test_modules_of_the_repository_may_import_each_other(source: Path, environment: LegacyEnvironment) -> None:
    (source / "net").mkdir()
    (source / "net" / "__init__.py").touch()
    (source / "net" / "layers.py").write_text("import numpy\nfrom . import other\n")
    (source / "main.py").write_text(
        "from net.layers import numpy\ntry:\n    import cupy\nexcept ImportError:\n    pass\n"
    )
    assert log_of(source, environment)


@pytest.mark.parametrize("start", ["import a", "import os, a", "from a", "from .a", "import \\\n a"])
def test_a_very_long_imported_name_does_not_reach_the_parser(
    source: Path, environment: LegacyEnvironment, start: str
) -> None:
    (source / "main.py").write_text(f"{start}{'.a' * 1000}" + (" import b" if start.startswith("from") else ""))
    with pytest.raises(BuildRefusal, match="an imported name has more than 100 parts"):
        log_of(source, environment)


def test_a_folder_or_nothing_in_the_place_of_a_script_is_left_to_the_run(
    source: Path, environment: LegacyEnvironment
) -> None:
    (source / "main.py").unlink()
    (source / "main.py").symlink_to("nothing")
    assert log_of(source, environment)


def test_each_import_is_looked_up_once(source: Path, environment: LegacyEnvironment) -> None:
    """Otherwise one push could keep the web process busy for hours."""
    (source / "main.py").write_text("import numpy\n" * 3000 + "import gone")
    (source / "run.sh").write_text("python3 main.py\n" * 3000)
    asked: list[str] = []

    class Counted(LegacyEnvironment):
        def provides(self, module: str) -> bool:
            asked.append(module)
            return super().provides(module)

    with pytest.raises(BuildRefusal, match="line 3001: imports 'gone'"):
        read_plan(source, Counted(environment.directory))
    assert asked == ["numpy", "gone"]
