"""The files in which MCP clients on this machine keep their servers, changed without touching anything else in them."""
