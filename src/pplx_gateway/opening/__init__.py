"""Puts a Gateway together from settings: the one room that knows every part."""

from pplx_gateway.opening.gateway import lacking, open_gateway, secrets_of, startup_lines

__all__ = ["lacking", "open_gateway", "secrets_of", "startup_lines"]
