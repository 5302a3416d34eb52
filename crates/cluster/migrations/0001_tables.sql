-- Tables that people may read. Boxoffice itself decides from `snapshot` and `journal` alone.
-- No foreign keys: every row is written in a transaction that holds its inventory's row, and there are many.

CREATE TABLE inventory (
    number bigint PRIMARY KEY,
    name text NOT NULL UNIQUE,
    -- Of names as the server gives them: default/event:gala.
    tenant text NOT NULL GENERATED ALWAYS AS (split_part(name, '/', 1)) STORED,
    kind text NOT NULL GENERATED ALWAYS AS (split_part(split_part(name, '/', 2), ':', 1)) STORED,
    id text NOT NULL GENERATED ALWAYS AS (split_part(name, ':', 2)) STORED,
    -- Of the last batch, and the hash of its record: whoever writes must have built on it.
    sequence bigint NOT NULL,
    head bytea NOT NULL,
    next_deadline_ms bigint,
    changed_at timestamptz NOT NULL,
    -- Whether the tables below have everything of it: not while an inventory is restored whose first records are gone.
    complete boolean NOT NULL,
    currency text,
    capacity bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    sold bigint NOT NULL DEFAULT 0 CHECK (sold >= 0),
    blocked bigint NOT NULL DEFAULT 0 CHECK (blocked >= 0),
    CHECK (held + sold + blocked <= capacity)
) WITH (fillfactor = 50);
CREATE INDEX inventory_changed_at ON inventory (changed_at);

CREATE TABLE journal (
    inventory bigint NOT NULL,
    sequence bigint NOT NULL,
    hash bytea NOT NULL,
    record bytea NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (inventory, sequence)
);
-- Bytes that hashes were taken of and that hardly get smaller.
ALTER TABLE journal ALTER COLUMN record SET STORAGE EXTERNAL;

CREATE TABLE snapshot (
    inventory bigint PRIMARY KEY,
    sequence bigint NOT NULL,
    manifest bytea NOT NULL,
    contents bytea NOT NULL
);
ALTER TABLE snapshot ALTER COLUMN contents SET STORAGE EXTERNAL;

-- Ids of bookings that callers chose and that do not name their inventory.
CREATE TABLE chosen_id (
    booking uuid PRIMARY KEY,
    inventory bigint NOT NULL
);

-- Keys, webhooks, settings: small records of the server.
CREATE TABLE document (
    name text COLLATE "C" PRIMARY KEY,
    contents bytea NOT NULL
);

CREATE TABLE section (
    inventory bigint NOT NULL,
    subsection integer NOT NULL,
    address text NOT NULL,
    rows integer NOT NULL,
    cols integer NOT NULL,
    PRIMARY KEY (inventory, subsection)
);

-- Areas, slots and boxes. An area or a box is known by its place in the list, a slot by its id.
CREATE TABLE pool (
    inventory bigint NOT NULL,
    pool text NOT NULL,
    name text NOT NULL,
    capacity bigint NOT NULL,
    held bigint NOT NULL CHECK (held >= 0),
    sold bigint NOT NULL CHECK (sold >= 0),
    PRIMARY KEY (inventory, pool),
    CHECK (held + sold <= capacity)
);

CREATE TABLE booking (
    id uuid PRIMARY KEY,
    inventory bigint NOT NULL,
    customer text NOT NULL,
    status text NOT NULL CHECK (status IN ('on_hold', 'confirmed', 'redeemed', 'cancelled', 'expired')),
    quantity bigint NOT NULL,
    total_price bigint NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    confirmed_at timestamptz,
    cancelled_at timestamptz,
    redeemed_at timestamptz,
    payment_reference text,
    version bigint NOT NULL
);
CREATE INDEX booking_customer ON booking (inventory, customer);

-- One row for each seat that is held, sold or blocked. Its key is the seat: it cannot be there twice.
CREATE TABLE claim (
    inventory bigint NOT NULL,
    subsection integer NOT NULL,
    seat_row integer NOT NULL,
    seat integer NOT NULL,
    state text NOT NULL CHECK (state IN ('held', 'sold', 'blocked')),
    booking uuid,
    price bigint,
    PRIMARY KEY (inventory, subsection, seat_row, seat),
    CHECK ((state = 'blocked') = (booking IS NULL))
);
CREATE INDEX claim_booking ON claim (booking);

-- Places of pools that bookings claim, or claimed before they were cancelled or ran out.
CREATE TABLE pool_claim (
    booking uuid NOT NULL,
    pool text NOT NULL,
    quantity bigint NOT NULL,
    PRIMARY KEY (booking, pool)
);

-- Tickets that were registered.
CREATE TABLE ticket (
    inventory bigint NOT NULL,
    ticket text NOT NULL,
    active boolean NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (inventory, ticket)
);

-- Tickets in bookings on hold, confirmed or redeemed: one booking each.
CREATE TABLE ticket_claim (
    inventory bigint NOT NULL,
    ticket text NOT NULL,
    booking uuid NOT NULL,
    PRIMARY KEY (inventory, ticket)
);
CREATE INDEX ticket_claim_booking ON ticket_claim (booking);

-- Idempotency keys whose answers are remembered. The key is a digest; the answer is in the journal.
CREATE TABLE idempotency (
    inventory bigint NOT NULL,
    key bytea NOT NULL,
    keep_until_ms bigint NOT NULL,
    PRIMARY KEY (inventory, key)
);
CREATE INDEX idempotency_keep_until ON idempotency (inventory, keep_until_ms);
