"""The memory that data and steps take: all measured peaks, in one table.

`X_BYTES` is bytes for each X. `X_COPIES` is a multiple of the bytes of X: a file, or
the arrays that it becomes. Bytes include the input and the result of the step, unless
the line says otherwise. Tests of the steps compare peaks with some of them.
"""

MIB = 1 << 20

# -- A rank's rows, in the solver
# A reduced graph that is merged, filtered and contracted: itself, its partner in the
# merge, and the sort of its edges
REDUCED_GRAPH_COPIES = 4
# The first band has at most two edges a row; an edge with its ends in 32 bits
BAND_EDGES_PER_ROW, BAND_EDGE_BYTES = 2, 24
# A row's component and edge of the forest; on several ranks also the copies that they
# exchange: 17 and 41 bytes have been seen
LONE_ROW_BYTES, ROW_BYTES = 24, 44
# All in one band, every arc may be an edge: 79 bytes have been seen
ARC_BYTES = 80
# A row outside the piece that is read: its component and edge, and a column of these
# while it is written; a row in its piece has names besides
STORED_ROW_BYTES, PIECE_ROW_BYTES = 20, 64
# Buffers of HDF5 and MPI, and code that is loaded on demand, on each rank; and the
# memory of MPI for each rank that exchanges messages with it
RANK_RESERVE, PEER_RANK_BYTES = 8 * MIB, 128 << 10
# A rank before it reads, with Python, its packages and MPI: 71 MiB have been seen
RANK_PROCESS_BYTES = 80 * MIB
# A vertex of the graph, where the ranks of a host contract on shared arrays
HOST_VERTEX_BYTES = 32
# Host memory that a process's devices take once they are started, at most
STARTED_DEVICES_RESERVE = 384 * MIB

# -- Devices
# An edge in a list of edges, without its key: its position, and an entry in each of
# the two lists of live edges
LISTED_EDGE_BYTES = 8 + 32
# A vertex of rows that stream through the device: the solver's stack, slots and
# numbers, and its component, twice; and an edge without its key in three forests
STREAMED_VERTEX_BYTES, STREAMED_FOREST_EDGES = 28 + 8, 3
# Libraries of a device that searches points; a point beside its coordinates and lists,
# in a search by matrix products and in one by a tree, which sorts
DEVICE_LIBRARIES_RESERVE = 256 * MIB
DEVICE_SEARCH_POINT_BYTES, DEVICE_TREE_POINT_BYTES = 128, 140

# -- Graph files and tables
# Compiled kernels, buffers, and code that is loaded when a reader needs it
READER_RESERVE = 128 * MIB
# The same and buffers of files, while a partition sorts a bucket
PARTITION_RESERVE = 48 * MIB
# Edges in memory: as pieces, joined, and sorted
EDGE_COPIES = 3
# A file as the objects of its reader
NETWORKX_COPIES, PAJEK_COPIES, METIS_COPIES = 64, 96, 16
JSON_COPIES = 40  # an empty object of two letters takes 64 bytes, with a name 184
NPZ_COPIES, NPZ_DIAGONAL_COPIES = 8, 32  # diagonals of bytes become many more edges
COORDINATES_COPIES = 12
CHANGES_COPIES = 24  # lines of a table of changes as objects of Python
# Nodes and edges while NetworkX or Pajek's writer has them as objects
NETWORKX_NODE_BYTES, NETWORKX_EDGE_BYTES = 500, 900
PAJEK_VERTEX_BYTES, PAJEK_EDGE_BYTES = 600, 200
# A table of distances: the bytes, their text, its lines and fields; the matrix and its
# mirror
DISTANCE_TEXT_COPIES, DISTANCE_MATRIX_COPIES = 6, 3

# -- Names of vertices; bytes beside their letters
# A name as a text of Python in a table; a text and an integer while names are put in
# order
NAME_KEY_BYTES, ORDERED_NAME_BYTES, ORDERED_INTEGER_BYTES = 160, 200, 24
# Names that a partition sorts piece by piece
SORTED_NAMES_COPIES = 6
# Names that the service reads: part by part, and then joined
READ_NAMES_COPIES = 2
# A name to find, and the copies of its letters; a name and a letter of an answer
FOUND_NAME_BYTES, FOUND_NAME_COPIES = 280, 3
ANSWER_NAME_BYTES, ANSWER_LETTER_BYTES = 48, 17

# -- Points and clusters
# A point, a coordinate and a listed neighbour: points, tree, lists and later steps
POINT_BYTES, COORDINATE_BYTES, NEIGHBOUR_BYTES = 200, 24, 20
# A point of all ranks on the one rank that gathers the forest and its dendrogram
GATHERED_POINT_BYTES = 120
# A file of points: an array; a text, as a string and lists of words; Arrow's batches,
# columns, and all as one array
POINT_ARRAY_COPIES, POINT_TEXT_COPIES, POINT_TYPED_COPIES = 3, 12, 4
# An example's point while its two coordinates are drawn
EXAMPLE_POINT_BYTES = 100
# Training points while new points search them: points, a float64 copy, and the tree's
TRAINING_COPIES = 3
# Labels, and the columns of clusters with their dendrogram, while a file is read
LABEL_COPIES, CLUSTER_COPIES = 3, 4

# -- The service
# Arrow's own objects, and the pages that the allocator of each thread keeps
ARROW_RESERVE = 64 * MIB
# Columns of an upload, in the request that uses them
UPLOAD_COPIES = 4
# A vertex of an index while it is built
INDEX_VERTEX_BYTES = 72
# A pair of a batch with an index; without, each change since the last index counts as
# a pair
PAIR_BYTES = {"connected": 40, "path_max": 88, "path_min": 88}
LOOKUP_BYTES = {"connected": 104, "path_max": 280, "path_min": 280}
# A pair of a batch of paths; a vertex, to make the first path; an edge of an answer:
# its position, three columns, and copies of the ends
PATH_PAIR_BYTES, ROOTING_BYTES, PATH_EDGE_BYTES = 44, 56, 64
# A vertex in a table of components, single-linkage clusters, or HDBSCAN* clusters (of
# pairs, which are the most)
COMPONENTS_BYTES, LINKAGE_BYTES, DENSITY_BYTES = 12, 80, 216
