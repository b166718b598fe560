"""Perplexity's Agent API as a model of the `llm` command. The plugin itself is not part of this release yet."""

import sys

__version__ = "0.1.0"


def main() -> int:
    """Says that there is no plugin yet. Exit status 2."""
    sys.stderr.write(f"llm-pplx-agent {__version__}: the plugin is not part of this release yet.\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
