"""The kinds of files that benchmarks write."""

from mndmst.io.output_kinds import Kind

BENCH_RECORD = Kind("record of a benchmark", (".json", ""), "mndmst-bench-record")
BENCH_PICTURE = Kind("picture of a benchmark", (".png", ".svg", ".pdf"))
