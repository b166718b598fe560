"""The checks of `pplx-gateway doctor`: each says what it found, and the cure."""
