"""forget: out of recall, the partner on its own again, and refused when there is nothing to forget."""

from __future__ import annotations

import msgspec
import pytest

from mnemond.errors import NOT_FOUND, MnemonError
from tests.memory.revision_world import RevisionWorld


def test_the_row_stays_and_the_links_go(world: RevisionWorld) -> None:
    one, other = world.new("The Redis cache"), world.new("The Redis queue")
    done = world.drop(one[:8])
    assert (done.id, done.status, done.merged_into) == (one, "deleted", None)
    assert done.edges_removed == 2
    assert world.links(other) == []
    assert world.row(one).status == "forgotten"


def test_a_partner_is_on_its_own_again(world: RevisionWorld) -> None:
    one, two = world.new("tea at four"), world.new("tea at four again")
    world.revise(one, paired_with=two)
    world.revise(two, paired_with=one)
    world.drop(one)
    assert world.insight(two).paired_with is None


def test_twice_is_refused_and_says_why(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    first = world.drop(one, op="mine")
    with pytest.raises(MnemonError, match="it is forgotten") as caught:
        world.drop(one)
    assert caught.value.kind is NOT_FOUND
    assert world.drop(one, op="mine") == msgspec.structs.replace(first, replayed=True)


def test_purged_is_for_good(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    world.drop(one)
    first = world.drop(one[:8], purge=True, op="mine")
    assert (first.id, first.status, first.edges_removed) == (one, "purged", 0)
    assert world.drop(one[:8], purge=True, op="mine") == msgspec.structs.replace(first, replayed=True)
    with pytest.raises(MnemonError, match="was purged: nothing of it is kept"):
        world.restore(one)


def test_a_chain_of_successors_that_is_a_circle_ends(world: RevisionWorld) -> None:
    one, two = world.new("tea at four"), world.new("tea at five")
    world.supersede(one, two)
    world.drop(two)
    world.read(lambda it: it.run("UPDATE insights SET superseded_by = ? WHERE id = ?", (one, two)))
    assert world.restore(one).superseded_by is None
