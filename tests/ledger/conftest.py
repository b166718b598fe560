from tests.life.conftest import emulator

__all__ = ["emulator"]
