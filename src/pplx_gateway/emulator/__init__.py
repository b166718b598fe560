"""The built-in emulator: both upstreams of the gateway, played by one program on one port.

It is faithful to what is known of the real ones (docs/wire-agent.md, docs/wire-session.md), so that a demo needs no
account and tests stand on firm ground. It fails on demand: by words in the question (words.py), or by a script
(script.py, control.py). `agent` plays api.perplexity.ai, `session` plays www.perplexity.ai; each is a function
`routes(stage)` over one Stage (stage.py).
"""

from pplx_gateway.emulator.app import create_app

__all__ = ["create_app"]
