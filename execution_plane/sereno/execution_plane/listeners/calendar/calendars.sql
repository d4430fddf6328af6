-- name: lock_catalog
SELECT pg_advisory_xact_lock(hashtextextended('sereno.manifest/' || $1, 0));

-- name: changed
-- The subscriptions to calendars that are not followed as the object in force says; the zone of their tenant.
SELECT c.object, c.sha256, t.object -> 'spec' ->> 'zone' AS zone
FROM execution.catalog c
LEFT JOIN execution.catalog t ON t.tenant_id = c.tenant_id AND t.key = 'tenant/' || c.tenant_id
LEFT JOIN execution.calendar f
    ON f.tenant_id = c.tenant_id AND f.calendar = (c.object ->> 'id')::uuid AND f.object_sha256 = c.sha256
    AND f.ended IS NULL
    AND f.zone IS NOT DISTINCT FROM
        coalesce(c.object #>> '{spec,source,calendar,zone}', t.object -> 'spec' ->> 'zone')
WHERE c.tenant_id = $1 AND c.key LIKE 'subscription/%' AND c.object -> 'spec' -> 'source' -> 'calendar' IS NOT NULL
    AND c.object ->> 'state' IN ('active', 'paused') AND f.calendar IS NULL;

-- name: gone
-- Calendars whose subscription is not declared any more, has another source or may not fire; why.
SELECT f.tenant_id, f.calendar, coalesce(c.object ->> 'state', 'revoked') AS became
FROM execution.calendar f
LEFT JOIN execution.catalog c
    ON c.tenant_id = f.tenant_id AND c.key = 'subscription/' || f.subscription
    AND (c.object ->> 'id')::uuid = f.calendar
WHERE f.tenant_id = $1 AND f.ended IS NULL
    AND (c.key IS NULL OR c.object -> 'spec' -> 'source' -> 'calendar' IS NULL
        OR c.object ->> 'state' NOT IN ('active', 'paused'))
ORDER BY f.calendar
FOR UPDATE OF f;

-- name: known
SELECT * FROM execution.calendar WHERE tenant_id = $1 AND calendar = ANY ($2::uuid[]) ORDER BY calendar FOR UPDATE;

-- name: put
INSERT INTO execution.calendar
    (tenant_id, calendar, subscription, subscription_version, spec, object_sha256, misfire, paused, expires, zone,
     counted_from, next_look)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (tenant_id, calendar) DO UPDATE SET
    subscription = excluded.subscription, subscription_version = excluded.subscription_version,
    spec = excluded.spec, object_sha256 = excluded.object_sha256, misfire = excluded.misfire,
    paused = excluded.paused, expires = excluded.expires, zone = excluded.zone, updated_at = clock_timestamp();

-- name: edit
-- What is read in another way is read anew, and who is at the source now writes nothing.
UPDATE execution.calendar SET edited = true, known_until = NULL, next_look = $3, look = look + 1, looking_until = NULL,
    counted_from = $4
WHERE tenant_id = $1 AND calendar = $2;

-- name: forget
-- Another source: nothing of the old one counts.
WITH read AS (DELETE FROM execution.calendar_resource WHERE tenant_id = $1 AND calendar = $2)
UPDATE execution.calendar SET cursor = '{}', looked_at = NULL, failures = 0, fault = NULL
WHERE tenant_id = $1 AND calendar = $2;

-- name: begin_again
-- After an end: nothing is known; what a right that was taken left out has that reason.
UPDATE execution.calendar SET ended = NULL, ended_at = NULL, known_until = NULL, next_look = $3, look = look + 1,
    looking_until = NULL, counted_from = $4, looked_at = $5, hole_until = $6, hole_reason = $7
WHERE tenant_id = $1 AND calendar = $2;

-- name: due_of_gone
UPDATE execution.calendar_instant SET state = 'skipped', outcome = 'skipped', reason = $3, recorded_at = clock_timestamp()
WHERE tenant_id = $1 AND calendar = $2 AND state = 'pending' AND fire <= $4;

-- name: forget_pending
DELETE FROM execution.calendar_instant WHERE tenant_id = $1 AND calendar = $2 AND state = 'pending';

-- name: finish
UPDATE execution.calendar
SET ended = $3, ended_at = $4, next_look = NULL, next_due = NULL, look = look + 1, looking_until = NULL,
    hole_until = NULL, hole_reason = NULL, updated_at = clock_timestamp()
WHERE tenant_id = $1 AND calendar = $2;

-- name: look_at_dates
-- What a manifest changed may be a date that somebody follows.
UPDATE execution.calendar SET next_look = $2
WHERE tenant_id = $1 AND ended IS NULL AND spec ? 'object' AND next_look > $2;

-- name: claim_look
-- Whoever dies at the source keeps it for the time of a lease; the number tells one turn from the next.
UPDATE execution.calendar f SET look = f.look + 1, looking_until = $1::timestamptz + $3::interval
FROM (
    SELECT tenant_id, calendar FROM execution.calendar
    WHERE next_look <= $1 AND next_look IS NOT NULL AND (looking_until IS NULL OR looking_until <= $1)
    ORDER BY next_look
    LIMIT $2
    FOR UPDATE SKIP LOCKED
) AS due
WHERE f.tenant_id = due.tenant_id AND f.calendar = due.calendar
RETURNING f.*;

-- name: etags
SELECT href, etag FROM execution.calendar_resource WHERE tenant_id = $1 AND calendar = $2;

-- name: contents
SELECT href, content FROM execution.calendar_resource WHERE tenant_id = $1 AND calendar = $2 ORDER BY href;

-- name: date_of_object
SELECT object -> 'spec' -> 'limits' ->> 'expires' AS date FROM execution.catalog
WHERE tenant_id = $1 AND key = 'subscription/' || $2 AND object ->> 'state' IN ('active', 'paused');

-- name: hold_look
-- The calendar, locked, as long as nobody else took a turn at its source meanwhile.
SELECT * FROM execution.calendar WHERE tenant_id = $1 AND calendar = $2 AND look = $3 AND ended IS NULL FOR UPDATE;

-- name: drop_resources
DELETE FROM execution.calendar_resource WHERE tenant_id = $1 AND calendar = $2 AND href = ANY ($3::text[]);

-- name: drop_other_resources
DELETE FROM execution.calendar_resource WHERE tenant_id = $1 AND calendar = $2 AND href <> ALL ($3::text[]);

-- name: put_resources
INSERT INTO execution.calendar_resource (tenant_id, calendar, href, etag, content)
SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::text[])
ON CONFLICT (tenant_id, calendar, href) DO UPDATE SET etag = excluded.etag, content = excluded.content;

-- name: pending
SELECT * FROM execution.calendar_instant
WHERE tenant_id = $1 AND calendar = $2 AND state = 'pending' AND fire <= $3
ORDER BY fire, occurrence;

-- name: written
SELECT * FROM execution.calendar_instant WHERE tenant_id = $1 AND calendar = $2 AND occurrence = ANY ($3::text[]);

-- name: latest
SELECT DISTINCT ON (entry) * FROM execution.calendar_instant
WHERE tenant_id = $1 AND calendar = $2 AND entry = ANY ($3::bytea[])
ORDER BY entry, recorded_at DESC;

-- name: add
-- One that was removed may come back; one that was decided is decided.
INSERT INTO execution.calendar_instant
    (tenant_id, calendar, occurrence, entry, subscription, subscription_version, uid, recurrence, start, anchor, fire,
     before, previous_start, previous_anchor, facts, state, outcome, reason)
SELECT $1, $2, n.occurrence, n.entry, $3, $4, n.uid, n.recurrence, n.start, n.anchor, n.fire, n.before,
    n.previous_start, n.previous_anchor, n.facts, CASE WHEN n.reason IS NULL THEN 'pending' ELSE 'skipped' END,
    CASE WHEN n.reason IS NULL THEN NULL ELSE 'skipped' END, n.reason
FROM unnest($5::text[], $6::bytea[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[],
        $11::timestamptz[], $12::interval[], $13::timestamptz[], $14::timestamptz[], $15::jsonb[], $16::text[])
    AS n (occurrence, entry, uid, recurrence, start, anchor, fire, before, previous_start, previous_anchor, facts, reason)
ON CONFLICT (tenant_id, calendar, occurrence) DO UPDATE SET
    subscription = excluded.subscription, subscription_version = excluded.subscription_version,
    start = excluded.start, fire = excluded.fire, previous_start = excluded.previous_start,
    previous_anchor = excluded.previous_anchor, facts = excluded.facts, state = excluded.state,
    outcome = excluded.outcome, reason = excluded.reason, recorded_at = clock_timestamp()
WHERE calendar_instant.state = 'removed';

-- name: refresh
-- What is still to come may be called otherwise by now.
UPDATE execution.calendar_instant AS i
SET facts = n.facts, start = n.start, subscription_version = $3
FROM unnest($4::text[], $5::jsonb[], $6::timestamptz[]) AS n (occurrence, facts, start)
WHERE i.tenant_id = $1 AND i.calendar = $2 AND i.occurrence = n.occurrence AND i.state = 'pending'
    AND (i.facts, i.start, i.subscription_version) IS DISTINCT FROM (n.facts, n.start, $3);

-- name: remove
UPDATE execution.calendar_instant AS i
SET state = n.state, outcome = n.state, reason = n.reason, recorded_at = clock_timestamp()
FROM unnest($3::text[], $4::text[], $5::text[]) AS n (occurrence, state, reason)
WHERE i.tenant_id = $1 AND i.calendar = $2 AND i.occurrence = n.occurrence AND i.state = 'pending';

-- name: emit
UPDATE execution.calendar_instant AS i
SET state = 'emitted', receiptid = n.receiptid, emitted = $5, recorded_at = clock_timestamp()
FROM unnest($3::text[], $4::uuid[]) AS n (occurrence, receiptid)
WHERE i.tenant_id = $1 AND i.calendar = $2 AND i.occurrence = n.occurrence AND i.state = 'pending'
RETURNING i.receiptid;

-- name: looked
-- What was not there at a look that succeeded, and was due before it, is past when it is seen.
UPDATE execution.calendar SET cursor = $3, next_look = $4, looking_until = NULL, failures = $5, fault = $6,
    looked_at = CASE WHEN $6::text IS NULL THEN greatest(looked_at, $7) ELSE looked_at END
WHERE tenant_id = $1 AND calendar = $2;

-- name: brought_up_to_date
UPDATE execution.calendar SET known_until = $3, edited = false, hole_until = NULL, hole_reason = NULL
WHERE tenant_id = $1 AND calendar = $2;

-- name: point
UPDATE execution.calendar f SET next_due = (
    SELECT min(fire) FROM execution.calendar_instant i
    WHERE i.tenant_id = f.tenant_id AND i.calendar = f.calendar AND i.state = 'pending'
)
WHERE f.tenant_id = $1 AND f.calendar = $2;

-- name: claim_due
-- Under a stop nothing is due: its end finds it late, and `misfire` says what is done about that.
SELECT * FROM execution.calendar f
WHERE next_due <= $1 AND next_due IS NOT NULL AND NOT EXISTS (
    SELECT FROM mailbox.stop WHERE scope = ANY (mailbox.scopes_over(f.tenant_id, NULL, f.subscription, 'calendar'))
)
ORDER BY next_due
LIMIT $2
FOR UPDATE OF f SKIP LOCKED;

-- name: followed
-- What is to come of a subscription, and what became of what is over, the nearest first.
SELECT i.tenant_id, i.subscription, i.uid, i.recurrence, i.start, i.anchor, i.fire, i.previous_start, i.facts, i.state,
    i.outcome, i.reason, i.receiptid
FROM execution.calendar_instant i
WHERE i.tenant_id = $1 AND i.subscription = $2 AND i.fire >= $3
ORDER BY i.fire, i.occurrence
LIMIT $4;

-- name: standing
SELECT looked_at, next_look, failures, fault, known_until FROM execution.calendar
WHERE tenant_id = $1 AND subscription = $2 AND ended IS NULL

-- name: clock
SELECT clock_timestamp();

-- name: of_tenant
SELECT * FROM execution.calendar WHERE tenant_id = $1 AND ended IS NULL ORDER BY calendar FOR UPDATE;

-- name: next_due
SELECT next_due FROM execution.calendar WHERE tenant_id = $1 AND calendar = $2
