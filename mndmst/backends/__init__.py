"""The devices that compute: one interface, one directory per backend."""
