"""What is learned while requests are served (caches, windows, decisions), in memory and in the store."""
