"""Test of any player: its HELLO names its side, and the session sends the frames for that side."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.formats.query.conformance.attack_sessions import ATTACK_SESSIONS
from evaluation.formats.query.conformance.launcher import CommandError, LaunchedPlayer
from evaluation.formats.query.conformance.model_sessions import MODEL_SESSIONS
from evaluation.formats.query.conformance.session import ConformanceSession
from evaluation.formats.query.conformance.steps import Check, UnmetError, run_steps
from evaluation.formats.query.rules import QueryRules
from gauntlet import frames

_SESSIONS: dict[int, tuple[ConformanceSession, ConformanceSession]] = {
    frames.ROLE_MODEL: MODEL_SESSIONS,
    frames.ROLE_ATTACK: ATTACK_SESSIONS,
}
_ROLE_NAMES = {frames.ROLE_MODEL: "model", frames.ROLE_ATTACK: "attack"}


def check_player(command: Sequence[str], *, seconds: float = 20.0, rules: QueryRules | None = None) -> list[Check]:
    """Start `command` as a process, twice, and test it against `docs/protocol.md`.

    `seconds` is the time limit of its set-up, of each answer of a model and of each piece of an attack; `rules` give
    the shape of images and the number of classes. The command runs in the current directory with the caller's rights:
    run only code that you trust. Every behaviour of the player becomes a `Check`; none raises an exception.
    """
    rules = rules or QueryRules()
    try:
        role, checks = _first_start(command, rules, seconds)
        if role is not None:
            checks += _second_start(command, rules, seconds, role)
    except CommandError as error:
        return [Check("starts", False, str(error))]
    return checks


def _first_start(command: Sequence[str], rules: QueryRules, seconds: float) -> tuple[int | None, list[Check]]:
    """Return the role in HELLO (None without a valid one), and the checks of the first session of that role."""
    roles: list[int] = []
    with LaunchedPlayer(command, rules, seconds) as player:

        def hello() -> str:
            roles.append(player.greet())
            return f"a valid HELLO of role {roles[0]} ({_ROLE_NAMES[roles[0]]})"

        def silence() -> str:
            seen = player.expect_silence()
            player.welcome(roles[0], session.track, session.budget)
            return seen

        checks = run_steps([("HELLO", hello)], player.explain)
        if not roles:
            return None, checks
        session = _SESSIONS[roles[0]][0]
        steps = [("silent before WELCOME", silence), *session.steps(player, rules, seconds)]
        return roles[0], checks + run_steps(steps, player.explain)


def _second_start(command: Sequence[str], rules: QueryRules, seconds: float, role: int) -> list[Check]:
    session = _SESSIONS[role][1]
    with LaunchedPlayer(command, rules, seconds) as player:

        def hello() -> str:
            again = player.greet()
            player.welcome(again, session.track, session.budget)
            if again != role:
                raise UnmetError(f"role {again}, but {role} before")
            return "the same HELLO"

        steps = [("HELLO when started again", hello), *session.steps(player, rules, seconds)]
        return run_steps(steps, player.explain)
