"""`perplexity_models`: who can be asked now."""

from pplx_agent_mcp import ToolResult

from pplx_gateway.catalogue import Model
from pplx_gateway.gateway import Gateway

_HEAD = "Ids for 'model' of perplexity_search and perplexity_reason; 'default' is what the owner has set."


def model_list(gateway: Gateway) -> ToolResult:
    models = gateway.models()
    if not models:
        text = "No model can be asked: no upstream is set up, or your key allows none."
    else:
        text = "\n".join([_HEAD, *map(_line, models)])
    listed = [{"id": model.id, "name": model.name, "upstream": model.upstream} for model in models]
    return ToolResult(text, structured={"models": listed, "text": text})


def _line(model: Model) -> str:
    facts = [model.upstream, *(["takes minutes"] if model.research else [])]
    return f"{model.id}: {model.name} ({', '.join(facts)})"
