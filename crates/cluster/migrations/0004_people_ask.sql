-- What people ask for besides sales: keys, webhooks, and whether a pool is open.

-- Read from the documents themselves, so that they are never behind. Nothing secret is in them: not a key's hash, and a
-- webhook's secret is stored nowhere. A barrier: however it is planned, no condition of whoever asks is tried on other documents,
-- which are no JSON.
CREATE VIEW api_key WITH (security_barrier) AS
SELECT key ->> 'id' AS id,
       -- Stands for the key in the journal.
       (key ->> 'number')::bigint AS number,
       key ->> 'tenant' AS tenant,
       key ->> 'role' AS role,
       key ->> 'name' AS name,
       to_timestamp((key ->> 'created_at_ms')::bigint / 1000.0) AS created_at,
       to_timestamp((key ->> 'revoked_at_ms')::bigint / 1000.0) AS revoked_at
FROM document CROSS JOIN LATERAL (SELECT convert_from(contents, 'UTF8')::jsonb) AS parsed (key)
WHERE document.name LIKE 'key/%';

CREATE VIEW webhook WITH (security_barrier) AS
SELECT hook ->> 'id' AS id,
       hook ->> 'tenant' AS tenant,
       hook ->> 'url' AS url,
       ARRAY(SELECT topic FROM jsonb_array_elements_text(hook -> 'events') WITH ORDINALITY AS t (topic, place)
             ORDER BY place) AS events,
       to_timestamp((hook ->> 'created_at_ms')::bigint / 1000.0) AS created_at,
       to_timestamp((hook ->> 'disabled_at_ms')::bigint / 1000.0) AS disabled_at
FROM document CROSS JOIN LATERAL (SELECT convert_from(contents, 'UTF8')::jsonb) AS parsed (hook)
WHERE document.name LIKE 'webhook/%';

-- Whether the operator keeps it closed. Of slots and boxes that are older than this column it is not known until
-- they are changed.
ALTER TABLE pool ADD COLUMN closed boolean;
UPDATE pool SET closed = false WHERE pool LIKE 'area %';
-- In the API's words, as far as no clock is needed: a box whose pickup is over is not told apart.
ALTER TABLE pool ADD COLUMN status text GENERATED ALWAYS AS (
    CASE WHEN closed IS NULL THEN NULL
         WHEN closed THEN 'CLOSED'
         WHEN held + sold < capacity THEN 'ACTIVE'
         WHEN pool LIKE 'box %' THEN 'SOLD_OUT'
         ELSE 'FULL' END
) STORED;
