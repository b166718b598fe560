"""Programs as a person would write them with a client's library: an address and a key from the environment, no more.

Each takes names of models as arguments and prints one JSON object a line: `client`, `model`, `way` (plain or streamed),
`text`, and what else the client makes of an answer.
"""
