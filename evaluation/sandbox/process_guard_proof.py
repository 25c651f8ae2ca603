"""Guards of the process sandbox, proved on this host."""

from __future__ import annotations

from evaluation.sandbox import guard_trials
from evaluation.sandbox.base import Guard, Sandbox
from evaluation.sandbox.guard_trials import GuardTrials


def examine_process(sandbox: Sandbox, *, bubblewrapped: bool) -> list[Guard]:
    """Try to break out of `sandbox`. Without bubblewrap most guards are not required."""
    probes = GuardTrials(sandbox.start)
    seen = probes.answer("look")
    return [
        guard_trials.network_guard(seen, required=bubblewrapped),
        guard_trials.root_guard(seen, required=bubblewrapped),
        guard_trials.capability_guard(seen, required=bubblewrapped),
        guard_trials.privilege_guard(seen, required=bubblewrapped),
        guard_trials.socket_guard(seen, required=bubblewrapped),
        guard_trials.sight_guard(seen, required=bubblewrapped),
        guard_trials.files_guard(probes, required=bubblewrapped),
        guard_trials.figures_guard(seen),
        guard_trials.scratch_guard(probes, required=bubblewrapped),
        guard_trials.memory_guard(probes),
        guard_trials.log_guard(probes),
        _nothing_left(probes, sandbox),
        Guard("process limit", False, "not available in this sandbox", required=False),
        Guard("CPU limit", False, "not available in this sandbox", required=False),
        Guard("unprivileged user", False, f"runs as user {seen['user'][0]}", required=False),
    ]


def _nothing_left(probes: GuardTrials, sandbox: Sandbox) -> Guard:
    with probes.running("wait") as run:
        before = run.ended()
        run.end()
        held = not before and run.ended()
    leftovers = sandbox.sweep()
    return Guard("nothing left behind", held, f"ended: {held}; removed {leftovers} leftovers of dead runners")
