"""A queue of claims on places in trees."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel.call.steps.resource_conflicts import ResourceLocks
from toolkeel.call.steps.resources import Branch

STEPS = st.lists(st.sampled_from("ab"), max_size=3).map(tuple)
WANTS = st.lists(
    st.tuples(st.lists(STEPS, min_size=1, max_size=3), st.booleans()), min_size=1, max_size=12
)


@settings(max_examples=100)
@given(WANTS, st.lists(st.tuples(st.booleans(), st.integers(0, 11)), max_size=30))
def test_claims_on_trees_are_held_in_order_and_never_lock_each_other_out(
    wants: list[tuple[list[Branch], bool]], acts: list[tuple[bool, int]]
) -> None:
    """Claims of places in a tree; some are given up while they wait, others end in any order."""
    held = ResourceLocks()
    claims = [held.claim(places, write) for places, write in wants]
    ended: set[int] = set()

    def check() -> None:
        for index, claim in enumerate(claims):
            before = [n for n in range(index) if n not in ended and claims[n].conflicts_with(claim)]
            assert claim.is_granted == (not before) or index in ended

    check()
    for _, number in [*acts, *((True, n) for n in range(len(claims)))]:
        index = number % len(claims)
        if claims[index].wanted:
            held.release(claims[index])
        ended |= {n for n, claim in enumerate(claims) if not claim.live}
        check()
    assert len(held) == 0 and held._root.idle


def test_a_thousand_calls_on_a_hundred_resources_look_at_few_of_each_other() -> None:
    held = ResourceLocks()
    claims = [held.claim([("file", f"d{n % 10}", f"f{n % 100}")], n % 3 == 0) for n in range(1000)]
    assert held.looked <= 1000 * 8
    for claim in claims:
        held.release(claim)
    assert len(held) == 0 and held._root.idle
