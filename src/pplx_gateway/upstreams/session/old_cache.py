"""`.cookie_cache.json` in the working directory: where a proxy before this one kept its cookie. Read, never written.

Its shape has changed over time: a map of cookies, alone or under `cookies`, beside times; or a token under its own key.
"""

import json
import logging
from pathlib import Path

from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.pasted import read_document

logger = logging.getLogger("pplx_gateway.session")

FILE = ".cookie_cache.json"


def read_old_cache(folder: Path) -> Secret | None:
    """The token in that file; None where there is no such file, or no token in it."""
    path = folder / FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("the old cookie cache cannot be read", extra={"path": FILE, "why": type(error).__name__})
        return None
    token = read_document(document)
    if token is None:
        logger.warning("the old cookie cache holds no session token", extra={"path": FILE})
    return token
