"""The legacy environment: a Python with packages of an age that submissions of 2017 and 2018 can use."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.utils import canonicalize_name

from evaluation.domain.errors import Fault, HostRefusal

VARIABLE = "GAUNTLET_LEGACY_ENVIRONMENT"
"""The environment variable with the directory of the legacy environment."""

IMAGE_VARIABLE = "GAUNTLET_LEGACY_IMAGE"
"""The environment variable with the name of the image that has its packages, for the Docker sandbox."""

DEFAULT_IMAGE = "gauntlet-legacy:latest"

PACKAGES = (
    "numpy==1.26.4", "scipy==1.13.1", "pillow<12", "pyyaml>=6,<7", "requests", "six", "tqdm", "torch==2.13.0",
    "pandas==2.3.3", "scikit-learn==1.5.2", "matplotlib==3.9.4", "scikit-image==0.25.2",
    "opencv-python-headless==4.11.0.86", "fire==0.7.0", "torchvision==0.28.0", "foolbox==1.2.0",
)  # fmt: skip
"""What it holds. The last two are installed without their dependencies, which are all here."""

TENSORFLOW_PACKAGES = ("tensorflow-cpu==2.15.1", "tf-slim==1.1.0", "tf-keras==2.15.1", "cleverhans==2.1.0")
"""What the operator's option adds. The last one is installed without its dependencies, which are those of its tests."""

CLEVERHANS_3 = "cleverhans==3.0.1"
"""What is beside them, in the folder `cleverhans-3`: `player/` gives it to programs that pin version 3."""

# torchvision would replace a CPU build of torch by one for CUDA
_WITHOUT_DEPENDENCIES = ("foolbox", "torchvision", "cleverhans")
_PYTHON = (3, 11)

Say = Callable[[str], None]


@dataclass(frozen=True)
class LegacyEnvironment:
    """A virtual environment, known by its directory."""

    directory: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.directory / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        """The directory of its packages. Raise `HostRefusal` if there is none."""
        found = sorted(self.directory.glob("lib/python3.*/site-packages"))
        if not found or not self.python.exists():
            raise HostRefusal(
                f"{self.directory} is not a Python environment",
                fix=f"run `gauntlet legacy-environment {self.directory}`, or correct {VARIABLE}",
            )
        return found[0]

    @cached_property
    def versions(self) -> dict[str, str]:
        """The version of each package in it, by normalised name."""
        found = importlib.metadata.distributions(path=[str(self.site_packages)])
        return {canonicalize_name(each.metadata["Name"]): each.version for each in found}

    def provides(self, module: str) -> bool:
        """Return True if the top-level module can be imported there."""
        if module in sys.stdlib_module_names:
            return True
        return module in self._modules

    @cached_property
    def _modules(self) -> frozenset[str]:
        """The names of its packages and modules: a name of a stranger never becomes a path."""
        found = set()
        for path in self.site_packages.iterdir():
            if path.is_dir():
                found.add(path.name)
            elif path.suffix in (".py", ".so"):
                found.add(path.name.partition(".")[0])
        return frozenset(found)

    @property
    def cleverhans_3(self) -> Path:
        """The directory that has cleverhans 3 alone; it may be absent."""
        return self.site_packages / "cleverhans-3"

    def readable(self) -> tuple[Path, ...]:
        """Return the directories that a program of this environment reads: its own, and that of its Python."""
        base = self.python.resolve().parent.parent
        return (self.directory,) if base.is_relative_to("/usr") else (self.directory, base)

    def digest(self) -> str:
        """Return a hash (hexadecimal SHA-256) of the packages and their versions."""
        found = [f"{name}=={version}" for name, version in sorted(self.versions.items())]
        lines = "\n".join([*found, *([CLEVERHANS_3] if self.cleverhans_3.is_dir() else [])])
        return hashlib.sha256(lines.encode()).hexdigest()


def legacy_environment(environment: Mapping[str, str] = os.environ) -> LegacyEnvironment | None:
    """Return the environment that $GAUNTLET_LEGACY_ENVIRONMENT names; None if it is unset. Raise `HostRefusal`."""
    named = environment.get(VARIABLE, "").strip()
    if not named:
        return None
    found = LegacyEnvironment(Path(named).absolute())
    if not found.site_packages.is_dir():
        raise HostRefusal(f"{VARIABLE}={named!r} is not a directory", fix="run `gauntlet legacy-environment DIR`")
    return found


def legacy_image() -> str:
    """Return the name of the image that submissions of 2017 and 2018 run in with the Docker sandbox."""
    return os.environ.get(IMAGE_VARIABLE, "").strip() or DEFAULT_IMAGE


def make_environment(directory: Path, *, tensorflow: bool, say: Say) -> LegacyEnvironment:
    """Make the environment in `directory`, or add to it what it lacks. Raise `Fault` with pip's last line."""
    made = LegacyEnvironment(directory.absolute())
    if not made.python.exists():
        python = _interpreter()
        say(f"making {directory} with {python}")
        _run([python, "-m", "venv", str(directory)])
    packages = [*PACKAGES, *(TENSORFLOW_PACKAGES if tensorflow else ())]
    alone = [package for package in packages if package.startswith(_WITHOUT_DEPENDENCIES)]
    together = [package for package in packages if package not in alone]
    for options, names in (((), together), (("--no-deps",), alone)):
        say(f"installing {', '.join(names)}")
        _run([str(made.python), "-m", "pip", "install", "--quiet", *options, *names])
    if tensorflow and not made.cleverhans_3.is_dir():
        say(f"installing {CLEVERHANS_3} beside them")
        beside = ("--no-deps", "--target", str(made.cleverhans_3), CLEVERHANS_3)
        _run([str(made.python), "-m", "pip", "install", "--quiet", *beside])
    return made


def _interpreter() -> str:
    """Return a Python of the version that the packages have wheels for. Raise `HostRefusal` if there is none."""
    name = "python{}.{}".format(*_PYTHON)
    found = sys.executable if sys.version_info[:2] == _PYTHON else shutil.which(name)
    if found is None:
        raise HostRefusal(f"the legacy environment needs {name}, which this host does not have", fix=f"install {name}")
    return found


def _run(command: list[str]) -> None:
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    if process.returncode:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        raise Fault(f"`{' '.join(command)}` failed: {lines[-1] if lines else process.returncode}")
