"""A store in Redis or Valkey, shared by every replica: one server, a cluster, or whichever server Sentinel names."""

from turnfold.proxy.store.redis_store.store import RedisStore

__all__ = ["RedisStore"]
