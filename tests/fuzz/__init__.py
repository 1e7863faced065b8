"""Fuzzing guided by coverage: one module a target, for each reader of foreign bytes.

    python -m tests.fuzz                              # two minutes in all
    python -m tests.fuzz --seconds 3600 text_graphs   # an hour of one target
    python -m tests.fuzz text_graphs --input FILE     # a fault once more

A target is a module with `seeds`, small whole inputs, and `one_input`, which reads an
input: it returns for an answer or a refusal, and raises for anything else. Atheris
instruments the package, and libFuzzer mutates the inputs that reach new code.
"""

TARGETS = (
    "text_graphs", "binary_graphs", "tables", "hdf5_files", "journal_records",
    "flight_requests", "http_requests", "expressions", "toml_files", "environment",
)  # fmt: skip
