//! Job and TTL-after-finished controllers.
