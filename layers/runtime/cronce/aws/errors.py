"""Errors of the adapters among themselves."""

from __future__ import annotations

from cronce.core.errors import StoreError


class BrokenAnswerError(StoreError):
    """An answer arrived that is not whole. What it answers may have been done or not."""
