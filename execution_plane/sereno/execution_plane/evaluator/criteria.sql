-- name: note
-- A criterion is judged for the first time. Arguments: tenant, subscription, version, criterion, confidence, model, prompt.
insert into execution.criterion (tenant_id, subscription, criterion_version, criterion, min_confidence, model, prompt)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict do nothing

-- name: mark
-- What was judged by a model or with a prompt that is not asked any more is due for a replay.
-- Arguments: the models that are asked, the prompt.
update execution.criterion
set recheck_since = clock_timestamp(),
    recheck_reason = case when prompt <> $2 then 'prompt' else 'model' end
where recheck_since is null and (prompt <> $2 or not model = any($1::text[]))
returning tenant_id, subscription

-- name: mark_subscriptions
-- What these subscriptions judge is due for a replay, for a reason. Arguments: tenant, subscriptions, reason.
update execution.criterion set recheck_since = clock_timestamp(), recheck_reason = $3
where recheck_since is null and tenant_id = $1 and subscription = any($2::text[])
returning tenant_id, subscription

-- name: replayed
-- Arguments: tenant, subscription, version, criterion, confidence, model, prompt, result.
insert into execution.criterion
    (tenant_id, subscription, criterion_version, criterion, min_confidence, model, prompt, replayed_at, replay)
values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), $8::text::jsonb)
on conflict (tenant_id, subscription, criterion_version) do update
set model = excluded.model, prompt = excluded.prompt, replayed_at = excluded.replayed_at, replay = excluded.replay,
    recheck_since = null, recheck_reason = null
