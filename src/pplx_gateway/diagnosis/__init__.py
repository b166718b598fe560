"""Checks of what a gateway stands on: each says what it found, and the cure.

The command `doctor` and the owner's page ask for them alike.
"""
