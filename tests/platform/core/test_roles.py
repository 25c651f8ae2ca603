"""The table of roles: each role and right has an answer here."""

from __future__ import annotations

import pytest

from core.roles import IN_WORDS, RIGHTS, OrganiserRole, Right, role_in_words, roles_with

TABLE = {
    # right: owner, organiser, judge, helper
    Right.SEE: (True, True, True, True),
    Right.SEE_SECRETS: (True, True, True, False),
    Right.ANSWER: (True, True, False, True),
    Right.JUDGE: (True, True, True, False),
    Right.RUN: (True, True, False, False),
    Right.GRANT: (True, False, False, False),
    Right.ARCHIVE: (True, False, False, False),
}


@pytest.mark.parametrize("right", Right)
def test_each_role_may_do_what_the_table_says(right: Right) -> None:
    assert tuple(right in RIGHTS[role] for role in OrganiserRole) == TABLE[right]
    assert roles_with(right) == [role for role, may in zip(OrganiserRole, TABLE[right], strict=True) if may]


def test_every_role_is_described_by_what_it_may_do() -> None:
    assert set(IN_WORDS) == set(Right)
    for role in OrganiserRole:
        words = role_in_words(role)
        assert [each in RIGHTS[role] for each in Right] == [IN_WORDS[each] in words for each in Right]
