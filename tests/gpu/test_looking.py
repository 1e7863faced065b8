"""What the device finds of the arcs of rows is what the host finds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from processes import finish, python, start
from shapes import IDS, KEYS, SHAPES, csr, edges_of
from shard_files import symmetric_rows, write

from mndmst.backends.cuda import unavailable
from mndmst.graph.order import key_rule
from mndmst.kernels.arc_inspection import inspect_rows

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


def on_the_host(rows):
    rule = key_rule(rows.keys.dtype)
    found = inspect_rows(rows.csr, (0, rows.num_arcs), rows.num_vertices, rule)
    status, _, _, edges, balance = found
    return None if status else (edges, balance)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_facts_are_the_hosts(backend, shape, keys, ids):
    n, u, v, key = edges_of(shape, np.random.default_rng(5), keys)
    whole = csr(n, u, v, key, ids)
    parts = whole.cut(0, n // 3), whole.cut(n // 3, n), whole
    found = [backend.inspect_arcs(backend.upload(rows), n) for rows in parts]
    assert found == [on_the_host(rows) for rows in parts]
    assert sum(facts.balance for facts in found) % (1 << 64) == 0


@pytest.mark.parametrize("ids", IDS)
def test_ids_that_are_wrong_are_no_facts(backend, ids):
    n, u, v, key = edges_of("gnm", np.random.default_rng(5), np.uint32)
    whole = csr(n, u, v, key, ids)
    row = int(np.flatnonzero(np.diff(whole.indptr[n // 2 :]) > 2)[0]) + n // 2
    first, last = whole.indptr[row], whole.indptr[row + 1] - 1
    for place, head in ((last, n), (first, whole.indices[last])):
        wrong = whole.indices.copy()
        wrong[place] = head
        for rows in (whole, whole.cut(n // 3, n)):
            part = wrong[len(wrong) - rows.num_arcs :]
            damaged = replace(rows, indices=part)
            assert on_the_host(damaged) is None
            assert backend.inspect_arcs(backend.upload(damaged), n) is None


@pytest.mark.parametrize("what", ["asymmetric", "descending", "far"])
def test_the_command_names_what_is_wrong_on_every_device(tmp_path: Path, what: str):
    indptr, heads, weights = symmetric_rows(6000, 50_000)
    row = int(np.flatnonzero(np.diff(indptr) > 3)[5])
    low, high = indptr[row], indptr[row + 1]
    if what == "asymmetric":
        weights[low] += 1
    elif what == "descending":
        heads[low:high] = heads[low:high][::-1].copy()
    else:
        heads[high - 1] = 6000
    path = write(tmp_path / "graph", (indptr, heads, weights), [0, 2000, 6000])
    told = []
    for backend in ("cpu", "cuda"):
        solve = python("-m", "mndmst", "solve", path, "-q", "--backend", backend)
        run = finish(start(solve), timeout=120)
        assert run.returncode == 1
        told.append(run.stderr.splitlines()[-1])
    assert told[0] == told[1]
    assert str(path) in told[0]
