"""Logs in Redis, shared by replicas: one writer and one subscriber connection carry the hot path."""

from polystream.stores.redis.address import Address
from polystream.stores.redis.store import RedisStore

__all__ = ["Address", "RedisStore"]
