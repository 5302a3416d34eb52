-- open, closed, cancelled or deleted.
ALTER TABLE inventory ADD COLUMN status text;

ALTER TABLE booking ADD COLUMN redeemed_quantity bigint NOT NULL DEFAULT 0;
-- The caller's own number or name for it.
ALTER TABLE booking ADD COLUMN reference text;

-- Booking attempts that were refused or failed. Beside the journal: bounded in age and number, and not needed to replay anything.
CREATE TABLE attempt (
    -- Milliseconds since 1970, times 2^20, and a number within the millisecond.
    id bigint PRIMARY KEY,
    at timestamptz NOT NULL,
    tenant text NOT NULL,
    request_id text NOT NULL,
    -- The request id in the response, where an idempotency key determines that.
    answer_id text,
    -- Such as event:gala.
    inventory text NOT NULL,
    customer text NOT NULL,
    code text NOT NULL,
    -- Whether the server is to blame.
    failed boolean NOT NULL
);
CREATE INDEX attempt_by_request ON attempt (request_id);
CREATE INDEX attempt_by_answer ON attempt (answer_id) WHERE answer_id IS NOT NULL;
CREATE INDEX attempt_by_customer ON attempt (customer, id);
