"""Short, plain files of strangers are parsed without a process of their own, and cost little whatever they hold."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from evaluation.builder import manifest
from evaluation.builder.build_description import plan_build, plan_within_limits
from evaluation.builder.build_pack_detection import CONFIGURATION_FILES
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.in_place_builder import count_met_requirements
from evaluation.builder.requirements_reader import are_plain
from evaluation.builder.spdx import is_identifier, normal_licence
from evaluation.domain.errors import Refusal
from evaluation.formats.transfer import metadata

HEAD = '[submission]\ntrack = "model"\nrun = "python main.py"\n'
PLAIN = HEAD + 'title = "Ein schönes Modell"  # with a comment\r\nlicence = "MIT"\ngpu = false\n'
MOST = 4 << 10
VERSION = ".".join(6 * ["99999999"])


def filled(start: str, unit: str) -> str:
    """Repeat `unit` after `start` as often as a short file can hold."""
    return start + unit * ((MOST - len(start.encode())) // len(unit.encode()))


def with_text(key: str, unit: str) -> str:
    text = filled("", unit)[: MOST - len(PLAIN)]
    return PLAIN.replace("python main.py" if key == "run" else "Ein schönes Modell", text)


HOSTILE_MANIFESTS = {
    "a long comment": filled(PLAIN + "#", "x"),
    "comments": filled(PLAIN, "#\n"),
    "empty lines": filled(PLAIN, "\n"),
    "spaces": filled(PLAIN, " "),
    "keys": PLAIN
    + "".join(f"{first}{second}=true\n" for first in "abcdefghijklmnopq" for second in "abcdefghijklmnopq"),
    "tables": filled("", "[submission]\n"),
    "a long title": with_text("title", "title "),
    "a title of keys": with_text("title", "title ="),
    "words to run": with_text("run", "a "),
    "a long word to run": with_text("run", "a"),
    "quotes to run": with_text("run", "'a'"),
    "open quotes to run": PLAIN.replace("python main.py", "'" + "a" * (MOST - len(PLAIN))),
    "a long track": PLAIN.replace('"model"', f'"{"m" * (MOST - len(PLAIN))}"'),
}
HOSTILE_REQUIREMENTS = {
    "versions": f"numpy!={VERSION}, !={VERSION}, !={VERSION}, !={VERSION}\n" * 16,
    "names": ("a" * 64 + "\n") * 32,
    "dots": "".join(f"a{'.' * 60}{number:02}\n" for number in range(32)),
    "comments": filled("", "#\n"),
    "a long comment": filled("", "#"),
    "spaces": filled("", " "),
    "comments in comments": (f"numpy{' #' * 60}\n") * 32,
}
HOSTILE_JSON = {
    "depth": b"[" * MOST,
    "depth of objects": b'{"a":' * (MOST // 5),
    "digits": b"9" * MOST,
    "a fraction": b"0." + b"9" * (MOST - 2),
    "an exponent": b"1e" + b"9" * (MOST - 2),
    "objects": b"[" + b"{}," * 1364,
    "escapes": b'"' + rb"\u0041" * 682,
    "spaces": b" " * MOST,
}


@pytest.fixture
def _no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process to parse in cannot be started."""
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    manifest.parse_within_limits.cache_clear()
    metadata.parse_within_limits.cache_clear()


def cost(parse: Callable[[], object]) -> tuple[float, int]:
    """Return seconds of processor time, the least of several times, and bytes of memory at the peak."""
    seconds = []
    for _ in range(9):
        begun = time.thread_time()
        with suppress(Refusal):
            parse()
        seconds.append(time.thread_time() - begun)
    tracemalloc.start()
    try:
        with suppress(Refusal):
            parse()
        return min(seconds), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("_no_process")
def test_a_plain_manifest_needs_no_process() -> None:
    assert manifest.parse_within_limits(PLAIN.encode()).title == "Ein schönes Modell"


@pytest.mark.usefixtures("_no_process")
def test_the_bundled_submissions_need_no_process(root: Path) -> None:
    found = sorted((root / "evaluation" / "baselines").glob("*/submission.toml"))
    assert found
    for path in found:
        assert manifest.read_manifest(path.parent) == manifest.parse_manifest(path.read_bytes())
        assert plan_within_limits("docker", path.parent).startswith("lean pack, Python 3.11, ")


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize("content", HOSTILE_MANIFESTS.values(), ids=HOSTILE_MANIFESTS)
def test_a_plain_manifest_costs_little(content: str) -> None:
    assert len(content.encode()) <= MOST
    plain, _ = cost(lambda: manifest.parse_within_limits.__wrapped__(PLAIN.encode()))
    seconds, memory = cost(lambda: manifest.parse_within_limits.__wrapped__(content.encode()))
    assert seconds < 100 * plain  # 25 times as long
    assert memory < 1 << 20


@pytest.mark.parametrize(
    "content",
    [
        filled(PLAIN, "\n") + "\n" * 16,
        PLAIN.replace("title", '"title"'),
        PLAIN.replace("title", "submission.title"),
        PLAIN + "a = [[]]\n",
        PLAIN + "a = {}\n",
        PLAIN + "a = 1\n",
        PLAIN + "a = 1979-05-27\n",
        PLAIN + "[build]\n",
        HEAD + 'title = "\\u0041"\nlicence = "MIT"\n',
        HEAD + 'title = """T"""\nlicence = "MIT"\n',
        HEAD + 'title = """\nT"""\nlicence = "MIT"\n',
        HEAD + 'title = "T"\nlicence = "MTI"\n',
        HEAD + 'title = "T"\nlicence = "MIT OR (((Apache-2.0)))"\n',
        HEAD + 'title = "T"\nlicence = true\n',
        "\ufeff" + PLAIN,
        PLAIN.replace("Modell", "\0"),
        PLAIN + "#\r#\n",
    ],
)
@pytest.mark.usefixtures("_no_process")
def test_any_other_manifest_needs_a_process(content: str) -> None:
    with pytest.raises(FileNotFoundError, match="no/such/program"):
        manifest.parse_within_limits(content.encode())


@pytest.mark.usefixtures("_no_process")
def test_a_manifest_that_is_no_text_needs_a_process() -> None:
    with pytest.raises(FileNotFoundError, match="no/such/program"):
        manifest.parse_within_limits(PLAIN.encode() + b"#\xff\n")


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize("content", HOSTILE_JSON.values(), ids=HOSTILE_JSON)
def test_a_short_manifest_of_2017_costs_little(content: bytes) -> None:
    assert len(content) <= MOST
    plain = b'{"type": "attack", "container": "some/image:1", "entry_point": "run.sh"}'
    least, _ = cost(lambda: metadata.parse_within_limits.__wrapped__(plain))
    seconds, memory = cost(lambda: metadata.parse_within_limits.__wrapped__(content))
    assert seconds < 50 * least  # 10 times as long
    assert memory < 1 << 20
    with pytest.raises(FileNotFoundError, match="no/such/program"):
        metadata.parse_within_limits(content + b" " * (MOST + 1 - len(content)))


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize("content", HOSTILE_REQUIREMENTS.values(), ids=HOSTILE_REQUIREMENTS)
def test_plain_requirements_cost_little(content: str, tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("numpy\n")
    plain, _ = cost(lambda: count_met_requirements(tmp_path))
    path.write_text(content)
    assert are_plain(path)
    seconds, memory = cost(lambda: (plan_within_limits("docker", tmp_path), count_met_requirements(tmp_path)))
    assert seconds < 64 * plain  # at most one look at a package for each of 32 lines
    assert memory < 1 << 20


@pytest.mark.parametrize(
    "content",
    [
        "# \n" * (MOST // 3) + "####",
        "numpy\n" * 33,
        "numpy; python_version > '3'\n",
        "numpy[extra]\n",
        "numpy @ https://example.org/numpy.whl\n",
        "numpy --hash=sha256:00\n",
        "--requirement other.txt\n",
        "numpy \\\n>1\n",
        "# \\\nnumpy\n",
        f"numpy>={'9' * 5000}\n",
        "numpy>=999999999\n",
        "numpy>=1.0a1\n",
        "numpy>=1,>=1,>=1,>=1,>=1\n",
        "a" * 65 + "\n",
        "#\u2028numpy; (\n",
        "#\x0bnumpy; (\n",
        "#\x85numpy; (\n",
        "#\rnumpy; (\n",
        "#\x1cnumpy; (\n",
    ],
)
def test_any_other_requirements_need_a_process(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements.txt").write_bytes(content.encode())
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    for sandbox in ("process", "docker"):
        with pytest.raises(FileNotFoundError, match="no/such/program"):
            plan_within_limits(sandbox, tmp_path)


@pytest.mark.usefixtures("_no_process")
@pytest.mark.parametrize("name", sorted(CONFIGURATION_FILES - {"requirements.txt"}))
def test_any_other_configuration_needs_a_process(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(FileNotFoundError, match="no/such/program"):
        plan_within_limits("docker", tmp_path)


@pytest.mark.parametrize("content", [None, "numpy\n"])
def test_repo2docker_would_choose_its_pack_for_python(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan of such files does not ask it."""
    if content is not None:
        (tmp_path / "requirements.txt").write_text(content)
    fast = plan_build("docker", tmp_path, BuildSettings())
    monkeypatch.setattr("evaluation.builder.build_pack_detection.has_only_requirements", lambda _: False)
    assert plan_build("docker", tmp_path, BuildSettings()) == fast


def test_an_identifier_is_its_own_normal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    identifiers = [text for text in ("MIT", "Apache-2.0", "GPL-3.0-or-later", "0BSD") if is_identifier(text)]
    assert len(identifiers) == 4
    assert not any(map(is_identifier, ("mit", "MIT OR Apache-2.0", "Classpath-exception-2.0", "")))
    monkeypatch.setattr("evaluation.builder.spdx.is_identifier", lambda _: False)
    assert [normal_licence(text) for text in identifiers] == identifiers
