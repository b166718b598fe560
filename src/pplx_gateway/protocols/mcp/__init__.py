"""MCP: the gateway's tools, resources and prompts, over HTTP (http.py, sse.py) and on stdio (commands/mcp.py).

The table of tools, the check of their arguments, the fence around text from the web and the stdio kernel are those of
the one-file server (packages/pplx-agent-mcp). Whatever is asked here is a response in the background as
`/v1/responses` knows it, so that it outlives its caller and can be collected by any protocol.
"""
