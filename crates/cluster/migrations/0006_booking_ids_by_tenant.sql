-- A booking id is unique within a tenant: two tenants may have bookings of the same id.

ALTER TABLE chosen_id ADD COLUMN tenant text;
UPDATE chosen_id SET tenant = inventory.tenant FROM inventory WHERE inventory.number = chosen_id.inventory;
ALTER TABLE chosen_id ALTER COLUMN tenant SET NOT NULL, DROP CONSTRAINT chosen_id_pkey, ADD PRIMARY KEY (tenant, booking);

-- Generated ids name their inventory and chosen ones are in `chosen_id`: so no two inventories of a tenant have the same.
ALTER TABLE booking DROP CONSTRAINT booking_pkey, ADD PRIMARY KEY (id, inventory);

ALTER TABLE pool_claim ADD COLUMN inventory bigint;
UPDATE pool_claim SET inventory = booking.inventory FROM booking WHERE booking.id = pool_claim.booking;
ALTER TABLE pool_claim
    ALTER COLUMN inventory SET NOT NULL,
    DROP CONSTRAINT pool_claim_pkey,
    ADD PRIMARY KEY (booking, inventory, pool);
