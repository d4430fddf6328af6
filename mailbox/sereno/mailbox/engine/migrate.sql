-- name: empty
-- Nothing is left in the schema but its version table. {schema} is the name of one of our schemas.
do $$
declare thing record;
begin
    for thing in
        select c.relname, c.relkind from pg_class c
        where c.relnamespace = '{schema}'::regnamespace and c.relkind in ('v', 'r', 'p', 'S') and not c.relispartition
            and c.relname <> 'alembic_version'
            -- The sequence of an identity goes with its table.
            and not (c.relkind = 'S' and exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i')))
        order by array_position(array['v', 'r', 'p', 'S'], c.relkind::text)
    loop
        execute format(
            'drop %s {schema}.%I',
            case thing.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, thing.relname
        );
    end loop;
    for thing in select oid::regprocedure as name from pg_proc where pronamespace = '{schema}'::regnamespace loop
        execute format('drop function %s', thing.name);
    end loop;
end $$
