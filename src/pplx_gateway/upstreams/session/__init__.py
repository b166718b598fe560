"""perplexity.ai through the owner's own browser session."""
