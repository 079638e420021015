-- +goose Up
-- Leases of the worker numbers that are part of every id.
CREATE TABLE workers (
  -- A number has at most one owner. It has ten bits in an id.
  worker   INT         NOT NULL PRIMARY KEY,
  -- Whose lease it is; compared on renewal. Empty after it was given back.
  owner    VARCHAR(64) NOT NULL,
  -- The last millisecond (of the id's own epoch) that the owner may put into an id. The next owner starts after
  -- it, so two owners never mint the same id, whatever their clocks say.
  until_ms BIGINT      NOT NULL,
  CONSTRAINT ck_workers_worker CHECK (worker >= 0 AND worker < 1024)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Finds a lease that ran out.
CREATE INDEX ix_workers_until ON workers (until_ms);

-- +goose Down
DROP TABLE workers;
