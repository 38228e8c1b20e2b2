"""The embedded model: rules only, no weights, no network."""

from toolwright.providers.offline.model import Offline

__all__ = ["Offline"]
