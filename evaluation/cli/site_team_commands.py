"""`gauntlet status`, `quota`, `board`, `choose` and `withdraw`: what a site shows of one's teams, and two decisions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote

from rich.text import Text

from evaluation.cli.output import as_it_is, print_facts, print_json, print_table, say
from evaluation.cli.positive_number import positive
from evaluation.cli.site_client import (
    OwnTeam,
    SiteBoard,
    SiteClient,
    SiteColumns,
    SiteQuota,
    SiteStanding,
    SiteSubmission,
)
from evaluation.cli.site_login import add_json, add_site, site_client
from evaluation.domain.errors import Refusal

_SHOWN = 10


def add_parser(subcommands: Any) -> None:
    status: argparse.ArgumentParser = subcommands.add_parser("status", help="show your submissions on a site, or one")
    status.add_argument("number", nargs="?", type=positive, metavar="N", help="the number of a submission")
    quota: argparse.ArgumentParser = subcommands.add_parser("quota", help="show what your teams may still submit")
    board: argparse.ArgumentParser = subcommands.add_parser("board", help="show a leaderboard")
    board.add_argument("competition", metavar="SLUG", help="the short name of the competition")
    board.add_argument("track", metavar="TRACK")
    board.add_argument("--page", type=positive, default=1, help="the page, of 100 rows (default 1)")
    board.add_argument("--at", default="", metavar="TIME", help="as of a past time: 2026-11-23 or 2026-11-23T12:00Z")
    withdraw: argparse.ArgumentParser = subcommands.add_parser("withdraw", help="withdraw a submission permanently")
    withdraw.add_argument("number", type=positive, metavar="N")
    choose: argparse.ArgumentParser = subcommands.add_parser("choose", help="choose which submission counts")
    which = choose.add_mutually_exclusive_group(required=True)
    which.add_argument("number", nargs="?", type=positive, metavar="N", help="the number of one that has a score")
    which.add_argument("--newest", metavar="TEAM/TRACK", help="let the newest one count again")
    for command, run in (
        (status, run_status), (quota, run_quota), (board, run_board), (withdraw, run_withdraw), (choose, run_choose),
    ):  # fmt: skip
        add_site(command)
        add_json(command)
        command.set_defaults(run=run)


def run_status(given: argparse.Namespace) -> int:
    client = site_client(given)
    if given.number:
        answer = client.get(f"submissions/{given.number}")
        print_json(answer) if given.json else print_submission(client.submission(given.number))
        return 0
    teams = require_teams(client)
    if given.json:
        print_json([row for team in teams for row in islice(client.rows("submissions", team=team.slug), _SHOWN)])
        return 0
    newest = [row for team in teams for row in islice(client.submissions(team=team.slug), _SHOWN)]
    rows = [
        (
            *(str(each.number), as_it_is(each.team), as_it_is(each.track), as_it_is(each.title)),
            *(each.state, each.received_at[:16].replace("T", " ")),
        )
        for each in newest
    ]
    if not rows:
        say("Your teams have submitted nothing yet. Submit with: gauntlet submit")
        return 0
    print_table("Newest submissions", ("no.", "team", "track", "title", "state", "received (UTC)"), rows, text=(1, 3))
    return 0


def run_quota(given: argparse.Namespace) -> int:
    client = site_client(given)
    found = [
        (team, track, client.get(f"repositories/{quote(team.slug)}/{quote(track.name)}/quota"))
        for team in require_teams(client)
        for track in team.tracks
    ]
    read = [client.read(SiteQuota, quota) for _, _, quota in found]
    if given.json:
        print_json([{"team": team.slug, "track": track.name, **quota} for team, track, quota in found])
        return 0
    rows = [
        (as_it_is(team.slug), as_it_is(track.name), f"{quota.left} of {quota.quota}", quota.next_at or "now")
        for (team, track, _), quota in zip(found, read, strict=True)
    ]
    print_table("Submissions left in any 24 hours", ("team", "track", "left", "next (UTC)"), rows, text=(0, 1))
    return 0


def run_board(given: argparse.Namespace) -> int:
    client = site_client(given)
    at = {"at": given.at} if given.at else {}
    path = f"competitions/{quote(given.competition)}/leaderboards/{quote(given.track)}"
    board = client.get(path, page=str(given.page), **at)
    if given.json:
        print_json(board)
        return 0
    shown = client.read(SiteBoard, board)
    if shown.frozen_since:
        say(f"The leaderboard is frozen since {shown.frozen_since}.")
    if not shown.rows:
        say("The leaderboard has no rows.")
        return 0
    if "columns" in board:
        names = [column.name for column in client.read(SiteColumns, board).columns]
    else:
        names = [name for name in ("value", "score", "low", "high") if name in shown.rows[0]]
    rows = [_board_row(client.read(SiteStanding, row), row, names) for row in shown.rows]
    title = f"{given.competition}, {given.track}" + (f", at {given.at}" if given.at else "")
    print_table(title, ("rank", "team", "submission", *names), rows, text=(1, 2))
    return 0


def run_withdraw(given: argparse.Namespace) -> int:
    client = site_client(given)
    withdrawn = client.withdraw(given.number)
    if given.json:
        print_json(client.get(f"submissions/{given.number}"))
    else:
        say(f"Submission {withdrawn.number}, {withdrawn.title}, is withdrawn.")
    return 0


def run_choose(given: argparse.Namespace) -> int:
    client = site_client(given)
    if given.newest:
        team, _, track = given.newest.partition("/")
        if not track:
            raise Refusal(f"{given.newest} names no track", fix="write it as TEAM/TRACK")
        client.choose_newest(team, track)
        if given.json:
            print_json(None)  # the site answers nothing
        else:
            say(f"The newest submission counts for {team} on the track {track}.")
        return 0
    chosen = client.choose(given.number)
    if given.json:
        print_json(client.get(f"submissions/{given.number}"))
    else:
        say(f"Submission {chosen.number}, {chosen.title}, counts for {chosen.team} on the track {chosen.track}.")
    return 0


def print_submission(shown: SiteSubmission) -> None:
    """Print a submission as a table of two columns."""
    progress = shown.progress
    rows = [
        ("submission", f"{shown.number}, {shown.title}"),
        ("team, track", f"{shown.team}, {shown.track} ({shown.competition})"),
        ("state", shown.state),
        *([("score", f"{progress.score:g}")] if progress and progress.score is not None else []),
        *([("rank", str(progress.rank))] if progress and progress.rank is not None else []),
        *([("commit", f"{shown.commit[:12]}, tag {shown.tag}")] if shown.commit else []),
        *([("problem", problem)] if (problem := shown.problem or (progress.problem if progress else "")) else []),
        *([("fix", shown.fix)] if shown.fix else []),
    ]
    print_facts(rows)


def require_teams(client: SiteClient) -> list[OwnTeam]:
    """Return the teams of the person. Raise `Refusal` without one."""
    teams = client.own_teams()
    if not teams:
        raise Refusal("you are in no team", fix=f"create one, or accept an invitation, at {client.site}/account")
    return teams


def _board_row(standing: SiteStanding, row: Mapping[str, Any], names: Sequence[str]) -> tuple[str | Text, ...]:
    """Return a row of a leaderboard of any format: rank, team, title, and its numbers."""
    team = str(row.get("team_name") or standing.team or "(baseline)")
    title = str(row.get("title") or standing.submission)
    numbers = (_text(row.get(name)) for name in names)
    return (_text(standing.rank), as_it_is(team), as_it_is(title), *numbers)


def _text(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
