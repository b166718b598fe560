"""Perplexity's Agent API as an MCP server over stdio. The server itself is not part of this release yet.

One file that needs nothing but the standard library of Python 3.10 or newer, so that it can be copied and run as it is.
"""

import sys

__version__ = "0.1.0"


def main() -> int:
    """Says that there is no server yet. Exit status 2, nothing on stdout: an MCP client must not take it for one."""
    sys.stderr.write(f"pplx-agent-mcp {__version__}: the server is not part of this release yet.\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
