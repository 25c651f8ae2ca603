"""Changes of modules when they are imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from evaluation.legacy.player_modules import SOURCE


def run(code: str, folder: Path) -> str:
    """Run code in a Python that starts as a player does, and return what it printed."""
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{SOURCE}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.strip()


def test_a_module_is_changed_when_it_is_imported_and_keeps_its_loader(tmp_path: Path) -> None:
    code = "import sys; before = 'numpy' in sys.modules; import numpy; print(before, numpy.int, numpy.__loader__.path)"
    before, _, name, path = run(code, tmp_path).split()
    assert (before, name) == ("False", "'int'>")
    assert path.endswith("numpy/__init__.py")


def test_a_module_that_is_gone_is_made(tmp_path: Path) -> None:
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").touch()
    assert run("from scipy.misc import imread, imresize; print(imread.__name__)", tmp_path) == "imread"


def test_a_missing_module_is_still_missing(tmp_path: Path) -> None:
    code = (
        "from legacy_compatibility.import_hook import ImportHook; hook = ImportHook(); hook.install()\n"
        "hook.after('no_such_module', print)\n"
        "try:\n    import no_such_module\nexcept ModuleNotFoundError as error:\n    print(error.name)"
    )
    assert run(code, tmp_path) == "no_such_module"


def test_randomgen_draws_float32(tmp_path: Path) -> None:
    code = (
        "import numpy as np, randomgen; draw = randomgen.RandomGenerator(randomgen.Xoroshiro128(seed=20));"
        "print(draw.standard_normal(size=3, dtype=np.float32).dtype, draw.randint(5, 6))"
    )
    assert run(code, tmp_path) == "float32 5"


def test_randomgen_without_a_seed_follows_numpy(tmp_path: Path) -> None:
    draw = "np.random.seed(3); print(randomgen.RandomGenerator().standard_normal())"
    first, again = run(f"import numpy as np, randomgen; {draw}; {draw}", tmp_path).split()
    assert first == again
