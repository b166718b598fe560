"""Measures the gateway beside nginx and beside nothing at all, on one fake upstream, in one run (scripts/bench)."""
