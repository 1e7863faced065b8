"""Result files: forests, component labels, clusters, tables of text."""
