"""The function bridge: calls of the caller's functions, although the site knows none (docs/functions.md).

The model is asked in words to answer with one JSON object, which proposes calls or holds the answer. The whole answer
is read, and held against what was offered, before a caller sees any of it; whatever breaks the rules is a
ToolProtocolError. Nothing is asked twice, and nothing that should have been a proposal is shown as text. The caller's
program makes the calls: the gateway never does.
"""
