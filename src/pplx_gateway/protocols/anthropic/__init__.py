"""Anthropic's Messages, so that Claude Code and its kin can ask whatever the gateway can."""
