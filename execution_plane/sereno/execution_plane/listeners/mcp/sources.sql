-- name: lock_catalog
SELECT pg_advisory_xact_lock(hashtextextended('sereno.manifest/' || $1, 0));

-- name: declared_connectors
SELECT object, sha256 FROM execution.catalog
WHERE tenant_id = $1 AND key LIKE 'connector/%' AND object ->> 'state' IN ('active', 'paused');

-- name: declared_readers
SELECT object FROM execution.catalog
WHERE tenant_id = $1 AND key LIKE 'subscription/%' AND object -> 'spec' -> 'source' -> 'mcp' IS NOT NULL
    AND object ->> 'state' IN ('active', 'paused');

-- name: put_connectors
-- Another text is connected anew, and a person's hand on it lets what was stopped try again.
INSERT INTO execution.connector (tenant_id, connector, spec, object_sha256, paused)
SELECT $1, * FROM unnest($2::text[], $3::jsonb[], $4::text[], $5::boolean[])
ON CONFLICT (tenant_id, connector) DO UPDATE SET
    spec = excluded.spec, object_sha256 = excluded.object_sha256, paused = excluded.paused,
    reload = connector.reload + (connector.object_sha256 <> excluded.object_sha256)::int,
    stopped = CASE WHEN connector.object_sha256 = excluded.object_sha256 THEN connector.stopped END,
    stopped_at = CASE WHEN connector.object_sha256 = excluded.object_sha256 THEN connector.stopped_at END,
    stopped_why = CASE WHEN connector.object_sha256 = excluded.object_sha256 THEN connector.stopped_why END
WHERE (connector.object_sha256, connector.paused) IS DISTINCT FROM (excluded.object_sha256, excluded.paused);

-- name: drop_connectors
WITH tools AS (DELETE FROM execution.mcp_tool WHERE tenant_id = $1 AND connector <> ALL ($2::text[]))
DELETE FROM execution.connector WHERE tenant_id = $1 AND connector <> ALL ($2::text[]);

-- name: put_slots
-- A lower number of calls at once leaves slots that nobody takes.
INSERT INTO execution.mcp_slot (tenant_id, account, slot)
SELECT $1, account, slot FROM unnest($2::text[], $3::int[]) AS w (account, most), generate_series(1, most) AS slot
ON CONFLICT DO NOTHING;

-- name: drop_slots
DELETE FROM execution.mcp_slot s
WHERE tenant_id = $1 AND NOT EXISTS (
    SELECT FROM unnest($2::text[], $3::int[]) AS w (account, most) WHERE w.account = s.account AND s.slot <= most
);

-- name: readers
SELECT subscription, name, reading FROM execution.mcp_reader WHERE tenant_id = $1 FOR UPDATE;

-- name: put_sources
INSERT INTO execution.mcp_source (tenant_id, source, connector, account, tool, spec, every, next_poll)
SELECT $1, w.*, $8 FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::interval[]) AS w
ON CONFLICT (tenant_id, source) DO UPDATE SET
    every = excluded.every, next_poll = least(mcp_source.next_poll, $8 + excluded.every)
WHERE mcp_source.every <> excluded.every;

-- name: put_readings
INSERT INTO execution.mcp_reading (tenant_id, reading, source, spec, backfill)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::jsonb[], $5::int[])
ON CONFLICT DO NOTHING;

-- name: put_readers
INSERT INTO execution.mcp_reader (tenant_id, subscription, name, version, source, reading, view, spec)
SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::jsonb[])
ON CONFLICT (tenant_id, subscription) DO UPDATE SET
    name = excluded.name, version = excluded.version, source = excluded.source, reading = excluded.reading,
    view = excluded.view, spec = excluded.spec;

-- name: drop_readers
DELETE FROM execution.mcp_reader WHERE tenant_id = $1 AND subscription <> ALL ($2::uuid[]);

-- name: drop_unread
-- What nobody reads any more is forgotten: who asks for it again is new to it.
WITH readings AS (
    DELETE FROM execution.mcp_reading r WHERE tenant_id = $1 AND NOT EXISTS (
        SELECT FROM execution.mcp_reader x WHERE x.tenant_id = r.tenant_id AND x.reading = r.reading
    ) RETURNING reading
), items AS (
    DELETE FROM execution.mcp_item WHERE tenant_id = $1 AND reading IN (SELECT reading FROM readings)
)
DELETE FROM execution.mcp_source s WHERE tenant_id = $1 AND NOT EXISTS (
    SELECT FROM execution.mcp_reader x WHERE x.tenant_id = s.tenant_id AND x.source = s.source
);

-- name: claim
-- What is due, that nobody is at, of connectors that may be asked, with a free slot of its account for each. Who dies
-- at it keeps both for the time of a lease.
WITH due AS MATERIALIZED (
    SELECT s.tenant_id, s.source, s.account, s.next_poll
    FROM execution.mcp_source s JOIN execution.connector c USING (tenant_id, connector)
    WHERE s.next_poll <= $1 AND s.polling_until <= $1 AND c.stopped IS NULL AND NOT c.paused
        AND EXISTS (
            SELECT FROM execution.mcp_slot f
            WHERE f.tenant_id = s.tenant_id AND f.account = s.account AND f.until <= $1
        )
        AND NOT EXISTS (
            SELECT FROM mailbox.stop
            WHERE scope = ANY (mailbox.scopes_over(s.tenant_id, NULL, NULL, 'mcp/' || s.connector))
        )
    ORDER BY s.next_poll
    LIMIT $2
    FOR UPDATE OF s SKIP LOCKED
), free AS MATERIALIZED (
    SELECT tenant_id, account, slot FROM execution.mcp_slot
    WHERE until <= $1 AND (tenant_id, account) IN (SELECT tenant_id, account FROM due)
    FOR UPDATE SKIP LOCKED
), pair AS (
    SELECT d.tenant_id, d.source, d.account, f.slot
    FROM (SELECT *, row_number() OVER (PARTITION BY tenant_id, account ORDER BY next_poll) AS n FROM due) AS d
    JOIN (SELECT *, row_number() OVER (PARTITION BY tenant_id, account ORDER BY slot) AS n FROM free) AS f
        USING (tenant_id, account, n)
), turn AS (
    UPDATE execution.mcp_source s SET poll = s.poll + 1, polling_until = $1::timestamptz + $3::interval
    FROM pair WHERE s.tenant_id = pair.tenant_id AND s.source = pair.source
    RETURNING s.*, pair.slot
), taken AS (
    UPDATE execution.mcp_slot f SET until = $1::timestamptz + $3::interval, source = turn.source, poll = turn.poll
    FROM turn WHERE f.tenant_id = turn.tenant_id AND f.account = turn.account AND f.slot = turn.slot
)
SELECT turn.*, c.spec AS connector_spec, c.object_sha256, c.reload
FROM turn JOIN execution.connector c USING (tenant_id, connector);

-- name: next_due
SELECT min(next_poll) FROM execution.mcp_source;

-- name: count_call
-- One more call in the running hour, unless they are used up.
UPDATE execution.connector SET
    calls = CASE WHEN calls_hour = date_trunc('hour', $3::timestamptz) THEN calls + 1 ELSE 1 END,
    calls_hour = date_trunc('hour', $3::timestamptz)
WHERE tenant_id = $1 AND connector = $2
    AND (calls_hour <> date_trunc('hour', $3::timestamptz) OR calls < $4)
RETURNING calls;

-- name: readings
SELECT reading, spec, backfill, seeded_at FROM execution.mcp_reading
WHERE tenant_id = $1 AND source = $2 ORDER BY reading;

-- name: views
SELECT DISTINCT reading, view, spec -> 'time' AS time, spec -> 'project' AS project FROM execution.mcp_reader
WHERE tenant_id = $1 AND source = $2 ORDER BY reading, view;

-- name: hold
-- The source, locked, as long as nobody else took a turn at it meanwhile and it may still be asked.
SELECT s.source FROM execution.mcp_source s JOIN execution.connector c USING (tenant_id, connector)
WHERE s.tenant_id = $1 AND s.source = $2 AND s.poll = $3 AND c.stopped IS NULL FOR UPDATE OF s;

-- name: known
SELECT item, version FROM execution.mcp_item WHERE tenant_id = $1 AND reading = $2 AND item = ANY ($3::bytea[]);

-- name: remember
INSERT INTO execution.mcp_item (tenant_id, reading, item, version)
SELECT $1, $2, * FROM unnest($3::bytea[], $4::bytea[])
ON CONFLICT (tenant_id, reading, item) DO UPDATE SET version = excluded.version, met = current_date;

-- name: met_again
-- Once a day at most: what is still there stays known.
UPDATE execution.mcp_item SET met = current_date
WHERE tenant_id = $1 AND reading = $2 AND item = ANY ($3::bytea[]) AND met < current_date;

-- name: forget_items
DELETE FROM execution.mcp_item WHERE met < current_date - $1::int;

-- name: seeded
UPDATE execution.mcp_reading SET backfill = $3, seeded_at = $4 WHERE tenant_id = $1 AND reading = $2;

-- name: polled
UPDATE execution.mcp_source SET cursor = $4, next_poll = $5, polling_until = '-infinity', polled_at = $6,
    observations = observations + 1, failures = 0, fault = NULL, state = 'active'
WHERE tenant_id = $1 AND source = $2 AND poll = $3;

-- name: failed
UPDATE execution.mcp_source SET next_poll = $4, polling_until = '-infinity', failures = failures + 1, fault = $5,
    state = CASE WHEN failures + 1 >= $6 THEN 'stalled' ELSE state END
WHERE tenant_id = $1 AND source = $2 AND poll = $3
RETURNING failures, state;

-- name: put_off
-- Not asked at all, so that nothing failed.
UPDATE execution.mcp_source SET next_poll = $4, polling_until = '-infinity', fault = $5
WHERE tenant_id = $1 AND source = $2 AND poll = $3;

-- name: free_slot
UPDATE execution.mcp_slot SET until = '-infinity', source = NULL, poll = NULL
WHERE tenant_id = $1 AND source = $2 AND poll = $3;

-- name: hint
-- A server said that something changed: its sources are looked at now.
-- Arguments: tenants, connectors, now.
UPDATE execution.mcp_source s SET next_poll = $3
FROM unnest($1::text[], $2::text[]) AS h (tenant_id, connector)
WHERE s.tenant_id = h.tenant_id AND s.connector = h.connector AND s.next_poll > $3
    AND (s.polled_at IS NULL OR s.polled_at < $3 - interval '1 s');

-- name: reader_names
SELECT name FROM execution.mcp_reader WHERE tenant_id = $1 AND source = $2 ORDER BY name;

-- name: connector
SELECT * FROM execution.connector WHERE tenant_id = $1 AND connector = $2;

-- name: asked_connectors
SELECT DISTINCT tenant_id, connector FROM execution.mcp_source
UNION SELECT tenant_id, connector FROM execution.connector WHERE reload > loaded;

-- name: wanting
-- Connectors that are to be connected anew and were not.
SELECT tenant_id, connector, spec, object_sha256, reload FROM execution.connector
WHERE reload > loaded AND NOT paused AND stopped IS NULL;

-- name: reloaded
UPDATE execution.connector SET loaded = greatest(loaded, $3), connected_at = coalesce($4, connected_at), fault = $5
WHERE tenant_id = $1 AND connector = $2;

-- name: stop
UPDATE execution.connector SET stopped = $3, stopped_at = $4, stopped_why = $5, fault = NULL
WHERE tenant_id = $1 AND connector = $2 AND stopped IS NULL
RETURNING connector;

-- name: conditions_of
SELECT name FROM execution.mcp_reader r WHERE tenant_id = $1
    AND source IN (SELECT source FROM execution.mcp_source WHERE tenant_id = $1 AND connector = $2)
ORDER BY name;

-- name: pins
SELECT tool, pinned FROM execution.mcp_tool WHERE tenant_id = $1 AND connector = $2;

-- name: pin
INSERT INTO execution.mcp_tool (tenant_id, connector, tool, pinned, pinned_at, pinned_by, met, met_at, definition)
SELECT $1, $2, tool, sha256, $3, $4, sha256, $3, definition FROM unnest($5::text[], $6::text[], $7::jsonb[])
    AS w (tool, sha256, definition)
ON CONFLICT (tenant_id, connector, tool) DO UPDATE SET
    pinned = excluded.pinned, pinned_at = excluded.pinned_at, pinned_by = excluded.pinned_by, met = excluded.met,
    met_at = excluded.met_at, definition = excluded.definition
WHERE mcp_tool.pinned <> excluded.pinned;

-- name: meet
-- What was met is not what was expected, be that declared or pinned.
INSERT INTO execution.mcp_tool (tenant_id, connector, tool, pinned, pinned_at, pinned_by, met, met_at, definition)
SELECT $1, $2, tool, expected, $3, $4, sha256, $3, definition
FROM unnest($5::text[], $6::text[], $7::jsonb[], $8::text[]) AS w (tool, sha256, definition, expected)
ON CONFLICT (tenant_id, connector, tool) DO UPDATE SET
    met = excluded.met, met_at = excluded.met_at, definition = excluded.definition;

-- name: pin_what_was_met
-- A person has looked at it: what was met last is what is expected from now on.
WITH pinned AS (
    UPDATE execution.mcp_tool SET pinned = met, pinned_at = clock_timestamp(), pinned_by = $3
    WHERE tenant_id = $1 AND connector = $2 AND pinned <> met AND ($4::text IS NULL OR tool = $4)
    RETURNING tool, pinned
), running AS (
    UPDATE execution.connector c SET stopped = NULL, stopped_at = NULL, stopped_why = NULL, reload = reload + 1
    WHERE tenant_id = $1 AND connector = $2 AND EXISTS (SELECT FROM pinned)
)
SELECT tool, pinned FROM pinned ORDER BY tool;

-- name: ask_reload
UPDATE execution.connector SET reload = reload + 1 WHERE tenant_id = $1 AND connector = $2
RETURNING reload;

-- name: notify
SELECT pg_notify('sereno_connectors', $1);

-- name: shown
SELECT connector, paused, reload, loaded, connected_at, fault, stopped, stopped_at, stopped_why,
    CASE WHEN calls_hour = date_trunc('hour', clock_timestamp()) THEN calls ELSE 0 END AS calls
FROM execution.connector WHERE tenant_id = $1 AND ($2::text IS NULL OR connector = $2) ORDER BY connector;

-- name: shown_tools
SELECT connector, tool, pinned, pinned_at, pinned_by, met, met_at, definition FROM execution.mcp_tool
WHERE tenant_id = $1 AND ($2::text IS NULL OR connector = $2) ORDER BY connector, tool;

-- name: shown_sources
SELECT s.connector, s.source, s.tool, s.spec -> 'arguments' AS arguments, s.every, s.state, s.polled_at, s.next_poll,
    s.observations, s.failures, s.fault, array_agg(r.name ORDER BY r.name) AS subscriptions
FROM execution.mcp_source s JOIN execution.mcp_reader r USING (tenant_id, source)
WHERE s.tenant_id = $1 AND ($2::text IS NULL OR s.connector = $2)
GROUP BY s.tenant_id, s.source ORDER BY s.connector, s.source
