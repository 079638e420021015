-- +goose Up
-- What is sold. Times are UTC with microseconds, money is integer cents.
CREATE TABLE vouchers (
  -- A time-ordered 64-bit id minted by the program, so that rows are appended at the end of the tree.
  id          INTEGER      NOT NULL PRIMARY KEY,
  title       VARCHAR(200) NOT NULL,
  -- The initial stock. It never changes during a sale; oversell is judged against it.
  stock       INT          NOT NULL,
  price_cents BIGINT       NOT NULL,
  begin_at    DATETIME  NOT NULL,
  end_at      DATETIME  NOT NULL,
  created_at  DATETIME  NOT NULL,
  -- Nothing can be sold from a negative stock.
  CONSTRAINT ck_vouchers_stock  CHECK (stock >= 0),
  CONSTRAINT ck_vouchers_price  CHECK (price_cents >= 0),
  -- The sale window is [begin_at, end_at): an empty one would never sell.
  CONSTRAINT ck_vouchers_window CHECK (end_at > begin_at)
);

-- The hot row: one per voucher, apart from vouchers so that the sale's row lock never stops a reader of the
-- catalogue. There is no foreign key here or below: its check would take a shared lock on the voucher's row
-- for every order, and the locks of a sale should be those that the stage's own statements take.
CREATE TABLE stock (
  -- One stock row per voucher.
  voucher_id INTEGER NOT NULL PRIMARY KEY,
  -- What is left. There is deliberately no CHECK (stock >= 0): the guard is the WHERE clause of the update, and
  -- a stage without that guard must be seen to fail by its orders, not be saved by the schema.
  stock      INT     NOT NULL,
  -- Grows with every optimistic (compare-and-set) update.
  version    BIGINT  NOT NULL,
  -- The highest fencing token that claimed the row; a write with a smaller one is refused.
  fence      BIGINT  NOT NULL
);

-- +goose Down
DROP TABLE stock;
DROP TABLE vouchers;
