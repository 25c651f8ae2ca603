"""A benchmark that is killed while it writes, whatever it writes, goes on to the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODEL = """
import torch
from torch import nn
def load():
    torch.manual_seed(0)
    return nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(192, 10))
"""

DRIVER = """
import os, shutil, signal, sys
from pathlib import Path
import torch
from evaluation.cli.main import main
from evaluation.formats.curves.report import benchmark_report  # noqa: F401 (every child needs them)

torch.set_num_threads(1)
model, out = sys.argv[1], Path(sys.argv[2])
command = ["benchmark", "--model", model, "--attacks", "fgsm", "--norm", "linf", "--samples", "4", "--batch", "2",
           "--out", str(out)]

def run(kill_at):
    '''Run the command in a child that is killed when it begins to write or rename for that time; return its writes.'''
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0
        def look(event, arguments):
            nonlocal seen
            opens = event == "open" and str(arguments[0]).startswith(str(out)) and "w" in str(arguments[1])
            renames = event == "os.rename" and str(arguments[1]).startswith(str(out))  # not of compiled modules
            if opens or renames:
                seen += 1
                os.write(writing, b".")
                if seen == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(look)
        os._exit(main(command))
    os.close(writing)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == (-signal.SIGKILL if kill_at else 0), code
    return len(os.read(reading, 1 << 16))

def content():
    files = (path for path in out.rglob("*") if path.is_file() and path.suffix != ".unfinished")
    return {path.relative_to(out): path.read_bytes() for path in files}

writes = run(0)
whole = content()
# two batches and the results, each written and renamed; then figures, tables and page
phases = [1, 2, 4, 6, (6 + writes) // 2, writes]
assert writes > 8
for phase in phases:
    shutil.rmtree(out)
    run(phase)
    run(0)
    assert content() == whole, phase
"""


def test_a_benchmark_that_is_killed_goes_on_to_the_same_bytes(tmp_path: Path, root: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(model), str(tmp_path / "out")],
        cwd=root, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
