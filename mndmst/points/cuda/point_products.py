"""Points on some CUDA devices, searched by matrix products."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import chain

import cupy
import numpy as np

from ...backends.base import DeviceMemoryError
from ...host.errors import ConfigError
from ..devices.component_pairs import (
    FILLED,
    MOST,
    listed_pairs,
    order_by_component,
    possible_pairs,
)
from ..devices.point_products import (
    MOST_NEIGHBOURS,
    ComponentArrays,
    EdgesBetween,
    PointArrays,
    PointExchange,
    RemoteQueries,
    Report,
)
from .component_pairs import ComponentPairs
from .device_products import DeviceProducts

FEWER = 8  # times fewer components, after which another pass over all pairs may do
POLL = 0.1  # seconds between two reports, in which signals are handled


class CudaPointProducts:
    """Points on devices, each of which has all points; see `PointProducts`.

    The devices take blocks of rows in turn.
    """

    def __init__(self, points: PointArrays, devices: Sequence[int] = (0,)) -> None:
        self.count = len(points.source)
        self.most_components, self.passes = MOST, 2
        self._pool = ThreadPoolExecutor(len(devices), "mndmst-products")
        made = [self._pool.submit(DeviceProducts, points, i) for i in devices]
        self._devices = [future.result() for future in made]

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest`."""
        _check_length(k)
        distance = np.empty((self.count, k))
        positions = np.empty((self.count, k), np.uint32)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            queries = np.arange(begin, end, dtype=np.uint32)
            nearest, ends = device.nearest_of(device.points, queries, k)
            distance[begin:end] = device.download(nearest)
            positions[begin:end] = device.download(ends)

        self._run_blocks(self.count, search, report)
        return distance, positions

    def nearest_to(
        self, points: np.ndarray, limits: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.nearest_to`."""
        _check_length(k)
        distance = np.empty((len(points), k))
        positions = np.empty((len(points), k), np.uint32)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            point = np.zeros(end - begin, np.uint32)  # unused
            queries = device.queries(points[begin:end], point)
            rows = np.arange(end - begin, dtype=np.uint32)
            nearest, ends = device.nearest_of(queries, rows, k, limits[begin:end])
            distance[begin:end] = device.download(nearest)
            positions[begin:end] = device.download(ends)

        self._run_blocks(len(points), search)
        return distance, positions

    def lightest(
        self,
        components: ComponentArrays,
        queries: np.ndarray,
        bounded: bool,
        report: Report,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest`; always within the bounds of components."""
        ends, weights = np.empty(len(queries), np.uint32), np.empty(len(queries))
        on_devices = self._uploaded(components)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            uploaded, positions = on_devices[device], queries[begin:end]
            ends[begin:end], weights[begin:end] = device.lightest_of(
                device.points,
                positions,
                uploaded.of_position,
                uploaded.cores,
                uploaded,
                np.full(len(positions), np.inf),
            )

        self._run_blocks(len(queries), search, report)
        self._lower(components, on_devices)
        return ends, weights

    def lightest_to(
        self, components: ComponentArrays, queries: RemoteQueries
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `PointProducts.lightest_to`."""
        count = len(queries.point)
        ends, weights = np.empty(count, np.uint32), np.empty(count)
        on_devices = self._uploaded(components)

        def search(device: DeviceProducts, begin: int, end: int) -> None:
            part = slice(begin, end)
            ends[part], weights[part] = device.lightest_of(
                device.queries(queries.points[part], queries.point[part]),
                np.arange(end - begin, dtype=np.uint32),
                cupy.asarray(queries.component[part]),
                cupy.asarray(queries.core[part]),
                on_devices[device],
                queries.bound[part],
            )

        self._run_blocks(count, search)
        self._lower(components, on_devices)
        return ends, weights

    def between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> EdgesBetween | None:
        """See `PointProducts.between`; only pairs that the forest may join."""
        edges = self._between(components, least, exchange, report)
        if edges is None:  # with nearly as many components it would fail as well
            self.most_components = len(components.bound) // FEWER
        return edges

    def _between(
        self,
        components: ComponentArrays,
        least: np.ndarray,
        exchange: PointExchange,
        report: Report,
    ) -> EdgesBetween | None:
        """Return the edges; None if a device lacks memory, or lists too many or few."""
        ranks, count = exchange.ranks, len(components.bound)
        order = order_by_component(components.of_position, count)
        if ranks.sum(self.count) < FILLED * ranks.sum(len(order.positions)):
            return None
        made: dict[DeviceProducts, ComponentPairs] = {}
        with suppress(DeviceMemoryError):
            for device in self._devices:
                with device.current():
                    cores = components.cores
                    made[device] = ComponentPairs(device, order, cores, count)
        if ranks.max(len(self._devices) - len(made)):
            return None
        all_pairs = list(made.values())

        def report_units(done: int, total: int) -> None:
            report(self.count * done // max(total, 1), self.count)

        def launch(kernel: str) -> Iterator[None]:
            """Launch a kernel for local points, then for batches of received ones."""
            batches = exchange.received(order.positions, components)
            for received, compared in chain([(None, 0)], batches):
                for device, pairs in made.items():
                    with device.current():
                        pairs.receive(received, compared)

                def launch_unit(device: DeviceProducts, unit: int, _: int) -> None:
                    made[device].launch(kernel, unit)

                units = min(pairs.units for pairs in all_pairs)
                self._run_blocks(units, launch_unit, report_units, 1)
                yield

        for _ in launch("bound_pairs"):
            pass
        most = ranks.min(np.minimum.reduce([pairs.least() for pairs in all_pairs]))
        most = np.minimum(most, most.T)
        width = ranks.max(max(pairs.width for pairs in all_pairs))
        # A device whose bound exceeds a known edge has computed wrong bounds.
        known = np.flatnonzero(least < np.inf)
        if (most.ravel()[known] - width > least.ravel()[known] ** 2).any():
            return None
        limits = possible_pairs(most, width)
        for device, pairs in made.items():
            with device.current():
                pairs.set_limits(limits)
        parts = []
        for _ in launch("list_pairs"):
            for device, pairs in made.items():
                with device.current():
                    parts.append(pairs.take())
        edges = EdgesBetween(*map(np.concatenate, zip(*parts, strict=True)))
        failed = ranks.max(int(any(pairs.failed for pairs in all_pairs)))
        listed = ranks.max(listed_pairs(edges, count))
        return None if failed or not listed[limits >= 0].all() else edges

    def _uploaded(
        self, components: ComponentArrays
    ) -> dict[DeviceProducts, ComponentArrays]:
        """Return a copy of the components on each device."""
        on_devices = {}
        for device in self._devices:
            with device.current():
                on_devices[device] = ComponentArrays(*map(device.upload, components))
        return on_devices

    def _lower(
        self,
        components: ComponentArrays,
        on_devices: dict[DeviceProducts, ComponentArrays],
    ) -> None:
        """Lower bounds of components to the edges that the devices have found."""
        for device, uploaded in on_devices.items():
            with device.current():
                lowered = cupy.asnumpy(uploaded.bound)
            np.minimum(components.bound, lowered, out=components.bound)

    def _run_blocks(
        self,
        count: int,
        search: Callable[[DeviceProducts, int, int], None],
        report: Report = lambda done, total: None,
        most: int = 0,
    ) -> None:
        """Call search(device, begin, end) for blocks of `count` rows.

        Each device takes the next block, in a thread of its own. A block has at most
        `most` rows; if that is 0, at most `rows_at_once` of the device.
        """
        lock, stop = threading.Lock(), threading.Event()
        taken = 0

        def run(device: DeviceProducts) -> None:
            nonlocal taken
            with device.current():
                while not stop.is_set():
                    with lock:
                        begin = taken
                        fair = -(-(count - begin) // len(self._devices))
                        size = min(most or device.rows_at_once(), fair)
                        end = min(begin + size, count)
                        taken = end
                    if begin == end:
                        return
                    search(device, begin, end)
                    cupy.cuda.get_current_stream().synchronize()

        running = [self._pool.submit(run, device) for device in self._devices]
        try:
            while wait(running, POLL).not_done:
                report(taken, count)
        finally:
            stop.set()
            wait(running)
        for future in running:
            future.result()
        report(count, count)


def _check_length(k: int) -> None:
    if k > MOST_NEIGHBOURS:
        raise ConfigError(f"a device lists at most {MOST_NEIGHBOURS} neighbours")
