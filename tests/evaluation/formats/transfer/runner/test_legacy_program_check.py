"""What keeps a submission of 2017 from running, in one sentence, before anything is started."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from evaluation.domain.errors import BuildRefusal
from evaluation.formats.transfer.runner import legacy_program_check
from evaluation.formats.transfer.runner.legacy_program_check import check_program, check_request
from evaluation.legacy.environment import LegacyEnvironment

REPOSITORY = Path(__file__).resolve().parents[4] / "repos" / "nips2017" / "loads-a-network"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of a look-alike, to break."""
    shutil.copytree(REPOSITORY, tmp_path / "repository")
    return tmp_path / "repository"


def check_apart(source: Path) -> list[str]:
    """Return the answer of a process with limits."""
    return check_program(source, "run_defense.sh", LegacyEnvironment(Path(sys.prefix)))


def check(source: Path) -> list[str]:
    """Return the same answer, read in this process."""
    asked = {"source": str(source), "entry_point": "run_defense.sh", "environment": sys.prefix}
    lines: list[str] = check_request(asked, b"")[0]["lines"]
    return lines


def test_a_program_that_can_run_lists_the_packages_that_are_replaced(source: Path) -> None:
    assert check_apart(source) == check(source)
    assert [line.partition(" is ")[0] for line in check(source)] == [
        "defense.py, line 4: numpy",
        "defense.py, line 5: scipy",
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("run_defense.sh", "#!/bin/sh\npython gone.py", "run_defense.sh: starts 'gone.py', which is not in the"),
        ("run_defense.sh", "#!/bin/sh\ntime python gone.py", "run_defense.sh: starts 'gone.py'"),
        ("run_defense.sh", "#!/bin/sh\nA=1 CUDA_DEVICES= /usr/bin/python3 -u gone.py", "starts 'gone.py'"),
        ("defense.py", "import numpy\nfrom __future__ import division", "line 2: not Python 3: from __future__"),
        ("run_defense.sh", "#!/bin/sh\npython2 defense.py", "run_defense.sh: starts python2"),
        ("run_defense.sh", "#!/usr/bin/python2.7\nx", "run_defense.sh: starts python2"),
        ("run_defense.sh", "#!/usr/bin/env python\nprint 'x'", "run_defense.sh, line 2: not Python 3"),
        ("run_defense.sh", "#!/bin/sh\ncd model\npython defense.py", "goes to the folder 'model'"),
        ("defense.py", "print 'Python 2'", "defense.py, line 1: not Python 3"),
        ("defense.py", "x = y.cuda(async=True)", "defense.py, line 1: not Python 3"),
        ("defense.py", "if 1:\n\tx = 1\n  y = 2", "defense.py, line 3: not Python 3: unindent does not match"),
        ("defense.py", "import numpy\nimport chainer", "defense.py, line 2: imports 'chainer'"),
        ("defense.py", "import torch\ntorch.load('a.pth')", "line 2: loads 'a.pth', which is not in the repository"),
        (
            "defense.py",
            "import torch\nFILE = './b.pth'\ndef main():\n    with f:\n        n.load_state_dict(torch.load(FILE))",
            "line 5: loads './b.pth', which is not in the repository",
        ),
        ("defense.py", "import numpy\nsaver.restore(sess, 'v3.ckpt')", "line 2: loads 'v3.ckpt', which is not in"),
        ("weights.npy", "version https://git-lfs.github.com/spec/v1\noid sha256:0", "weights.npy: a Git LFS pointer"),
    ],
)
def test_it_rejects_what_cannot_run_in_one_sentence(source: Path, name: str, content: str, problem: str) -> None:
    (source / name).write_text(content)
    with pytest.raises(BuildRefusal) as refused:
        check(source)
    assert problem in refused.value.problem
    assert "\n" not in refused.value.problem


def test_it_rejects_an_option_with_weights_that_are_not_there(source: Path) -> None:
    (source / "weights.npy").unlink()
    with pytest.raises(BuildRefusal, match=r"run_defense\.sh: names the weights 'weights\.npy', which are not in the"):
        check(source)


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nif False:\n    torch.load('a.pth')",
        "import torch\ntry:\n    torch.load('a.pth')\nexcept IOError:\n    pass",
        "import torch\ndef train():\n    torch.load('a.pth')",
        "import torch\ntorch.load('/tmp/a.pth')\ntorch.load(path)\njson.load('a.json')",
    ],
    ids=["condition", "try", "function", "unknown"],
)
def test_weights_that_may_not_be_loaded_are_left_to_the_run(source: Path, code: str) -> None:
    (source / "defense.py").write_text(code)
    assert check(source)


def test_a_checkpoint_of_tensorflow_is_several_files(source: Path) -> None:
    script = (source / "run_defense.sh").read_text()
    (source / "run_defense.sh").write_text(script.replace("weights.npy", "inception_v3.ckpt"))
    for ending in ("index", "data-00000-of-00001"):
        (source / f"inception_v3.ckpt.{ending}").touch()
    assert check(source)


def test_a_script_that_makes_files_may_make_its_weights(source: Path) -> None:
    (source / "weights.npy").rename(source / "packed.npy")
    script = (source / "run_defense.sh").read_text()
    (source / "run_defense.sh").write_text(script.replace("INPUT_DIR=$1", "cp packed.npy weights.npy\nINPUT_DIR=$1"))
    assert check(source)


def test_scripts_and_modules_may_mix_tabs_and_spaces(source: Path) -> None:
    (source / "net.py").write_text("if 1:\n    x = 1\n    if x:\n\ty = 2\n")
    (source / "defense.py").write_text("import numpy\nimport net\nif 1:\n    x = 1\n    if x:\n\ty = 2\n")
    assert check(source)


def test_modules_of_python_2_are_there(source: Path) -> None:
    (source / "defense.py").write_text("import Queue, StringIO\nfrom cStringIO import StringIO as File\n")
    assert check(source) == []


def test_modules_on_a_changed_path_are_left_to_the_run(source: Path) -> None:
    (source / "slim" / "nets").mkdir(parents=True)
    (source / "slim" / "nets" / "vgg.py").touch()
    (source / "defense.py").write_text("import sys\nimport nets.vgg\n")
    with pytest.raises(BuildRefusal, match=r"defense\.py, line 2: imports 'nets'"):
        check(source)
    (source / "defense.py").write_text("import sys\nsys.path.append('slim')\nimport nets.vgg\n")
    assert check(source) == []
    (source / "defense.py").write_text("import sys\nsys.path.append('slim')\nimport datasets\n")
    with pytest.raises(BuildRefusal, match=r"defense\.py, line 3: imports 'datasets'"):
        check(source)


def test_a_licence_in_a_string_may_stand_before_the_docstring(source: Path) -> None:
    (source / "defense.py").write_text('"""MIT"""\n""""A defence."""\nfrom __future__ import division\nimport Queue\n')
    assert check(source) == []


def test_a_slow_file_is_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy_program_check, "_SECONDS", 0)  # the kernel rounds up to a second
    (source / "defense.py").write_text('f"' + "{x}" * 87_000 + '"')
    with pytest.raises(BuildRefusal, match="the program: reading it takes more than 0 s of processor time"):
        check_apart(source)


def test_a_module_that_is_started_and_its_relative_imports_are_followed(source: Path) -> None:
    (source / "run_defense.sh").write_text("#!/bin/sh\npython -u -m package.main --input_dir=$1\n")
    (source / "package" / "nets").mkdir(parents=True)
    for name, content in {
        "__init__.py": "", "main.py": "from .nets import inception", "nets/__init__.py": "",
        "nets/inception.py": "from .. import blocks", "blocks.py": "import numpy\nimport chainer",
    }.items():  # fmt: skip
        (source / "package" / name).write_text(content)
    with pytest.raises(BuildRefusal, match=r"package/blocks.py, line 2: imports 'chainer'"):
        check(source)


def test_a_shell_script_that_is_started_is_read_too(source: Path) -> None:
    (source / "run.sh").write_text("#!/bin/sh\npython defense.py --checkpoint_path=net.ckpt\nsh run.sh\n")
    (source / "defense.py").write_text("import chainer")
    for line in ("sh ./run.sh $1 $2", "exec ./run.sh"):
        (source / "run_defense.sh").write_text(f"#!/bin/bash\n{line}\n")
        with pytest.raises(BuildRefusal, match=r"defense.py, line 1: imports 'chainer'"):
            check(source)
    (source / "defense.py").write_text("saver.restore(sess, FLAGS.checkpoint_path)")
    with pytest.raises(BuildRefusal, match=r"run.sh: names the weights 'net.ckpt'"):
        check(source)


@pytest.mark.parametrize("target", ["folder", "gone.sh"])
def test_a_link_that_is_no_script_is_not_read(source: Path, target: str) -> None:
    (source / "folder").mkdir()
    (source / "run.sh").symlink_to(target)
    (source / "run_defense.sh").write_text("#!/bin/sh\nsh run.sh\npython defense.py\n")
    assert len(check(source)) == 2


def test_of_a_chain_of_shell_scripts_the_first_hundred_are_read(source: Path) -> None:
    for number in range(200):
        (source / f"{number}.sh").write_text(f"sh {number + 1}.sh")
    (source / "200.sh").write_text("python2 defense.py")
    (source / "run_defense.sh").write_text("#!/bin/sh\nsh 0.sh\npython defense.py\n")
    assert len(check(source)) == 2


def test_it_says_where_it_recognises_no_script(source: Path) -> None:
    (source / "run_defense.sh").write_text('#!/bin/sh\n$RUN "$1"\n')
    assert check(source) == [
        "run_defense.sh: no Python script is recognised in it, so its program is first seen when it runs"
    ]
