"""The Agent API: `/v1/agent`, and under `/perplexity` its other name `/v1/responses`."""
