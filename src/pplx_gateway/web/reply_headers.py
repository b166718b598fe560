"""Our own reply headers, in one list: openapi.py describes them, and origins.py lets browser apps read them."""

OF_ANSWERS = {
    "x-request-id": "The request's id, as in the gateway's log.",
    "x-pplx-upstream": "Who answered: session or api.",
    "x-pplx-requested-model": "The model as the request named it.",
    "x-pplx-dropped": "Fields that had no effect.",
    "x-pplx-warnings": "Sentences about what was adjusted.",
    "x-pplx-remaining-pro": "Pro searches left of the plan, where that is known.",
    "x-pplx-failover": "The code of the error that made another upstream answer.",
    "x-pplx-router-tier": "simple, medium or complex: how hard the model router found the question.",
    "x-pplx-router-reason": "Who rated it, and why.",
}
OF_OPERATIONS = {
    "x-pplx-upstream-request-id": "The id by which the upstream knows what it did.",
}
OF_ERRORS = {
    "retry-after": "Seconds to wait before a repeat, where that is known.",
    "x-should-retry": "Whether a repeat may help: true or false.",
}
OF_MCP = {
    "mcp-session-id": "The session that a client of the handshake era goes on with.",
}
EXPOSED = ", ".join((*OF_ANSWERS, *OF_OPERATIONS, *OF_ERRORS, *OF_MCP)).encode()
