"""Pictures of runs, drawn from the JSON reports that `--report` writes.

One function for each chart, which draws on axes of Matplotlib; `page` puts them on one
self-contained page, `trace` writes what timeline viewers of browsers read.
"""
