"""`manage.py demo`: the whole site on a laptop, with virtual teams (`make demo`)."""

from __future__ import annotations

import os
import signal
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from core.errors import GauntletError
from demo.benchmark import run_benchmark
from demo.credentials import CredentialStore
from demo.demo_lock import only_demo_in
from demo.demo_script import COMPETITION_FILE, ORGANISER, DemoSite
from demo.full_season import Season
from demo.supervisor import SiteSupervisor, host_processes


class Command(BaseCommand):
    """Starts web server and workers, lets virtual teams play, and runs until Ctrl-C."""

    help = "Start the whole site on this host, with virtual teams that register over HTTP and push with git."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=_port, default=8000, help="port of the site on 127.0.0.1 (default 8000)")
        parser.add_argument("--exit", action="store_true", help="print the leaderboards when all is scored, and exit")
        parser.add_argument(
            "--full",
            action="store_true",
            help="then play a development round and the final, release the final, and verify its bundle",
        )
        parser.add_argument("--processes", type=int, default=host_processes(), help="number of pieces played at a time")
        parser.add_argument(
            "--limit",
            type=float,
            default=1800,
            help="maximal seconds for all scores, and for each round (default 1800)",
        )
        parser.add_argument("--competition", type=Path, default=COMPETITION_FILE, help="use another TOML file")
        parser.add_argument(
            "--data", type=Path, help="prepared store, or folder of the data sets that the file names without a path"
        )
        parser.add_argument(
            "--samples", type=int, metavar="N", help="play at most N samples of each set (default: all of them)"
        )
        parser.add_argument(
            "--benchmark",
            action="store_true",
            help="start no site: run all attacks of the robustness benchmark against the bundled models of the digits",
        )

    def handle(self, *args: Any, **given: Any) -> None:
        if given["benchmark"]:
            if status := run_benchmark(settings.STATE / "benchmark", given["samples"]):
                raise CommandError("the benchmark failed; its message is above", returncode=status)
            return
        for number in (signal.SIGTERM, signal.SIGINT):  # SIGINT too: a shell starts background jobs with it ignored
            signal.signal(number, _interrupt)
        if given["data"] is not None:
            os.environ["GAUNTLET_DATA"] = str(given["data"].resolve())
        _leave_proxies_out()
        supervisor = SiteSupervisor(port=given["port"], processes=given["processes"], logs=settings.STATE / "logs")
        try:
            site = DemoSite(
                supervisor=supervisor,
                credentials=CredentialStore(settings.STATE / "demo.json"),
                say=self._say,
                competition_file=given["competition"],
                most_samples=given["samples"],
            )
            with only_demo_in(settings.STATE, supervisor.url):
                self._run(site, supervisor, given)
        except GauntletError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self._say("\nThe site is stopped. The next start continues from here.")
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):  # a second Ctrl-C would leave processes behind
                signal.signal(number, signal.SIG_IGN)
            supervisor.stop()

    def _run(self, site: DemoSite, supervisor: SiteSupervisor, given: dict[str, Any]) -> None:
        rounds = site.season() if given["full"] else None
        supervisor.require_port()
        with self._step("preparing the database"):
            competition = site.open()
        season = (
            Season(
                site=site,
                rounds=rounds,
                competition=competition,
                say=self._say,
                limit=given["limit"],
                folder=settings.STATE,
            )
            if rounds
            else None
        )
        with self._step("starting the web server"):
            supervisor.start_web()
        self._say(_welcome(supervisor.url, site.settings()))
        command = site.prepare_reader()
        supervisor.start_workers()  # after the reader's account: on two cores they would have slowed it down
        self._say(self._logins(site, command))
        console = Console(file=sys.stdout)
        in_place = self.stdout.isatty() and not console.is_dumb_terminal
        with site.live_table(console) if in_place else nullcontext():
            site.submit_all(one_at_a_time=not given["exit"])
            if season is None or not season.is_over():
                site.watch(limit=given["limit"])
        site.print_boards(Console(width=100))
        if season is not None:
            season.play()
        if given["exit"]:
            return
        self._say(self._logins(site, command) + "\nPress Ctrl-C to stop the site.")
        while True:
            supervisor.check()
            site.say_news()
            time.sleep(1)

    def _say(self, text: str, *, ending: str = "\n") -> None:
        """Print at once, also into a pipe."""
        self.stdout.write(text, ending=ending)
        self.stdout.flush()

    @contextmanager
    def _step(self, text: str) -> Iterator[None]:
        """Print a line with the seconds that what is inside takes, as the set-up does."""
        started = time.monotonic()
        self._say(f"demo: {text} ... ", ending="")
        try:
            yield
        except BaseException:
            self._say("")
            raise
        self._say(f"{time.monotonic() - started:.0f} s")

    def _logins(self, site: DemoSite, command: str) -> str:
        return (
            f"\n  leaderboards  {site.front_page()}"
            f"\n  organiser     {ORGANISER} / {site.password_of(ORGANISER)}, at {site.front_page('/admin/')}"
            f"\n  participant   {site.reader} / {site.password_of(site.reader)}"
            f"\n\nYour first own submission, in any empty folder:\n\n  {command}\n"
        )


def _welcome(url: str, rules: str) -> str:
    return (
        f"Gauntlet listens on {url}, reachable only from this computer. Players run without containers:\n"
        f"anyone who can push here can run code on this computer. Use Docker for a public site.\n{rules}\n"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise ArgumentTypeError(f"{text} is no port; choose a number from 1024 to 65535")
    return int(text)


def _leave_proxies_out() -> None:
    """Let the demo and the processes that it starts reach this computer without a proxy of the environment."""
    exempt = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if exempt != "*":
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = f"{exempt},127.0.0.1".lstrip(",")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
