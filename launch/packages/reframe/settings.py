"""ReFrame settings for one machine; a site has its own."""

site_configuration = {
    "systems": [
        {
            "name": "local",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "mpi",
                    "scheduler": "local",
                    "launcher": "mpirun",
                    "environs": ["python"],
                }
            ],
        }
    ],
    "environments": [{"name": "python"}],
}
