"""What is closed where the context ends that it is used as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

T = TypeVar("T", bound="Closing")


class Closing(ABC):
    """Close it, or use it as a context."""

    @abstractmethod
    def close(self) -> None:
        """Give up what it holds."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
