"""Parts of the service by themselves: requests, access, uploads, jobs, metrics."""

import io
import json
import re
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import ROOT

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

import pyarrow as arrow

from mndmst.host.errors import ConfigError, InputError
from mndmst.service.access import Access, check_open, find_token, read_listen
from mndmst.service.jobs import CancelledError, JobQueue
from mndmst.service.limits import ServiceMemory
from mndmst.service.metrics import FinishedRequest, Metrics, RequestLog
from mndmst.service.protocol import ACTIONS, MESSAGE_BYTES, batches_of, read_request
from mndmst.service.rank_server import sent_batches
from mndmst.service.uploads import Uploads

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["graph", "weights", "below"]), inner)
    ),
    max_leaves=8,
)


@given(st.sampled_from(sorted(ACTIONS)), st.binary(max_size=60) | JSON.map(json.dumps))
def test_a_request_is_read_or_refused(action: str, body: bytes | str) -> None:
    fields = ACTIONS[action][1]
    try:
        given = body if isinstance(body, bytes) else body.encode()
        request = read_request(action, given, fields)
    except ConfigError as error:
        assert str(error).startswith(f"{action}: ")
        return
    assert set(request) <= set(fields)
    assert all(name in request for name, field in fields.items() if field.required)


def test_the_page_has_every_action_and_field() -> None:
    page = (ROOT / "mndmst/docs/service.md").read_text()
    section = page.partition("## Protocol")[2].partition("## Security")[0]
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", section, re.M)
    told = {name: set(re.findall(r"`(\w+)`", fields)) for name, fields in rows}
    assert told == {name: set(fields) for name, (_, fields) in ACTIONS.items()}


def _paths(rows: int, edges: int) -> arrow.Table:
    """A table with paths of some edges each."""
    ends = arrow.array(np.arange(rows * edges))
    edge = arrow.StructArray.from_arrays([ends, ends, ends], ["src", "dst", "weight"])
    offsets = np.arange(0, rows * edges + 1, edges)
    return arrow.table({"path": arrow.LargeListArray.from_arrays(offsets, edge)})


SOME = np.arange(1_500_000)
ANSWERS = {
    "labels": arrow.table({"label": SOME}),
    "clusters": arrow.table({"label": SOME, "probability": SOME / 7}),
    "connected": arrow.table({"connected": np.zeros(30_000_000, bool)}),
    "path_max": arrow.table(
        {c: arrow.array(SOME, mask=SOME % 3 == 0) for c in ("src", "dst", "weight")}
    ),
    "path": _paths(5000, 100),
    "names": arrow.table({"name": arrow.array(["n" * 700] * 9000, "large_string")}),
    "one name": arrow.table({"name": [*"ab", "n" * 2_000_000, *"cdef"]}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_batch_fits_the_default_limit_of_grpc(name: str) -> None:
    table = ANSWERS[name]
    batches = batches_of(table)
    assert arrow.Table.from_batches(batches).equals(table)
    assert max(map(arrow.ipc.get_record_batch_size, batches)) < 4 << 20
    assert (
        len(batches) <= 4 * table.nbytes / MESSAGE_BYTES + 1
    )  # no smaller than need be


def test_a_row_beyond_the_limit_is_a_batch_by_itself() -> None:
    table = arrow.concat_tables([_paths(3, 2), _paths(1, 200_000), _paths(3, 2)])
    sizes = [batch.num_rows for batch in batches_of(table)]
    assert sum(sizes) == 7 and 1 in sizes
    assert arrow.Table.from_batches(batches_of(table)).equals(table.combine_chunks())
    (empty,) = batches_of(table.slice(0, 0))
    assert empty.num_rows == 0 and empty.schema == table.schema


def test_access() -> None:
    assert read_listen("127.0.0.1:0") == ("127.0.0.1", 0)
    assert read_listen("[::1]:80") == ("::1", 80)
    for text in ("", "host", "host:", ":x", "host:70000"):
        with pytest.raises(ConfigError, match="is not HOST:PORT"):
            read_listen(text)
    for host in ("127.0.0.1", "127.8.0.1", "localhost", "::1"):
        check_open(Access(host), False, False)
    for host in ("0.0.0.0", "", "::", "10.0.0.1", "example.org"):
        access = Access(host)
        with pytest.raises(ConfigError, match="--token-file and --tls-cert"):
            check_open(access, False, False)
        with pytest.raises(ConfigError, match="give --tls-cert"):
            check_open(access, True, False)
        check_open(access, False, True)
        check_open(Access(host, certificate=b"x", key=b"y"), True, False)
    access = Access(token="secret")
    assert access.admits("Bearer secret")
    for header in ("", "secret", "Bearer secre", "bearer secret", "Bearer secrét"):
        assert not access.admits(header)


def test_tokens(tmp_path) -> None:
    token, path = find_token(tmp_path / "token")
    assert path.stat().st_mode & 0o777 == 0o600
    assert find_token(path)[0] == token
    assert len({find_token(None)[0] for _ in range(5)}) == 5
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="others may read"):
        find_token(path)
    (tmp_path / "short").write_text("short")
    (tmp_path / "short").chmod(0o600)
    with pytest.raises(ConfigError, match="16 to 1024"):
        find_token(tmp_path / "short")


def batches(count: int) -> list[arrow.RecordBatch]:
    return arrow.table({"weight": np.arange(count)}).to_batches(max_chunksize=10)


def test_uploads() -> None:
    uploads = Uploads(ServiceMemory(0))
    assert uploads.receive("a", "weights", batches(25)) == 25
    assert uploads.take("a").columns["weight"].tolist() == list(range(25))
    assert uploads.take("a") is None
    with pytest.raises(InputError, match="no batch"):
        uploads.receive("b", "weights", [])
    assert uploads.take("b") is None
    with pytest.raises(InputError, match="9223372036854775808; ids are below"):
        ids = arrow.table({"vertex": np.array([5, 1 << 63], np.uint64)})
        uploads.receive("c", "vertices", ids.to_batches())
    with pytest.raises(InputError, match=r"'weight' has no value in row 23 \("):
        holes = arrow.table({"weight": [*range(23), None, 24, None]})
        uploads.receive("h", "weights", holes.to_batches(max_chunksize=10))
    with pytest.raises(InputError, match="has type dictionary"):
        coded = arrow.array([1.5, 2.5]).dictionary_encode()
        uploads.receive("d", "weights", arrow.table({"weight": coded}).to_batches())


ROWS, MORE_ROWS = (n.to_bytes(8, "little") for n in (37, 1 << 20))


@pytest.mark.parametrize(
    ("was", "lie"), [(ROWS, MORE_ROWS), (b"vertex", b"verte\x9c")], ids=["rows", "name"]
)
def test_a_batch_that_lies_about_its_columns_is_refused(was: bytes, lie: bytes) -> None:
    """Arrow would read this process's memory for rows that no buffer has."""
    sink = io.BytesIO()
    table = arrow.table({"vertex": np.arange(37)})
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    for sent, refused in ((sink.getvalue(), False), (_with(sink, was, lie), True)):
        chunks = [SimpleNamespace(data=None)]
        chunks += [SimpleNamespace(data=b) for b in arrow.ipc.open_stream(sent)]
        uploads = Uploads(ServiceMemory(0))
        context = pytest.raises(InputError, match="a sent batch is damaged")
        with context if refused else nullcontext():
            assert uploads.receive("a" * 32, "vertices", sent_batches(chunks)) == 37


def _with(sink: io.BytesIO, was: bytes, now: bytes) -> bytes:
    assert was in sink.getvalue()
    return sink.getvalue().replace(was, now)


def test_a_refused_upload_holds_nothing() -> None:
    """The limit counts the bytes of uploads, whatever the size of the process is."""
    memory = ServiceMemory(400 << 20)
    small = Uploads(memory)
    memory.add_graph(300 << 20)
    large = arrow.table({"weight": np.zeros(4 << 20)}).to_batches()
    for name in ("a", "b", "c"):
        text = r"--memory 400MiB is too little .* --memory 430MiB suffices"
        with pytest.raises(ConfigError, match=text):
            small.receive(name, "weights", large)
        assert small.take(name) is None
        assert small.receive("few", "weights", batches(3)) == 3
    assert small.bytes_by_client() == {"": 24}  # of `few`
    memory.add_graph(200 << 20)  # requests have some room beside any graph
    assert small.receive("few", "weights", batches(3)) == 3
    with pytest.raises(ConfigError, match="suffices"):
        small.receive("d", "weights", large)


def test_jobs() -> None:
    jobs = JobQueue()
    first = jobs.submit({"action": "solve", "request": "1"})
    assert jobs.next() is first
    assert jobs.cancel("1")  # who does it looks from time to time
    assert not jobs.cancel("2")
    assert first.cancelled
    first.report("half")
    first.end({"done": True})
    assert list(first.events()) == [{"done": True}]  # nobody has asked for progress
    jobs.forget(first)
    assert not jobs.cancel("1")
    second = jobs.submit({"action": "solve", "progress": True})
    assert jobs.next() is second
    second.report("half")
    second.end({"done": True})
    told, result = list(second.events())
    assert told["progress"] == "half"
    assert result == {"done": True}
    jobs.close()
    with pytest.raises(ConfigError, match="is ending"):
        jobs.submit({"action": "solve"})
    assert jobs.next().fields == {"action": "shutdown"}


def test_a_job_that_is_cancelled_while_it_waits_has_no_turn() -> None:
    jobs = JobQueue()
    waiting = jobs.submit({"action": "solve", "request": "1"})
    other = jobs.submit({"action": "solve", "request": "2"})
    assert jobs.cancel("1")
    assert jobs.next() is other
    with pytest.raises(CancelledError):
        waiting.result()
    assert not jobs.cancel("1")  # it is forgotten


LOGGED = {  # by options: the requests whose lines are written
    (): ["solve ok", "solve refused", "list failed", "put left", "list slow"],
    ("quiet",): ["list slow"],
    ("verbose",): [
        "solve ok", "list ok", "put ok", "solve refused", "list failed", "put left",
        "list slow", "wait ok",
    ],
}  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("options", LOGGED)
def test_the_log_has_a_line_for_what_was_done_or_refused(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], as_json: bool
) -> None:
    log = RequestLog(**dict.fromkeys(options, True), as_json=as_json)
    error = 'no column "x"'
    for request in (
        FinishedRequest("1", "solve", "city", "ok", 0.5, client="10.0.0.7"),
        FinishedRequest("2", "list", "-", "ok", 0.5, client="10.0.0.7"),
        FinishedRequest("3", "put", "city", "ok", 0.5, client="10.0.0.7"),
        FinishedRequest("4", "solve", "city", "refused", 0.5, error, "10.0.0.7"),
        FinishedRequest("5", "list", "-", "failed", 0.5, error, "10.0.0.7"),
        FinishedRequest("6", "put", "-", "left", 0.5, client="10.0.0.7"),
        FinishedRequest("7", "list", "-", "ok", 10.5, client="10.0.0.7"),
        FinishedRequest("8", "wait", "city", "ok", 60.5, client="10.0.0.7"),
    ):
        log.write(request, 0)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(LOGGED[options])
    for line, wanted in zip(lines, LOGGED[options], strict=True):
        action, end = wanted.split()
        refused = end in ("refused", "failed")
        if as_json:
            told = json.loads(line)
            assert told["action"] == action and told["client"] == "10.0.0.7"
            assert told["slow"] == (end == "slow")
            assert told["status"] == ("ok" if end == "slow" else end)
            assert told["error"] == (error if refused else "")
        else:
            assert f" mndmst {action} " in line and " client=10.0.0.7 " in line
            assert line.endswith(" slow") if end == "slow" else f"status={end}" in line
            assert line.endswith(' error="no column \\"x\\""') == refused


def test_metrics_are_those_of_prometheus() -> None:
    gauges = {"jobs_waiting": {"": 2}, "graph_version": {"city": 3}}
    metrics = Metrics(lambda: gauges)
    metrics.add(FinishedRequest("1", "solve", "city", "ok", 0.5))
    metrics.add(FinishedRequest("2", "solve", "city", "refused", 0.25, "no column"))
    metrics.add_stage("read", 0.5)
    text = metrics.text()[0].decode()
    assert 'mndmst_requests_total{request="solve",status="ok"} 1.0\n' in text
    assert 'mndmst_request_seconds_sum{request="solve"} 0.75\n' in text
    assert 'mndmst_request_seconds_bucket{le="0.1",request="solve"} 0.0\n' in text
    assert 'mndmst_request_seconds_bucket{le="0.5",request="solve"} 2.0\n' in text
    assert [request.id for request in metrics.errors()] == ["2"]
    assert [request.id for request in metrics.recent()] == ["2", "1"]
    assert 'mndmst_graph_version{graph="city"} 3.0\n' in text
    assert "mndmst_jobs_waiting 2.0\n" in text and "_created" not in text
    assert metrics.stage_seconds() == {"read": 0.5}
