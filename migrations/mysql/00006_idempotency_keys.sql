-- +goose Up
-- Answers to requests that carried an Idempotency-Key, so that a repeated request gets the same one.
CREATE TABLE idempotency_keys (
  user_id      BIGINT       NOT NULL,
  -- The client's key, compared byte by byte.
  request_key  VARBINARY(128) NOT NULL,
  -- What the key was first used for: a hash of method, path and body.
  request_hash VARCHAR(64)  NOT NULL,
  -- The id that the order has or will have, whichever attempt places it.
  order_id     BIGINT       NOT NULL,
  -- Grows when an abandoned key is taken over; an older attempt can't answer any more.
  attempt      INT          NOT NULL,
  -- HTTP status of the answer; 0 while there is none.
  status       INT          NOT NULL,
  body         BLOB,
  begun_at     DATETIME(6)  NOT NULL,
  -- A key belongs to its user. This is what lets one of many requests at once through.
  PRIMARY KEY (user_id, request_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Finds old keys.
CREATE INDEX ix_idempotency_keys_begun ON idempotency_keys (begun_at);

-- +goose Down
DROP TABLE idempotency_keys;
