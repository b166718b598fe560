"""What can be seen of the gateway from outside: counters, traces, and what the upstreams send that nobody knows."""
