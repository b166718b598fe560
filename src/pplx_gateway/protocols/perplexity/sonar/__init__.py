"""Sonar as Perplexity offered it until September 2026: its requests, answers, streams and asynchronous requests."""
