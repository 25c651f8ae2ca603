"""Parsing in a child with limits: each death is an error of the input, and the next request is answered."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from evaluation.domain.errors import Fault, HostRefusal, Refusal
from evaluation.parsing.limited_process import LimitedProcess, LimitExceededError, ask_once

PARSER = """
import os, signal
from evaluation.domain.errors import HostRefusal, Refusal
def parse(fields, body):
    do = fields["do"]
    if do == "compute":
        while True: pass
    if do == "allocate":
        bytearray(1 << 40)
    if do == "refuse":
        raise Refusal("wrong", fix="right")
    if do == "host":
        raise HostRefusal("host", fix="operator")
    if do == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if do == "end":
        os._exit(3)
    if do == "environment":
        return dict(os.environ), b""
    print("noise")
    return {"pid": os.getpid()}, body[::-1]
"""


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "hostile_parser.py").write_text(PARSER)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    return "hostile_parser:parse"


def test_one_child_answers_all_requests(parser: str) -> None:
    with LimitedProcess(parser, seconds=5, memory_bytes=1 << 30) as process:
        answers = [process.ask({"do": "work"}, b"abc") for _ in range(3)]
    assert {body for _, body in answers} == {b"cba"}
    assert len({fields["pid"] for fields, _ in answers}) == 1


@pytest.mark.parametrize(
    ("do", "kind", "problem"),
    [
        ("compute", LimitExceededError, "more than 0 s of processor time"),
        ("allocate", LimitExceededError, "more than 1,024 MiB of memory"),
        ("crash", LimitExceededError, "ends the parser's process"),
        ("refuse", Refusal, "wrong"),
        ("host", HostRefusal, "host"),
        ("end", Fault, "status 3"),
    ],
)
def test_what_the_child_cannot_read_is_named_and_the_next_request_is_answered(
    do: str, kind: type[Exception], problem: str, parser: str
) -> None:
    with LimitedProcess(parser, seconds=0, memory_bytes=1 << 30) as process:  # the kernel rounds up to a second
        with pytest.raises(kind, match=problem):
            process.ask({"do": do})
        assert process.ask({"do": "work"}, b"ab")[1] == b"ba"


def test_a_single_request_over_a_limit_is_a_refusal(parser: str) -> None:
    with pytest.raises(Refusal, match=r"the code: reading it takes more than 1,024 MiB of memory"):
        ask_once(parser, {"do": "allocate"}, what="the code", seconds=5, memory_bytes=1 << 30)


def test_the_child_sees_no_variable_of_the_site(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "GAUNTLET_SECRET_KEY", "GAUNTLET_EMAIL_PASSWORD", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "a secret")
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    with LimitedProcess(parser, seconds=5, memory_bytes=1 << 30) as process:
        seen, _ = process.ask({"do": "environment"})
    assert "a secret" not in seen.values()
    assert (seen["PATH"], seen["LC_CTYPE"]) == (os.environ["PATH"], "C.UTF-8")
