"""Anthropic's SDK as strict as it can be made."""

from typing import TypeVar

import pydantic
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from tests.rig import KEY

Value = TypeVar("Value", bound=pydantic.BaseModel)


def client(url: str, *, key: str = KEY, retries: int = 0) -> AsyncAnthropic:
    return AsyncAnthropic(
        base_url=url,
        api_key=key,
        max_retries=retries,
        http_client=DefaultAsyncHttpxClient(trust_env=False),
        _strict_response_validation=True,
    )


def checked(value: Value) -> Value:
    """`value`, held against its own type once more, without conversions. Raises pydantic.ValidationError."""
    pydantic.TypeAdapter(type(value)).validate_python(value.model_dump(exclude_unset=True), strict=True)
    return value
