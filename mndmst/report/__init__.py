"""Pictures of runs, from the JSON reports that `--report` writes, and of forests.

`draw` has one function for each chart, which draws on axes of Matplotlib; `page` puts
them on one self-contained page, `record` writes traces for timeline viewers.
`forest_picture` draws a forest at the positions of points or of a `forest_layout`.
"""
