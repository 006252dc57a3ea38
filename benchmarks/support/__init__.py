"""What the benchmarks share: data, a cache model, a recording upstream. Nothing here measures."""
