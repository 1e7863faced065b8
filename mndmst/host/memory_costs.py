"""The memory that data and steps take: all measured peaks, in one table.

`X_BYTES` is bytes for each X. `X_COPIES` is a multiple of the bytes of X: a file, or
the arrays that it becomes. Bytes include the input and the result of the step, unless
the line says otherwise. Tests of the steps compare peaks with some of them.
"""

MIB = 1 << 20

# -- A rank's rows, in the solver
# A reduced graph that is merged, filtered and contracted: this graph, the one merged
# with it, and the sort of its edges
REDUCED_GRAPH_COPIES = 4
# Most edges per row in the first band; an edge with ends of 32 bits
BAND_EDGES_PER_ROW, BAND_EDGE_BYTES = 2, 24
# A row's component and edge of the forest; on several ranks also the copies that they
# exchange: at most 17 and 41 bytes were measured
LONE_ROW_BYTES, ROW_BYTES = 24, 44
# An arc, if one band has all edges: at most 79 bytes were measured
ARC_BYTES = 80
# A row outside the piece in memory: its component and edge, and a copy of one of these
# columns while it is written; a row of the piece, which also has names of components
STORED_ROW_BYTES, PIECE_ROW_BYTES = 20, 64
# Buffers of HDF5 and MPI, and code that is loaded on demand, on each rank; and the
# memory of MPI for each rank that exchanges messages with it
RANK_RESERVE, PEER_RANK_BYTES = 8 * MIB, 128 << 10
# A rank before it reads, with Python, its packages and MPI: 71 MiB were measured
RANK_PROCESS_BYTES = 80 * MIB
# A vertex of the graph, where the ranks of a host contract on shared arrays
HOST_VERTEX_BYTES = 32
# Host memory that a process's devices take once they are started, at most
STARTED_DEVICES_RESERVE = 384 * MIB

# -- Devices
# An edge in a list of edges, without its key: its position, and an entry in each of
# the two lists of live edges
LISTED_EDGE_BYTES = 8 + 32
# A vertex of rows that are streamed: the solver's stack, slots and numbers, and two
# copies of its component; and an edge without its key in three forests
STREAMED_VERTEX_BYTES, STREAMED_FOREST_EDGES = 28 + 8, 3
# Libraries of a device that searches points; a point, besides its coordinates and
# lists, in a search by matrix products and in one by a tree, which also sorts
DEVICE_LIBRARIES_RESERVE = 256 * MIB
DEVICE_SEARCH_POINT_BYTES, DEVICE_TREE_POINT_BYTES = 156, 140

# -- Graph files and tables
# Compiled kernels, buffers, and code that is loaded when a reader needs it
READER_RESERVE = 128 * MIB
# The same and buffers of files, while a partition sorts a bucket
PARTITION_RESERVE = 48 * MIB
# Edges in memory: in pieces, concatenated, and sorted
EDGE_COPIES = 3
# Bytes of a file, as the Python objects that its reader makes
NETWORKX_COPIES, PAJEK_COPIES, METIS_COPIES = 64, 96, 16
JSON_COPIES = 40  # an empty object of two letters takes 64 bytes, with a name 184
NPZ_COPIES, NPZ_DIAGONAL_COPIES = 8, 32  # diagonals of bytes become many more edges
COORDINATES_COPIES = 12
CHANGES_COPIES = 24  # lines of a table of changes as Python objects
# Nodes and edges as Python objects of NetworkX, or of the writer of Pajek's format
NETWORKX_NODE_BYTES, NETWORKX_EDGE_BYTES = 500, 900
PAJEK_VERTEX_BYTES, PAJEK_EDGE_BYTES = 600, 200
# A table of distances: the bytes, their text, its lines and fields; the matrix and its
# mirror
DISTANCE_TEXT_COPIES, DISTANCE_MATRIX_COPIES = 6, 3

# -- Names of vertices; bytes beside their letters
# A name as a Python string in a table; a string and an integer while names are sorted
NAME_KEY_BYTES, ORDERED_NAME_BYTES, ORDERED_INTEGER_BYTES = 160, 200, 24
# Names that a partition sorts piece by piece
SORTED_NAMES_COPIES = 6
# Names that the service reads: in parts, and concatenated
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
# A text of ids: the text, the ids as words, as integers and as an array
ID_TEXT_COPIES = 24
# A distinct text of a table of alleles: the text and its number, in two dictionaries
ALLELE_TEXT_BYTES = 400
# An example's point while its two coordinates are drawn
EXAMPLE_POINT_BYTES = 100
# Training points while new points search them: points, a float64 copy, and the tree's
TRAINING_COPIES = 3
# Labels, and the columns of clusters with their dendrogram, while a file is read
LABEL_COPIES, CLUSTER_COPIES = 3, 4

# -- The service
# Arrow's objects, and freed pages that the allocator of each thread does not return
ARROW_RESERVE = 64 * MIB
# Columns of an upload, in the request that uses them
UPLOAD_COPIES = 4
# A vertex of an index while it is built
INDEX_VERTEX_BYTES = 72
# A pair of a batch with an index; without, each change since the last index counts as
# a pair
PAIR_BYTES = {"connected": 40, "path_max": 88, "path_min": 88}
LOOKUP_BYTES = {"connected": 104, "path_max": 280, "path_min": 280}
# A kept difference of two versions, besides its edges; an edge of a difference while it
# becomes a row of a table; a vertex in a table of trees that have changed
DIFFERENCE_BYTES, CHANGED_EDGE_BYTES, CHANGED_TREES_BYTES = 512, 200, 80
# A pair of a batch of paths; a vertex, to make the first path; an edge of an answer:
# its position, three columns, and copies of the ends
PATH_PAIR_BYTES, ROOTING_BYTES, PATH_EDGE_BYTES = 44, 56, 64
# A vertex in a table of components, of single-linkage clusters (as many as vertices),
# and of HDBSCAN* clusters (of pairs, the most): at most 85 and 168 bytes were measured
COMPONENTS_BYTES, LINKAGE_BYTES, DENSITY_BYTES = 12, 88, 176
