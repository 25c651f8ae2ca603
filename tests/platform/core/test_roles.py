"""The table of roles: each role and capability has an answer here."""

from __future__ import annotations

import pytest

from core.roles import CAPABILITIES, IN_WORDS, Capability, Role, role_in_words, roles_with

TABLE = {
    # capability: owner, organiser, judge, helper
    Capability.SEE: (True, True, True, True),
    Capability.SEE_SECRETS: (True, True, True, False),
    Capability.ANSWER: (True, True, False, True),
    Capability.JUDGE: (True, True, True, False),
    Capability.RUN: (True, True, False, False),
    Capability.GRANT: (True, False, False, False),
}


@pytest.mark.parametrize("capability", Capability)
def test_each_role_may_do_what_the_table_says(capability: Capability) -> None:
    assert tuple(capability in CAPABILITIES[role] for role in Role) == TABLE[capability]
    assert roles_with(capability) == [role for role, may in zip(Role, TABLE[capability], strict=True) if may]


def test_every_role_is_described_by_what_it_may_do() -> None:
    assert set(IN_WORDS) == set(Capability)
    for role in Role:
        words = role_in_words(role)
        assert [each in CAPABILITIES[role] for each in Capability] == [IN_WORDS[each] in words for each in Capability]
