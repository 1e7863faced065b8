"""Random cases of all that may go wrong, as many as fit into some minutes.

    python -m tests.campaign --minutes 10 --seed 1
    python -m tests.campaign --minutes 60 --kinds services
    python -m tests.campaign --seed 1 --case kills-7

Kinds of cases: `solves` compares forests and verdicts with an independent Kruskal,
`kills` ends runs at random moments and goes on, `damages` changes input files, `disks`
has outputs on full ones, `tables` writes edges and points in random dialects, `marks`
has comments, headers and names that begin with # or %, `clouds` has columns of ids
beside points and matrices of distances with names, `files` writes the graph files of
other programs, with and without flaws. `ids` takes a file that counts from 1 through
commands, Python and a service, and `maxima` asks maximum forests all queries.
`versions` inserts and removes points in batches in Python, by files and in a service
that is killed, and compares forest and clusters with those of a fresh fit, on ranks.
`services` has clients in threads that change a graph and read it, while ranks are
killed and continue from their journal, and an oracle that knows all versions. A case is
drawn from the seed, its kind and its number alone, so the last command repeats one.
Threads of `services` meet by chance: repeat such a case several times.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path += [str(TESTS), str(TESTS / "mpi")]
