"""A self-hosted gateway that puts a person's own Perplexity behind the interfaces their tools already speak.

A caller's request becomes a Question; an upstream turns the question into batches of answer events; a protocol
renders the events the way the caller speaks. No protocol knows an upstream, no upstream knows a protocol.
"""

__version__ = "0.1.0"
