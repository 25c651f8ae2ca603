"""Objections to the result of a round: who makes, withdraws and answers them, when it is final, and their file."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Protocol

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connections

from accounts.models import Membership, Team, User
from competitions.models import Competition, FrozenLeaderboards
from core.errors import Refusal
from core.models import Event
from evaluation.bundle.canonical_json import decode_line, split
from evaluation.bundle.objections_file_check import is_objections, verify_objections
from evaluation.bundle.signature_check import Checked, verify_signed
from evaluation.cli.main import main
from formats.query.matches.models import Match
from formats.query.rounds.models import RoundMatch
from rounds.models import Objection, Release, Round, RoundEntry
from rounds.objections.closing import answer
from rounds.objections.filing import MOST_TEXT, MOST_UNANSWERED, file_objection, withdraw_objection
from rounds.objections.period import period_end, result_state
from rounds.objections.selectors import shown_objections
from rounds.release.released_parts import open_part, release, released, withdraw
from rounds.release.signing_keys import public_key
from rounds.running.dashboard_data import dashboard
from tests.platform.conftest import FakeClock

WRONG = "The distances of sample 2 are those of sample 1."


class Final(Protocol):
    """`Published` of the conftest."""

    round: Round
    entries: dict[str, RoundEntry]
    pair: Match


@pytest.fixture
def contested(the_clock: FakeClock, published: Final, alice: User) -> Final:
    """The published final with five days for objections; Alice is in the Owls, and half a minute has passed."""
    Membership.objects.create(
        team=Team.objects.get(slug="owls"), user=alice, role=Membership.Role.CAPTAIN, joined_at=the_clock.at
    )
    published.round.objection_days = 5
    published.round.state_since = the_clock.at
    published.round.save()
    the_clock.forward(seconds=30)
    return published


@pytest.fixture
def made(contested: Final, alice: User) -> Objection:
    """An open objection of the Owls to the whole result."""
    return file_objection(round_=contested.round, by=alice, text=WRONG)


def _final(round_: Round) -> bool | None:
    state = result_state(round_)
    return None if state is None else state.final


def test_a_team_objects_to_the_result_an_entry_and_a_match(contested: Final, alice: User, olga: User) -> None:
    file_objection(round_=contested.round, by=alice, text=f"  {WRONG}\r\nLook.\n")
    file_objection(round_=contested.round, by=alice, text=WRONG, entry=contested.entries["foxes"].pk)
    file_objection(round_=contested.round, by=alice, text=WRONG, match=str(contested.pair.pk))
    titles = [each.title for each in shown_objections(contested.round, alice)]
    assert titles == ["the whole result", "foxes by Foxes (Untargeted attack)", "foxes against owls"]
    first = Objection.objects.earliest("pk")
    assert (first.text, first.team.slug, first.made_by, first.state) == (f"{WRONG}\nLook.", "owls", alice, "open")
    event = Event.objects.filter(verb="file").latest("pk")
    assert (event.subject, event.by) == (f"objection:{first.pk + 2}", alice)
    assert event.data == {
        "round": contested.round.pk, "team": "owls", "entry": None, "match": str(contested.pair.pk),
    }  # fmt: skip
    assert [len(shown_objections(contested.round, user)) for user in (AnonymousUser(), olga)] == [0, 3]


def test_a_result_is_final_after_the_period_once_each_objection_has_an_answer(
    contested: Final, the_clock: FakeClock, alice: User, olga: User
) -> None:
    until = contested.round.state_since + timedelta(days=5)
    assert period_end(contested.round) == until
    assert _final(contested.round) is False
    made = file_objection(round_=contested.round, by=alice, text=WRONG)
    the_clock.at = until
    assert _final(contested.round) is False
    answer(objection=made, upheld=True, by=olga, reason="We replay the match.")
    assert _final(contested.round) is True
    event = Event.objects.latest("pk")
    assert (event.verb, event.subject, event.by) == ("uphold", f"objection:{made.pk}", olga)
    assert event.reason == "We replay the match."


def test_the_period_ends_at_a_whole_minute_as_people_read_it(contested: Final, the_clock: FakeClock) -> None:
    contested.round.state_since = the_clock.at  # half past a minute
    assert period_end(contested.round) == the_clock.at + timedelta(days=5, seconds=30)


@pytest.mark.parametrize("state", [state for state in Round.State if state != Round.State.PUBLISHED])
def test_a_round_without_a_published_result_has_no_period(contested: Final, alice: User, state: Round.State) -> None:
    Round.objects.update(state=state)
    contested.round.refresh_from_db()
    assert result_state(contested.round) is None
    with pytest.raises(Refusal, match="has no published result"):
        file_objection(round_=contested.round, by=alice, text=WRONG)


def test_a_round_may_have_no_period(contested: Final, alice: User) -> None:
    Round.objects.update(objection_days=0)
    contested.round.refresh_from_db()
    assert result_state(contested.round) is None
    with pytest.raises(Refusal, match="has no period for objections"):
        file_objection(round_=contested.round, by=alice, text=WRONG)
    assert dashboard(contested.round).sections[-1].title != "Objections"


def test_a_late_objection_is_refused(contested: Final, the_clock: FakeClock, alice: User) -> None:
    the_clock.at = contested.round.state_since + timedelta(days=5)
    with pytest.raises(Refusal, match="were accepted until 2026-11-26 12:00 UTC") as refused:
        file_objection(round_=contested.round, by=alice, text=WRONG)
    assert refused.value.fix == "write to the organisers"
    assert not Objection.objects.exists()


@pytest.mark.parametrize("name", ["charlie", "bob", "olga", "gone"])
def test_others_than_teams_of_the_round_cannot_object(
    contested: Final, charlie: User, bob: User, olga: User, name: str
) -> None:
    """Bob is in a team of the competition that did not take part; an account may be closed."""
    bats = Team.objects.create(slug="bats", name="Bats", created_at=contested.round.planned_at)
    Membership.objects.create(team=bats, user=bob, role="captain", joined_at=bats.created_at)
    gone = User.objects.create_user("gone", is_active=False)
    Membership.objects.create(team=Team.objects.get(slug="owls"), user=gone, role="member", joined_at=bats.created_at)
    with pytest.raises(Refusal, match="only members of a team that took part") as refused:
        file_objection(round_=contested.round, by=User.objects.get(username=name), text=WRONG)
    assert refused.value.fix
    assert not Objection.objects.exists()


def _elsewhere(contested: Final) -> RoundEntry:
    """Return an entry of another round."""
    entry = contested.entries["hawks"]
    other = Round.objects.get(pk=contested.round.pk)
    for name in ("window", "sample_set"):
        row = getattr(other, name)
        row.pk, row.name = None, "round-2"
        row.save()
        setattr(other, name, row)
    other.pk, other.number = None, 2
    other.save()
    entry.pk, entry.round = None, other
    entry.save()
    return entry


def _match_elsewhere(contested: Final) -> str:
    """Return a match that is in no round."""
    match = Match.objects.get(pk=contested.pair.pk)
    match.pk, match.repetition = None, 1
    match.save()
    return str(match.pk)


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        (lambda contested: {"entry": _elsewhere(contested).pk}, "The final has no such entry"),
        (lambda contested: {"match": _match_elsewhere(contested)}, "The final has no such match"),
        *((lambda contested, key=key: {"match": key}, "no such match") for key in ("0", "x", "1/2", "9" * 40, "²")),
        (lambda contested: {"entry": contested.entries["owls"].pk, "match": "1"}, "an entry or a match, not both"),
        (lambda contested: {"text": " \r\n "}, "needs a text"),
        (lambda contested: {"text": "a\0b"}, "needs a text"),
        (lambda contested: {"text": "x" * 100_000}, "100,000 characters, and an objection has at most 5,000"),
        (lambda contested: {"text": "x" * (MOST_TEXT + 1)}, "5,001 characters"),
    ],
)
def test_what_is_not_in_the_round_or_has_no_proper_text_is_refused(
    contested: Final, alice: User, about: Callable[[Final], dict[str, object]], problem: str
) -> None:
    values: dict[str, object] = {"text": WRONG, **about(contested)}
    with pytest.raises(Refusal, match=problem) as refused:
        file_objection(round_=contested.round, by=alice, **values)  # type: ignore[arg-type]
    assert refused.value.fix
    assert not Objection.objects.exists()


def test_a_match_that_was_cut_from_the_outcome_is_not_in_the_round(contested: Final, alice: User) -> None:
    RoundMatch.objects.update(samples=None)
    with pytest.raises(Refusal, match="no such match"):
        file_objection(round_=contested.round, by=alice, text=WRONG, match=str(contested.pair.pk))


def test_pairs_that_show_frozen_leaderboards_are_not_named(
    contested: Final, competition: Competition, alice: User, olga: User
) -> None:
    made = file_objection(round_=contested.round, by=alice, text=WRONG, match=str(contested.pair.pk))
    answer(objection=made, upheld=False, by=olga, reason="They are not.")
    FrozenLeaderboards.objects.create(competition=competition, since=contested.round.window.starts_at)
    seen = {user: shown_objections(contested.round, user)[0] for user in (alice, olga)}
    assert {user: each.title for user, each in seen.items()} == {alice: "a match", olga: "foxes against owls"}
    assert (seen[alice].match, seen[alice].players) == ("", ())
    with pytest.raises(Refusal, match="no such match"):
        file_objection(round_=contested.round, by=alice, text=WRONG, match=str(contested.pair.pk))


def test_a_second_open_objection_of_the_team_to_the_same_is_refused(
    contested: Final, made: Objection, alice: User, olga: User
) -> None:
    with pytest.raises(Refusal, match=f"objection {made.pk} of Owls to the same is open") as refused:
        file_objection(round_=contested.round, by=alice, text="Something else.")
    assert "withdraw it first" in refused.value.fix
    assert Objection.objects.count() == 1
    answer(objection=made, upheld=False, by=olga, reason="They are not.")
    file_objection(round_=contested.round, by=alice, text="Then this.")
    Membership.objects.create(
        team=Team.objects.get(slug="foxes"), user=olga, role="captain", joined_at=contested.round.planned_at
    )
    file_objection(round_=contested.round, by=olga, text="We think so, too.")
    assert Objection.objects.filter(state="open").count() == 2


def test_a_team_has_a_limited_number_of_objections_without_an_answer(
    contested: Final, made: Objection, alice: User, olga: User
) -> None:
    Objection.objects.bulk_create(
        Objection(round=made.round, team=made.team, match=f"{n}", text=WRONG, made_at=made.made_at, made_by=alice)
        for n in range(1, MOST_UNANSWERED)
    )
    withdraw_objection(objection=made, by=alice)
    with pytest.raises(Refusal, match="Owls has made 20 objections to The final that wait or were withdrawn"):
        file_objection(round_=contested.round, by=alice, text=WRONG, entry=contested.entries["owls"].pk)
    assert Objection.objects.count() == MOST_UNANSWERED
    answer(objection=Objection.objects.get(match="1"), upheld=False, by=olga, reason="It is not.")
    file_objection(round_=contested.round, by=alice, text=WRONG, entry=contested.entries["owls"].pk)


def test_a_team_withdraws_its_objection_once(made: Objection, contested: Final, alice: User, olga: User) -> None:
    with pytest.raises(Refusal, match="only members of Owls"):
        withdraw_objection(objection=made, by=olga)
    withdraw_objection(objection=made, by=alice)
    assert (made.state, made.answer, made.closed_by) == ("withdrawn", "", alice)
    event = Event.objects.latest("pk")
    assert (event.verb, event.subject, event.by) == ("withdraw", f"objection:{made.pk}", alice)
    with pytest.raises(Refusal, match="is already withdrawn by the team"):
        withdraw_objection(objection=made, by=alice)
    with pytest.raises(Refusal, match="is already withdrawn by the team"):
        answer(objection=made, upheld=True, by=olga, reason="You are right.")
    made.refresh_from_db()
    assert (made.state, made.answer) == ("withdrawn", "")
    assert shown_objections(contested.round, AnonymousUser()) == []


@pytest.mark.parametrize(("upheld", "state", "verb"), [(True, "upheld", "uphold"), (False, "rejected", "reject")])
def test_an_answer_is_given_once_and_public(
    made: Objection, contested: Final, alice: User, olga: User, upheld: bool, state: str, verb: str
) -> None:
    other = Objection.objects.get()  # as a second organiser, or a form in a second window, has it
    for by, reason, problem in ((alice, "Yes.", "only organisers"), (olga, " ", "an answer needs a reason")):
        with pytest.raises(Refusal, match=problem):
            answer(objection=made, upheld=upheld, by=by, reason=reason)
    answer(objection=made, upheld=upheld, by=olga, reason="We looked.")
    with pytest.raises(Refusal, match=f"objection {made.pk} is already {state}"):
        answer(objection=other, upheld=not upheld, by=olga, reason="No, the opposite.")
    with pytest.raises(Refusal, match=f"is already {state}"):
        withdraw_objection(objection=other, by=alice)
    (shown,) = shown_objections(contested.round, AnonymousUser())
    assert (shown.row.state, shown.row.answer, shown.row.closed_by) == (state, "We looked.", olga)
    assert list(Event.objects.filter(subject=f"objection:{made.pk}").values_list("verb", flat=True)) == [verb, "file"]


@pytest.mark.django_db(transaction=True)
def test_of_two_organisers_at_once_one_answers(made: Objection, olga: User) -> None:
    together, refused = threading.Barrier(2), []

    def act(upheld: bool) -> None:
        together.wait()
        try:
            answer(objection=Objection.objects.get(), upheld=upheld, by=olga, reason=f"{upheld}")
        except Refusal as refusal:
            refused.append(refusal.problem)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=act, args=[upheld]) for upheld in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.refresh_from_db()
    assert refused == [f"objection {made.pk} is already {made.state}"]
    assert made.answer == str(made.state == Objection.State.UPHELD)


@pytest.mark.django_db(transaction=True)
def test_of_two_equal_objections_at_once_one_is_made(contested: Final, alice: User) -> None:
    together, refused = threading.Barrier(2), []

    def act() -> None:
        together.wait()
        try:
            file_objection(round_=contested.round, by=alice, text=WRONG)
        except Refusal as refusal:
            refused.append(refusal.problem)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=act) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [f"objection {Objection.objects.get().pk} of Owls to the same is open"]


def _lines(round_: Round) -> list[dict[str, object]]:
    with open_part(round_, Release.Part.OBJECTIONS).open() as file:
        content = file.read()
    report = verify_signed(content, public_key(), None, None, lambda lines: Checked((), (f"{len(list(lines))} lines",)))
    assert report.ok, report.problems
    return [decode_line(number, line) for number, line in enumerate(split(content)[:-1], 1)]


def test_the_file_has_every_objection_with_its_answer(
    contested: Final,
    the_clock: FakeClock,
    alice: User,
    olga: User,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    of_entry, of_match, withdrawn = (
        file_objection(round_=contested.round, by=alice, text=WRONG, **about)
        for about in ({"entry": contested.entries["foxes"].pk}, {"match": str(contested.pair.pk)}, {})
    )
    withdraw_objection(objection=withdrawn, by=alice)
    the_clock.forward(hours=1)
    answer(objection=of_match, upheld=True, by=olga, reason="We replay it.")
    release(round_=contested.round, part="bundle", by=olga, reason="The end.")
    with pytest.raises(Refusal, match="are accepted until 2026-11-26 12:00 UTC"):
        release(round_=contested.round, part="objections", by=olga, reason="The end.")
    the_clock.at = contested.round.state_since + timedelta(days=5)
    with pytest.raises(Refusal, match="without an answer: 1"):
        release(round_=contested.round, part="objections", by=olga, reason="The end.")
    answer(objection=of_entry, upheld=False, by=olga, reason="It is as the rules say.")
    first = release(round_=contested.round, part="objections", by=olga, reason="The end.")
    with open_part(contested.round, Release.Part.OBJECTIONS).open() as file:
        content = file.read()
    assert is_objections(BytesIO(content))
    report = verify_objections(BytesIO(content), public_key())
    assert (report.ok, report.summary[:2]) == (
        True,
        (
            "objections to round 1 of digits: 2, 2 answered (1 upheld, 1 rejected), 0 open, 0 withdrawn",
            f"all of them are signed; they are published with the outcome {contested.round.outcome}",
        ),
    )
    kept = tmp_path / "objections.jsonl"
    kept.write_bytes(content)
    assert main(["verify", str(kept), "--key", public_key(), "--outcome", contested.round.outcome]) == 0
    assert "the signature is valid, and its lines are those that were signed" in capsys.readouterr().out
    assert main(["verify", str(kept), "--images", str(kept)]) != 0
    assert "which have no samples, field or images" in capsys.readouterr().err
    changed = verify_objections(BytesIO(content.replace(b'"rejected"', b'"upheld"')), public_key())
    assert [problem.text for problem in changed.problems] == ["it is not the line that was signed"]
    head, *lines = _lines(contested.round)
    assert [each["outcome"] for each in (head, *lines)] == [contested.round.outcome] * 3
    assert (head["kind"], head["until"]) == ("objections", "2026-11-26T12:00:00Z")
    assert [(line["number"], line["state"], line["answer"]) for line in lines] == [
        (of_entry.pk, "rejected", "It is as the rules say."),
        (of_match.pk, "upheld", "We replay it."),
    ]
    foxes = contested.entries["foxes"].submission
    assert (lines[0]["entrant"], lines[0]["track"], lines[0]["commit"]) == ("foxes", "untargeted", foxes.commit)
    names = lines[1]["match"]
    assert isinstance(names, list)
    assert [str(name).partition("-")[0] for name in names] == ["player", "player"]
    assert lines[1]["closed_at"] == "2026-11-21T13:00:30Z"
    assert first.key == public_key()
    withdraw(release=first, by=olga, reason="A test.")
    again = release(round_=contested.round, part="objections", by=olga, reason="Again.")
    assert again.content == first.content, "it follows from rows that do not change"
    assert list(released(contested.round)) == ["bundle", "objections"]


def test_anyone_can_check_the_file(
    contested: Final, the_clock: FakeClock, olga: User, tmp_path: Path, root: Path
) -> None:
    """With the program of the documentation."""
    the_clock.at = contested.round.state_since + timedelta(days=5)
    release(round_=contested.round, part="objections", by=olga, reason="The end.")
    programs = re.findall(r"```python\n(.*?)```", (root / "docs/bundles.md").read_text(), re.DOTALL)
    (check,) = (each for each in programs if "objections.jsonl" in each)
    file = tmp_path / "objections.jsonl"
    with open_part(contested.round, "objections").open() as released_file:
        file.write_bytes(released_file.read())
    command = [sys.executable, "-c", check.replace("the published key", public_key())]
    shown = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "'kind': 'objections'" in shown.stdout
    file.write_bytes(file.read_bytes().replace(b"The final", b"The First"))
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 1


def test_a_round_without_a_period_has_no_file(contested: Final, olga: User) -> None:
    Round.objects.update(objection_days=0)
    with pytest.raises(Refusal, match="has no period for objections"):
        release(round_=contested.round, part="objections", by=olga, reason="The end.")


def test_the_file_waits_for_frozen_leaderboards(
    contested: Final, competition: Competition, the_clock: FakeClock, olga: User
) -> None:
    the_clock.at = contested.round.state_since + timedelta(days=5)
    FrozenLeaderboards.objects.create(competition=competition, since=the_clock.at)
    with pytest.raises(Refusal, match=r"objections and answers of .* would reveal frozen"):
        release(round_=contested.round, part="objections", by=olga, reason="The end.")


def test_the_dashboard_lists_open_objections_first(
    contested: Final, made: Objection, the_clock: FakeClock, alice: User, olga: User
) -> None:
    second = file_objection(round_=contested.round, by=alice, text=WRONG, entry=contested.entries["owls"].pk)
    answer(objection=made, upheld=False, by=olga, reason="They are not.")
    texts = []
    for _ in range(2):
        section = next(each for each in dashboard(contested.round).sections if each.title == "Objections")
        texts.append(section.text)
        the_clock.forward(days=6)
    assert [row[2] for row in section.tables[0].rows] == ["open", "rejected"]
    assert f"/objection/{second.pk}/" in section.tables[0].rows[0][0]
    assert texts == [
        "The result is provisional: teams may object until 2026-11-26 12:00 UTC.",
        "The result is provisional until each objection has an answer: uphold or reject it, with a reason.",
    ]
