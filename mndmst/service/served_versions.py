"""What a graph and points that clients know by a name share: versions and batches.

The main thread of each rank makes versions and publishes each by replacing one
reference. Other threads read the reference once and use the value they get.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from threading import Condition
from typing import Generic, Protocol, TypeVar
from uuid import NAMESPACE_URL, uuid5

from ..comm.communicator import Comm
from ..host.errors import ConfigError, InputError, MndmstError
from ..host.progress import Progress
from .jobs import FatalError
from .journal import Changes, Journal
from .protocol import Request, ServiceAnswer
from .uploads import HeldUpload
from .version_history import StaleVersionError


class Made(Protocol):
    """The result of a batch that no request sees yet; the same version on all ranks."""

    @property
    def version(self) -> int:
        """The version that the batch has made."""


MadeVersion = TypeVar("MadeVersion", bound=Made)
# The uploads of a batch by the field of the request; None for one that has not come
SentColumns = dict[str, HeldUpload | None]


class ServedVersions(ABC, Generic[Changes, MadeVersion]):
    """The versions of one graph, or of one set of points, and its journal.

    The first version has a number and a uuid.
    """

    def __init__(self, comm: Comm, name: str, first: int, uuid: str) -> None:
        self.comm, self.name = comm, name
        self._first, self.uuid = first, uuid
        self._published = Condition()
        self.journaled = False  # Whether rank 0 has one
        self.journal: Journal[Changes] | None = None  # On rank 0, if there is one

    # For every thread

    @property
    @abstractmethod
    def version(self) -> int:
        """The number of the newest version."""

    def check_reached(self, number: int) -> None:
        """Raise ConfigError if a version has not been reached."""
        if number > (newest := self.version):
            raise ConfigError(
                f"there is no version {number} of {self.name} yet: the newest one is "
                f"{newest}; give that or an earlier one"
            )

    def wait(self, after: int, seconds: float) -> bool:
        """Wait for a version later than `after`; return whether there is one."""
        with self._published:
            return self._published.wait_for(lambda: self.version > after, seconds)

    def stale(self, number: int) -> StaleVersionError:
        """Return the error for a version that is no longer held."""
        return StaleVersionError(
            f"version {number} of {self.name} is no longer held, and its present "
            f"version is {self.version}. Ask for the flight info again."
        )

    def check_upload(self, kind: str, upload: HeldUpload | None) -> None:
        """Raise MndmstError if an upload names another version, or is for another."""
        if upload is None or upload.version is None:
            return
        if upload.version.graph != self.name:
            raise InputError(
                f"the {kind} sent belong to {upload.version.graph}; send them for "
                f"{self.name}"
            )
        self.check_sent(kind, upload.version.number)

    @abstractmethod
    def check_sent(self, kind: str, version: int) -> None:
        """Raise StaleVersionError if an upload of a version does not suit this one."""

    def uuid_of(self, number: int) -> str:
        """Return the uuid of a version, which its snapshot has."""
        if number == self._first:
            return self.uuid
        return str(uuid5(NAMESPACE_URL, f"{self.uuid} version {number}"))

    # For the main thread of every rank

    def update(
        self,
        fields: Request,
        sent: SentColumns,
        progress: Progress,
        proceed: Callable[[], None],
        commit: Callable[[], None],
    ) -> ServiceAnswer:
        """Make the version of a batch that a client has sent to rank 0. Collective.

        `proceed` and `commit` raise on all ranks if the client has cancelled it. The
        batch is on disk before a request sees its version. Raises MndmstError on every
        rank, and changes nothing, if the batch is refused; FatalError if memory is
        ahead of the disk.
        """
        batch: Changes | MndmstError | None = None
        packed = b""
        if self.comm.rank == 0:
            try:
                batch = self.read(fields, sent)
                if self.journal is not None:
                    packed = self.journal.packed(batch)
            except MndmstError as error:  # which all ranks raise
                batch = error
        self.prepare(progress, proceed)
        commit()
        made = self.apply(batch)
        if self.journaled:
            self._append(made.version, packed)
        self.publish(made)
        return self.answer_of(made)

    def _append(self, version: int, packed: bytes) -> None:
        """Write a batch to the journal. Collective."""
        try:
            with self.comm.raise_on_all():
                if self.journal is not None:
                    self.journal.append(version, packed)
        except MndmstError as error:
            raise FatalError(f"{error} The service ends.") from error

    def replay(self, batch: Changes | None) -> None:
        """Make the version of a batch in the journal, which rank 0 has. Collective.

        Raises InputError on every rank if the batch does not suit the version before.
        """
        checked: Changes | MndmstError | None = batch
        if batch is not None:
            try:
                self.check_replayed(batch)
            except MndmstError as error:
                checked = error
        self.prepare(Progress(False), lambda: None)
        self.publish(self.apply(checked))

    @abstractmethod
    def check_replayed(self, batch: Changes) -> None:
        """Raise InputError if a batch of the journal does not suit; on rank 0.

        `apply` may find more problems.
        """

    @abstractmethod
    def read(self, fields: Request, sent: SentColumns) -> Changes:
        """Return the batch that a client has sent to rank 0, which calls it alone.

        `fields` are those of the request. Raises InputError if it is not a batch.
        """

    @abstractmethod
    def prepare(self, progress: Progress, proceed: Callable[[], None]) -> None:
        """Make what `apply` needs and the current version lacks. Collective.

        Raises ConfigError on every rank if it does not fit the memory.
        """

    @abstractmethod
    def apply(self, batch: Changes | MndmstError | None) -> MadeVersion:
        """Make changes, which no request sees before `publish`. Collective.

        Rank 0 gives the batch, or an error for all ranks. Raises MndmstError on every
        rank if a change cannot be made; then none has been.
        """

    @abstractmethod
    def publish(self, made: MadeVersion) -> None:
        """Publish the version that a batch has made. Collective."""

    @abstractmethod
    def answer_of(self, made: MadeVersion) -> ServiceAnswer:
        """Return the facts about a batch that its client gets."""

    @abstractmethod
    def write_snapshot(self, path: Path) -> str:
        """Write the current version to a new path; return its uuid. Collective.

        Raises OutputError on every rank if it cannot be written; nothing is then left.
        """

    def _announce(self) -> None:
        """Wake the threads that wait for a version."""
        with self._published:
            self._published.notify_all()
