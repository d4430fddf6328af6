-- name: server
-- Who this server is, and on which timeline it writes.
select s.system_identifier::text as system_identifier, c.timeline_id::bigint as timeline
from pg_control_system() s, pg_control_checkpoint() c

-- name: known
select epoch, system_identifier, timeline from mailbox.token_epoch

-- name: remember
-- Arguments: system identifier, timeline.
update mailbox.token_epoch set system_identifier = $1, timeline = $2 where system_identifier is null

-- name: raise
-- Arguments: system identifier, timeline.
update mailbox.token_epoch
set epoch = epoch + 1, system_identifier = $1, timeline = $2, raised_at = clock_timestamp()
returning epoch
