-- How far Kafka's commands were decided in each inventory: written with the batch that they brought, or alone if nothing
-- changed. A command that is not beyond it was decided before.
ALTER TABLE inventory
    ADD COLUMN log_epoch bigint,
    ADD COLUMN log_partition integer,
    ADD COLUMN log_offset bigint;
