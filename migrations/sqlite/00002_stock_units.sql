-- +goose Up
-- One row per unit, for the stage that locks units instead of the one stock row (SKIP LOCKED).
CREATE TABLE stock_units (
  voucher_id BIGINT NOT NULL,
  unit       INT    NOT NULL,
  -- The order that took the unit; NULL while it is free.
  order_id   BIGINT,
  -- Each unit of a voucher exists once.
  PRIMARY KEY (voucher_id, unit)
);

-- An order takes at most one unit; free units (NULL) are not bound by it. The same index finds a free unit without
-- walking, and so without locking, the taken ones or those of other vouchers.
CREATE UNIQUE INDEX uq_stock_units_order ON stock_units (voucher_id, order_id);

-- +goose Down
DROP TABLE stock_units;
