"""Places of the nodes of a graph on a plane: the forces of Fruchterman and Reingold (Graph Drawing by Force-directed
Placement, 1991), with the gravity of ForceAtlas2 (Jacomy et al. 2014) so that parts without a link stay near.

The start is a sunflower (Vogel 1979) of groups, each a sunflower of its nodes, so no random number is drawn and the
same graph has the same places. In larger graphs repulsion is computed on a mesh: masses are spread over its cells,
folded with the force of a unit mass by a Fourier transform, and read where the nodes are (Hockney and Eastwood,
Computer Simulation Using Particles, 1981). What a mesh cannot see, nodes within one cell, is pushed apart at the end.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Rows, Scores

Places = npt.NDArray[np.float64]
"""Shape (nodes, 2): x and y, in ideal distances between two nodes."""

ROUNDS: Final = 200
"""Rounds of forces; fewer in small graphs, see `_rounds`."""

EXACT: Final = 100
"""Nodes up to which the repulsion of every pair is computed: beyond, the mesh takes less time."""

CELLS: Final = 128
"""Cells of the mesh on each side. Its cost hardly depends on the nodes: two transforms of 256 by 256."""

GRAVITY: Final = 0.9
"""Pull of a node towards the middle, whatever its distance, for each square root of the nodes: strong enough that
nodes without a link stay beside the others."""

HEAT: Final = 0.12
"""Longest step of the first round, in radii of the start."""

GOLDEN: Final = math.pi * (3.0 - math.sqrt(5.0))
"""Angle between two leaves of a sunflower."""

GAP: Final = 0.55
"""Least distance of two nodes in the end."""

APART_ROUNDS: Final = 30
"""Rounds that push nodes apart; ten do for most graphs."""

NEAR: Final = 12
"""Nodes of one cell that a node is pushed away from in one round."""

TINY: Final = 1e-9


def layout(groups: Rows, source: Rows, target: Rows, weight: Scores) -> Places:
    """Return a place for each node; the middle of all is the origin. `groups`: a number for each node, shape (nodes,);
    nodes with equal ones begin side by side. Links, shape (links,): those of a node to itself count nothing, and the
    pull of one is its weight, above 0, shared among the links of its ends.

    Takes some ms for 100 nodes and about 2 s for 5,000: not for the event loop.
    """
    nodes = len(groups)
    places = _start(groups)
    apart = source != target
    source, target, weight = source[apart], target[apart], weight[apart]
    degree = np.bincount(np.concatenate([source, target]), minlength=nodes).astype(np.float64)
    pull = weight / np.sqrt(degree[source] * degree[target])
    repulsion = _exact if nodes <= EXACT else _on_mesh
    rounds, first = _rounds(nodes), HEAT * math.sqrt(max(1, nodes))
    gravity = GRAVITY * math.sqrt(max(1, nodes)) / 2.0
    for step in range(rounds):
        moves = repulsion(places)
        between = places[source] - places[target]
        between *= (pull * np.hypot(between[:, 0], between[:, 1]))[:, None]
        for axis in (0, 1):
            moves[:, axis] -= np.bincount(source, weights=between[:, axis], minlength=nodes)
            moves[:, axis] += np.bincount(target, weights=between[:, axis], minlength=nodes)
        moves -= gravity * places / (np.hypot(places[:, 0], places[:, 1]) + 1.0)[:, None]
        length = np.maximum(np.hypot(moves[:, 0], moves[:, 1]), TINY)
        moves *= (np.minimum(length, first * (1.0 - step / rounds)) / length)[:, None]
        places += moves
    places = _apart(places)
    return places - places.mean(axis=0) if nodes else places


def _rounds(nodes: int) -> int:
    return min(ROUNDS, 50 + nodes)


def _start(groups: Rows) -> Places:
    """Return a sunflower of groups, the largest in the middle."""
    _, of_node, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    radius, angle = np.empty(len(sizes)), np.empty(len(sizes))
    radius[order] = np.sqrt(before + np.where(before > 0, sizes[order] / 2.0, 0.0))
    angle[order] = GOLDEN * np.arange(len(sizes))
    within = np.empty(len(groups))
    within[np.argsort(of_node, kind="stable")] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _polar(radius[of_node], angle[of_node]) + 0.6 * _polar(np.sqrt(within + 0.5), GOLDEN * within)


def _polar(radius: Scores, angle: Scores) -> Places:
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _exact(places: Places) -> Places:
    """Return the repulsion of every node by all others: the inverse of their distance."""
    between = places[:, None, :] - places[None, :, :]
    between /= np.maximum((between**2).sum(axis=2), TINY)[:, :, None]
    found: Places = between.sum(axis=1)
    return found


def _on_mesh(places: Places) -> Places:
    """Return about the same: of nodes in one cell of the mesh and of its neighbours, less."""
    low = places.min(axis=0)
    side = max(float((places.max(axis=0) - low).max()), TINY) / (CELLS - 2)
    at = (places - low) / side
    cell = at.astype(np.int64)
    part = at - cell
    first = cell[:, 0] * CELLS + cell[:, 1]
    corners = [
        (first, (1.0 - part[:, 0]) * (1.0 - part[:, 1])),
        (first + 1, (1.0 - part[:, 0]) * part[:, 1]),
        (first + CELLS, part[:, 0] * (1.0 - part[:, 1])),
        (first + CELLS + 1, part[:, 0] * part[:, 1]),
    ]
    masses = sum(np.bincount(where, weights=share, minlength=CELLS**2) for where, share in corners)
    spread = np.fft.fft2(np.asarray(masses).reshape(CELLS, CELLS), (2 * CELLS, 2 * CELLS))
    field = np.fft.ifft2(spread * _kernel())[:CELLS, :CELLS].ravel()
    pushed = np.sum([field[where] * share for where, share in corners], axis=0) / side
    return np.stack([pushed.real, pushed.imag], axis=1)


@cache
def _kernel() -> npt.NDArray[np.complex128]:
    """Return the transformed force of a unit mass, x as the real and y as the imaginary part, in cells."""
    offsets = np.fft.fftfreq(2 * CELLS, 1.0 / (2 * CELLS))
    there = offsets[:, None] + 1j * offsets[None, :]
    return np.fft.fft2(there / np.maximum(np.abs(there) ** 2, 1.0))


def _apart(places: Places) -> Places:
    """Return places of which hardly any two are nearer than GAP."""
    for _ in range(APART_ROUNDS):
        one, other = _near(places)
        between = places[one] - places[other]
        distance = np.hypot(between[:, 0], between[:, 1])
        close = distance < GAP
        if not close.any():
            break
        one, other, between, distance = one[close], other[close], between[close], distance[close]
        same = distance < TINY
        between[same] = _polar(np.full(int(same.sum()), TINY), GOLDEN * one[same].astype(np.float64))
        between *= (0.5 * (GAP - distance) / np.maximum(distance, TINY))[:, None]
        for axis in (0, 1):
            places[:, axis] += np.bincount(one, weights=between[:, axis], minlength=len(places))
            places[:, axis] -= np.bincount(other, weights=between[:, axis], minlength=len(places))
    return places


def _near(places: Places) -> tuple[Rows, Rows]:
    """Return pairs of nodes in the same cell of GAP or in neighbouring ones, each once."""
    cell = np.floor((places - places.min(axis=0, initial=0.0)) / GAP).astype(np.int64) + 1
    width = int(cell.max(initial=0)) + 2
    keys = cell[:, 0] * width + cell[:, 1]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    ones, others = [], []
    for offset in (0, 1, width - 1, width, width + 1):
        first, end = np.searchsorted(keys, keys + offset), np.searchsorted(keys, keys + offset, side="right")
        if offset == 0:
            first = np.arange(len(keys)) + 1
        counts = np.clip(end - first, 0, NEAR)
        one = np.repeat(np.arange(len(keys)), counts)
        other = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts) + first[one]
        ones.append(order[one])
        others.append(order[other])
    return np.concatenate(ones), np.concatenate(others)
