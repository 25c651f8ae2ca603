"""The rule for when the process sandbox may run submissions. A pure function, since the settings call it."""

from __future__ import annotations

from collections.abc import Collection

PROCESS = "process"
"""Name of the sandbox that does not contain hostile code."""

# "testserver" is the host name of Django's test client
_THIS_HOST_ALONE = frozenset({"localhost", "127.0.0.1", "[::1]", "testserver"})


def trust_problem(sandbox: str, hosts: Collection[str], *, proxied: bool, trust_everybody: bool) -> str:
    """Return why `sandbox` must not run submissions, and the fix; empty if it may.

    `hosts` are the host names of the site. A `proxied` site always counts as reachable by others, since a proxy may use
    a name of this host.
    """
    if sandbox != PROCESS or trust_everybody:
        return ""
    public_hosts = sorted(set(hosts) - _THIS_HOST_ALONE)
    if public_hosts:
        cause = f"the site answers to {', '.join(public_hosts)}"
    elif proxied:
        cause = "the site is behind a proxy (GAUNTLET_PROXIES or GAUNTLET_HTTPS)"
    else:
        return ""
    return (
        f"GAUNTLET_SANDBOX is process, which does not contain hostile code, and {cause}: anybody who can push can run "
        "code on this host. Set GAUNTLET_SANDBOX=docker. Or unset GAUNTLET_HOSTS, GAUNTLET_PROXIES and GAUNTLET_HTTPS, "
        "so that only this host can reach the site. Or set GAUNTLET_TRUST_EVERYBODY=true if you would give everybody "
        "who can push an account on this host."
    )
