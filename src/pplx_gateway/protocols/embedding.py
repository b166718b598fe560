"""What every dialect that asks for embeddings has in common: which models there are, and texts that are texts."""

from collections.abc import Sequence

from pplx_gateway.errors import InvalidRequest, ModelNotFound
from pplx_gateway.prices import prices

FAMILY = "pplx-embed-"
CONTEXTUAL_FAMILY = "pplx-embed-context-"
CONTEXTUAL_PATH = "/v1/contextualizedembeddings"
_PREFIXES = ("api/", "perplexity/")


def embedding_model(requested: str, *, contextual: bool = False) -> str:
    """The upstream's name of it. One of the family that is newer than this release is passed on. Raises
    ModelNotFound."""
    name = unprefixed(requested)
    if not name.startswith(FAMILY):
        known = ", ".join(name for name in prices().embeddings if is_contextual(name) is contextual)
        raise ModelNotFound(f"'{requested[:80]}' is no model for embeddings here. There are: {known}.", param="model")
    if is_contextual(name) is not contextual:
        where = "/v1/embeddings" if contextual else CONTEXTUAL_PATH
        raise ModelNotFound(f"The model '{requested[:80]}' is asked at {where}.", param="model")
    return name


def is_contextual(name: str) -> bool:
    return name.startswith(CONTEXTUAL_FAMILY)


def unprefixed(requested: str) -> str:
    """Without the prefix that names the api."""
    return next((requested.removeprefix(each) for each in _PREFIXES if requested.startswith(each)), requested)


def check_texts(texts: Sequence[str], at: str) -> None:
    """Raises InvalidRequest that names the place of an empty text: the API would refuse it without saying which."""
    if not texts:
        raise InvalidRequest(f"'{at}' holds no text.", param=at)
    for index, text in enumerate(texts):
        if not text.strip():
            raise InvalidRequest(f"'{at}[{index}]' is empty.", param=f"{at}[{index}]")
