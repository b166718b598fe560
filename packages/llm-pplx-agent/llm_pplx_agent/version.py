"""The version, for the build and for the name that requests bear."""

__version__ = "0.1.0"
