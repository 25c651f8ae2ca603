"""The distribution `gauntlet-sdk`: what pip installs from `evaluation/sdk` works by itself, beside numpy alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import evaluation
from gauntlet import frames

PLAYER = """
from gauntlet import serve_model
serve_model(lambda images: images.reshape(len(images), -1).max(axis=1))
"""

IMPORTS = """
import importlib.util, json, sys
import gauntlet
from gauntlet import BudgetExhausted, serve_attack, serve_model
print(json.dumps({
    "file": gauntlet.__file__,
    "engine": importlib.util.find_spec("evaluation") is not None,
    "packages": sorted({name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)),
}))
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment into which pip installed the SDK."""

    python: Path
    packages: Path
    variables: dict[str, str]

    @property
    def sdk(self) -> Distribution:
        """The one distribution that it holds."""
        (installed,) = distributions(path=[str(self.packages)])
        return installed

    def run(self, source: str) -> str:
        """What a program of this environment prints, started in a directory without modules."""
        command = [str(self.python), "-c", source]
        return subprocess.run(
            command, cwd=self.python.parent, env=self.variables, capture_output=True, text=True, check=True, timeout=60
        ).stdout


def pip(*words: str) -> None:
    """Run this interpreter's pip without a network."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def environment(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh environment with the SDK, built here and installed by pip, and a path to this one's numpy."""
    top = tmp_path_factory.mktemp("environment")
    offline = ("--no-deps", "--no-index")
    pip("wheel", *offline, "--no-build-isolation", "--wheel-dir", str(top / "wheels"), str(root / "evaluation" / "sdk"))
    venv.create(top / "venv", symlinks=True)
    python = top / "venv" / "bin" / "python"
    pip("--python", str(python), "install", *offline, *map(str, (top / "wheels").iterdir()))
    (top / "numpy").mkdir()
    for part in Path(np.__file__).parent.parent.glob("numpy*"):
        (top / "numpy" / part.name).symlink_to(part)
    (packages,) = (top / "venv" / "lib").glob("python*/site-packages")
    return Environment(python, packages, {"PATH": os.defpath, "PYTHONPATH": str(top / "numpy")})


def test_the_installed_sdk_is_imported_without_the_engine_and_its_packages(environment: Environment) -> None:
    seen = json.loads(environment.run(IMPORTS))
    assert Path(seen["file"]) == environment.packages / "gauntlet" / "__init__.py"
    assert not seen["engine"]
    assert {"gauntlet", "numpy"} <= set(seen["packages"])
    assert not {"torch", "foolbox", "docker", "rich"} & set(seen["packages"])


def test_it_serves_a_model(environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind("referee.sock")
        listening.listen(1)
        listening.settimeout(30.0)
        variables = {**environment.variables, "GAUNTLET_SOCKET": "referee.sock"}
        player = subprocess.Popen([str(environment.python), "-c", PLAYER], env=variables)
        try:
            connected, _ = listening.accept()
            with connected:
                assert converse(connected) == b"\x07\x00\x02\x00"
            assert player.wait(timeout=30) == 0
        finally:
            player.kill()
            player.wait()


def converse(connected: socket.socket) -> bytes:
    """HELLO, WELCOME, one PREDICT of two images of one pixel, BYE; the payload of LABELS."""
    connected.settimeout(30.0)
    assert frames.HEADER.unpack_from(connected.recv(64)) == (8, frames.HELLO, 0, 0)
    welcome = frames.WELCOME_PAYLOAD.pack(1, frames.ROLE_MODEL, 1, 1, 3, 200, 64, 0, 0)
    connected.sendall(frames.HEADER.pack(len(welcome), frames.WELCOME, 0, 0) + welcome)
    connected.sendall(frames.HEADER.pack(6, frames.PREDICT, 2, 1) + bytes([1, 7, 3, 0, 2, 1]))
    reply = connected.recv(64)
    connected.sendall(frames.HEADER.pack(0, frames.BYE, 0, 0))
    assert frames.HEADER.unpack_from(reply) == (4, frames.LABELS, 2, 1)
    return reply[frames.HEADER.size :]


def test_it_installs_one_package_and_nothing_beside_it(environment: Environment) -> None:
    tops = {file.parts[0] for file in environment.sdk.files or []}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gauntlet"}


def test_it_asks_for_numpy_and_python_3_8_alone(environment: Environment) -> None:
    needs = [Requirement(line) for line in environment.sdk.requires or []]
    assert environment.sdk.name == "gauntlet-sdk"
    assert [need.name for need in needs if need.marker is None] == ["numpy"]
    assert all("extra" in str(need.marker) for need in needs if need.marker is not None)
    assert SpecifierSet(environment.sdk.metadata["Requires-Python"]) == SpecifierSet(">=3.8")


def test_it_has_the_version_of_the_engine(environment: Environment) -> None:
    assert environment.sdk.version == evaluation.__version__
