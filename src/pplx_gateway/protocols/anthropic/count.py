"""How many tokens a question has, as Anthropic's clients are told."""

import msgspec


class TokenCount(msgspec.Struct, frozen=True):
    """`pplx` says that it is an estimate."""

    input_tokens: int
    pplx: dict[str, bool]
