"""Files: shards, forests, formats, generated graphs."""
