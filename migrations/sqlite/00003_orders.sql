-- +goose Up
-- One user's purchase of one unit.
CREATE TABLE orders (
  -- A time-ordered 64-bit id minted by the program; writing the same order twice is refused here.
  id            INTEGER     NOT NULL PRIMARY KEY,
  voucher_id    BIGINT      NOT NULL,
  user_id       BIGINT      NOT NULL,
  -- The user again while the order claims the user's one purchase of this voucher; NULL when the stage runs
  -- without that index, or when the order no longer occupies stock, so that the user may order again.
  claim_user_id BIGINT,
  status        VARCHAR(16) NOT NULL,
  price_cents   BIGINT      NOT NULL,
  -- Why an order was cancelled or failed.
  reason        VARCHAR(100),
  created_at    DATETIME    NOT NULL,
  updated_at    DATETIME    NOT NULL,
  paid_at       DATETIME,
  cancelled_at  DATETIME,
  -- A state that the program does not know must not get in.
  CONSTRAINT ck_orders_status CHECK (status IN ('pending', 'created', 'paid', 'cancelled', 'failed')),
  -- A claim is always the buyer's own.
  CONSTRAINT ck_orders_claim  CHECK (claim_user_id IS NULL OR claim_user_id = user_id)
);

-- One order per user and voucher, kept by the database itself. NULLs are not equal to each other, so an order
-- without a claim is not bound by it.
CREATE UNIQUE INDEX uq_orders_claim ON orders (voucher_id, claim_user_id);
-- Answers "has this user an order of this voucher" from the index alone.
CREATE INDEX ix_orders_voucher_user ON orders (voucher_id, user_id, status);
-- Finds unpaid orders by age.
CREATE INDEX ix_orders_status_created ON orders (status, created_at);

-- +goose Down
DROP TABLE orders;
