"""www.perplexity.ai, played: login, asks, quota, uploads and threads of the web session (docs/wire-session.md).

`routes(stage)` gives every route of this half, the storage host and `POST /_emulator/session` among them. All of it
hangs on one State for each call, so two applications share nothing.

What the token's words choose is listed in account.py, the forms of an answer in forms.py. A question may hold
`form:NAME` anywhere, and begin with `slow:` and `fault:NAME` (emulator/words.py). For deep research it may also hold
`ask back` (it ends with its questions), `ask back and go on` (it waits a while and then goes on), and `lost report`
(whose download is 404).
"""

from starlette.routing import BaseRoute

from pplx_gateway.emulator.session import table
from pplx_gateway.emulator.session.ask import Ask
from pplx_gateway.emulator.session.control import SessionControl
from pplx_gateway.emulator.session.reading import Reading
from pplx_gateway.emulator.session.state import State
from pplx_gateway.emulator.session.storage import Storage
from pplx_gateway.emulator.session.threads import Threads
from pplx_gateway.emulator.session.uploads import Uploads
from pplx_gateway.emulator.stage import Stage

__all__ = ["routes", "session_routes"]


def routes(stage: Stage) -> list[BaseRoute]:
    """The session half. Its paths begin with `/api/auth/`, `/rest/` and `/emulator-storage/`, but for the control."""
    state = State(stage)
    stage.show("session", state.view)
    rows = [row for group in (Reading, Ask, Uploads, Threads) for row in group(state).table()]
    return [*SessionControl(state).routes(), *Storage(state).routes(), *table.routes(rows, state)]


session_routes = routes
