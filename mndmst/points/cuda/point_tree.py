"""The exact minimum spanning forest of points in few dimensions, on a CUDA device.

Points are sorted along Hilbert's curve. A few consecutive points are a leaf of a
complete binary tree of boxes (`kernels/point_tree.cu`). Core distances come from a walk
of the tree for each point. In each Borůvka round the known edges of a component are
those of its points to listed neighbours, and those between neighbours on the curve. The
lightest of them is the component's bound. Only points that may have a lighter edge walk
the tree again, within this bound, and skip all subtrees of the component. Components
with more such points than others wait for a later round: the single-tree Borůvka of
Prokopenko, Sao and Lebrun-Grandié (ICPP 2022), with bounds that stay valid from round
to round.

The kernels compute the distances of `points/kernels` in float64 and compare edges by
(weight, smaller point, larger point), so the forest has the same bits as on a CPU.

Only these kernels and Thrust's sorts run: CuPy compiles its own kernels on first use.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter

import cupy
import numpy as np

from ...backends.cuda.kernels import NULL, order_of
from ...backends.cuda.modules import struct_of
from ...backends.cuda.transfer import Transfer
from ...host.memory_costs import DEVICE_LIBRARIES_RESERVE, DEVICE_TREE_POINT_BYTES
from ..devices import TreeEdges, TreePoints
from .device_products import check_room, current_device
from .modules import SOURCES, listed_for, tree_macros, type_name

LEAF = 8  # most points of a leaf
BLOCK = 128  # threads of a block
EXTENT_BLOCKS = 1024
# Codes of this many bits per coordinate separate all points that differ in float64.
LEVELS_OF_BITS = 54
# A component waits in a round if it has PATIENCE times the average number of searches.
# So at least a third of all components take part.
PATIENCE = 1.5
TREE = np.dtype(
    [(n, np.uint64) for n in ("points", "point", "cores", "lower_bound", "listed")]
    + [(n, np.uint64) for n in ("boxes", "first_point", "least_core", "of_node")]
    + [(n, np.uint64) for n in ("count", "leaves", "leaf_size", "norm")]
)
ROUNDS = {
    "component": np.uint32,
    "weight": np.float64,
    "end": np.uint32,
    "bound": np.uint64,
    "key": np.uint64,
    "chosen": np.uint32,
    "target": np.uint32,
    "parent": np.uint32,
    "uncertain": np.uint32,
    "queries": np.uint32,
    "counts": np.uint64,
    "edge_weight": np.float64,
    "edge_key": np.uint64,
}


class CudaPointTree:
    """Points in the order of a curve on one device, and the boxes of their tree.

    Points of the host go to the first device. Raises DeviceMemoryError if the device
    has too little memory.
    """

    def __init__(self, points: TreePoints) -> None:
        values: np.ndarray | cupy.ndarray = points.values
        on_device = isinstance(values, cupy.ndarray)
        self.device = values.device if on_device else cupy.cuda.Device(0)
        self.count, self.dimensions = points.values.shape
        self.seconds: dict[str, float] = {}
        self._mutual = points.min_samples > 0
        self._listed = listed_for(points.min_samples)
        with self._current():
            needed = self.bytes_needed(values.itemsize)
            check_room(f"a tree of {self.count:,} points takes", needed)
            self._transfer = Transfer()
            with self._timed("upload"):
                if not on_device:
                    values = self._transfer.to_device(values.reshape(-1))
                values = cupy.ascontiguousarray(values).reshape(self.count, -1)
            with self._timed("compile"):
                macros = tree_macros(
                    type_name(values.dtype),
                    self.dimensions,
                    self._mutual,
                    self._listed,
                )
                self._module = SOURCES.load_module("point_tree", macros)
            with self._timed("tree"):
                self._build(values, points.norm)
            with self._timed("neighbours"):
                self._find_neighbours(points.min_samples)

    def bytes_needed(self, itemsize: int) -> int:
        """Return about how many bytes the points and the forest take on the device."""
        nodes = 4 * self.count // LEAF  # at most
        boxes = nodes * (2 * self.dimensions * itemsize + 16)
        each = (
            2 * self.dimensions * itemsize + 4 * self._listed + DEVICE_TREE_POINT_BYTES
        )
        return self.count * each + boxes + DEVICE_LIBRARIES_RESERVE

    def _current(self) -> AbstractContextManager[None]:
        """Make the device current; turn its lack of memory into DeviceMemoryError."""
        return current_device(self.device, "a tree of the points")

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Time a stage of the device, and add its seconds to `seconds`."""
        begun = perf_counter()
        yield
        cupy.cuda.get_current_stream().synchronize()
        spent = perf_counter() - begun
        self.seconds[stage] = self.seconds.get(stage, 0.0) + spent

    def _run(self, kernel: str, threads: int, *arguments: object) -> None:
        function = self._module.get_function(kernel)
        function((-(-threads // BLOCK),), (BLOCK,), arguments)

    def _step(self, kernel: str, *arguments: object, threads: int = 0) -> None:
        """Run a kernel of a round, by default with a thread a point."""
        threads = threads or self.count
        self._run(kernel, threads, self._tree, self._state, *arguments)

    # ------------------------------------------------------------ the tree

    def _build(self, values: cupy.ndarray, norm: int) -> None:
        """Sort the points, and compute the boxes of all nodes."""
        point = self._order(values)
        self._points = cupy.empty(values.shape, values.dtype)
        count = np.uint64(self.count)
        self._run("gather_points", values.size, values, point, count, self._points)
        leaves = 1 << max(0, math.ceil(math.log2(self.count / LEAF)))
        self._leaves = leaves
        self._arrays = {
            "points": self._points,
            "point": point,
            "cores": cupy.empty(self.count if self._mutual else 0),
            "lower_bound": cupy.empty(self.count),
            "listed": cupy.empty(self._listed * self.count, np.uint32),
            "boxes": cupy.empty(4 * leaves * self.dimensions, values.dtype),
            "first_point": cupy.empty(2 * leaves, np.uint32),
            "least_core": cupy.empty(2 * leaves if self._mutual else 0),
            "of_node": cupy.empty(2 * leaves, np.uint32),
        }
        leaf_size = -(-self.count // leaves)
        self._tree = struct_of(
            TREE,
            self._arrays,
            count=self.count,
            leaves=leaves,
            leaf_size=leaf_size,
            norm=norm,
        )
        self._run("box_leaves", leaves, self._tree)
        self._upwards("box_nodes")

    def _upwards(self, kernel: str) -> None:
        """Run a kernel on the inner nodes, level by level."""
        begin = self._leaves // 2
        while begin:
            self._run(kernel, begin, self._tree, np.uint64(begin))
            begin //= 2

    def _find_neighbours(self, min_samples: int) -> None:
        self._run("find_neighbours", self.count, self._tree, np.uint64(min_samples))
        if not self._mutual:
            return
        self._run("least_core_of_leaves", self._leaves, self._tree)
        self._upwards("least_core_of_nodes")

    def _order(self, values: cupy.ndarray) -> cupy.ndarray:
        """Return the points in the order of the curve."""
        count, frame = self.count, self._frame(values)
        codes = self._codes(values, NULL, count, frame, 0)
        point, ordered = cupy.empty(count, np.uint32), cupy.empty(count, np.uint64)
        crowded = cupy.zeros(1, np.uint32)
        self._run(
            "apply_order",
            count,
            order_of(codes),
            codes,
            np.uint64(count),
            np.uint64(LEAF),
            point,
            ordered,
            crowded,
        )
        if int(crowded[0]):
            self._order_inside_cells(values, frame, point, ordered)
        return point

    def _order_inside_cells(
        self,
        values: cupy.ndarray,
        frame: cupy.ndarray,
        point: cupy.ndarray,
        codes: cupy.ndarray,
    ) -> None:
        """Order the points inside crowded cells by the curve through each, recursively.

        One outlier makes the cells of all other points large.
        """
        above: cupy.ndarray | np.uint64 = NULL
        group: cupy.ndarray | np.uint64 = NULL
        for level in range(1, -(-LEVELS_OF_BITS // _bits(self.dimensions))):
            count = len(codes)
            start, key = (cupy.empty(count, np.uint64) for _ in range(2))
            crowded = cupy.zeros(1, np.uint32)
            size, leaf = np.uint64(count), np.uint64(LEAF)
            # 1. The runs of more than `leaf` points with one code are crowded cells
            self._run("find_runs", count, codes, group, size, leaf, start, key, crowded)
            count = int(crowded[0])
            if count == 0:
                break
            size = np.uint64(count)
            position, chosen = (cupy.empty(count, np.uint32) for _ in range(2))
            run, run_by_code, codes, group = (
                cupy.empty(count, np.uint64) for _ in range(4)
            )
            # 2. Their points get codes of the curve one level deeper
            order = order_of(key)
            self._run(
                "take_runs", count, order, size, above, start, point, position, chosen,
                run,
            )  # fmt: skip
            unsorted = self._codes(values, chosen, count, frame, level)
            # 3. A sort by code, and a stable one by run, order the points of each run
            by_code = order_of(unsorted)
            self._run("gather_words", count, by_code, size, run, run_by_code)
            by_run = order_of(run_by_code)
            self._run(
                "order_runs", count, by_code, by_run, size, position, chosen, unsorted,
                run, point, codes, group,
            )  # fmt: skip
            above = position

    def _frame(self, values: cupy.ndarray) -> cupy.ndarray:
        """Return the smallest coordinates, and the cells per unit of length."""
        d = self.dimensions
        empty_extent = np.zeros(2 * d, np.uint64)
        empty_extent[:d] = np.uint64(2**64 - 1)
        extent = cupy.asarray(empty_extent)
        threads = min(self.count, EXTENT_BLOCKS * BLOCK)
        self._run("find_extent", threads, values, np.uint64(self.count), extent)
        low, high = _floats(cupy.asnumpy(extent)).reshape(2, d)
        length = float((high - low).max())
        with np.errstate(over="ignore"):
            cells = np.float64(2.0 ** _bits(d) * (1 - 2.0**-50)) / (length or 1.0)
        return cupy.asarray(np.append(low, min(cells, np.finfo(np.float64).max)))

    def _codes(
        self,
        values: cupy.ndarray,
        chosen: cupy.ndarray | np.uint64,
        count: int,
        frame: cupy.ndarray,
        level: int,
    ) -> cupy.ndarray:
        """Return the indices of cells on the curve; `chosen` is NULL for all points."""
        codes = cupy.empty(count, np.uint64)
        self._run(
            "make_codes",
            count,
            values,
            chosen,
            np.uint64(count),
            frame,
            np.int32(level),
            codes,
        )
        return codes

    # ------------------------------------------------------------ the forest

    def forest(self, report: Callable[[int], object]) -> TreeEdges:
        """Return the forest's edges; `report` takes the number of components."""
        with self._current():
            with self._timed("rounds"):
                weight, key, certain = self._join(report)
            with self._timed("sort edges"):
                weight, key = self._by_key(weight, key)
            with self._timed("download"):
                weight = self._transfer.to_host(weight)
                key = self._transfer.to_host(key)
        return TreeEdges(weight, key, certain, self.seconds)

    def _by_key(
        self, weight: cupy.ndarray, key: cupy.ndarray
    ) -> tuple[cupy.ndarray, cupy.ndarray]:
        """Return edges in the order of their keys."""
        sorted_weight, sorted_key = cupy.empty_like(weight), cupy.empty_like(key)
        self._run(
            "gather_edges",
            len(key),
            order_of(key),
            weight,
            key,
            np.uint64(len(key)),
            sorted_weight,
            sorted_key,
        )
        return sorted_weight, sorted_key

    def _join(
        self, report: Callable[[int], object]
    ) -> tuple[cupy.ndarray, cupy.ndarray, int]:
        """Join all components; also return the number of edges of the first round."""
        count = self.count
        arrays = {name: cupy.empty(count, kind) for name, kind in ROUNDS.items()}
        arrays["counts"] = counts = cupy.zeros(3, np.uint64)
        kinds = np.dtype([(name, np.uint64) for name in ROUNDS])
        self._state = struct_of(kinds, arrays)
        self._step("start_rounds")
        edges = certain = 0
        while edges < count - 1:
            report(count - edges)
            self._step("begin_round")
            self._step("lower_bounds")
            self._step("count_uncertain")
            searches = int(counts[1])
            most = np.uint64(PATIENCE * searches / (count - edges))
            self._step("list_uncertain", most)
            if searches:
                self._run("name_leaves", self._leaves, self._tree, arrays["component"])
                self._upwards("name_nodes")
                self._step("walk_lightest", threads=searches)
            self._step("find_keys", most)
            self._step("choose_edges", most)
            self._step("link_components")
            self._step("rename_points")
            edges = int(counts[0])
            certain = certain or edges
        return arrays["edge_weight"][:edges], arrays["edge_key"][:edges], certain


def _bits(dimensions: int) -> int:
    """Return the number of bits of a coordinate in a code, as in point_tree.cu."""
    return min(32, 64 // dimensions)


def _floats(ordered: np.ndarray) -> np.ndarray:
    """Return the float64 numbers of bits as `ordered` in point_tree.cu returns them."""
    top = np.uint64(1 << 63)
    return np.where(ordered >= top, ordered ^ top, ~ordered).view(np.float64)
