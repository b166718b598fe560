"""Sonar, which Perplexity has closed, as its clients still speak it, against the running program."""
