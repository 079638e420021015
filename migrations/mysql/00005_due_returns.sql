-- +goose Up
-- Units that still have to go back to the gate in Redis. A row is written in the transaction that ends the order
-- and removed when the gate has the unit, so that a crash in between loses nothing.
CREATE TABLE due_returns (
  -- Each order gives its unit back once.
  order_id   BIGINT      NOT NULL PRIMARY KEY,
  voucher_id BIGINT      NOT NULL,
  user_id    BIGINT      NOT NULL,
  -- 0: the gate's stock does not grow, because the database had no unit for the order.
  restock    INT         NOT NULL,
  ended_at   DATETIME(6) NOT NULL,
  CONSTRAINT ck_due_returns_restock CHECK (restock IN (0, 1))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- +goose Down
DROP TABLE due_returns;
