"""The shell around the engine: an HTTP proxy, its store and its records, the command line and the client."""
