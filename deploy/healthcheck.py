"""The container's look at the gateway in it: status 0 if it answers on its port. Standard library only."""

import os
import sys
import urllib.request

TIMEOUT_SECONDS = 4
DEFAULT_PORT = "8892"


def healthy(port: str) -> bool:
    # A proxy of the environment is meant for Perplexity, not for this machine.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/health", timeout=TIMEOUT_SECONDS) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(not healthy(os.environ.get("PPLX_PROXY_PORT", "").strip() or DEFAULT_PORT))
