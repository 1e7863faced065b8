"""The steps on a rank: read, split, independent computation, contraction, write."""
