#!/bin/sh
# Back up a running installation: backup.sh DATA TARGET
# DATA is the data folder of `sereno up`; TARGET becomes a folder that only its owner can read. docs/how-to/back-up-and-restore.md
# says what is in it, and what is not.
set -eu
data=$(cd "$1" && pwd)
target=$2
python="$(dirname "$(command -v sereno)")/python"
: "${PG_BIN:=$("$python" -c 'from sereno.deploy.postgres_binaries import find_binaries; print(find_binaries().folder)')}"
field() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$data/sereno.json" "$1"; }

umask 077
mkdir -p "$target"
# One consistent picture of both planes: events, catalog, mailbox and audit chains.
"$PG_BIN/pg_dump" --format=custom --file="$target/sereno.dump.part" --dbname="$(field postgres)"
mv "$target/sereno.dump.part" "$target/sereno.dump"
# Keys and checkpoints: what is restored is held against them.
for folder in secrets audit; do
  if [ -d "$data/$folder" ]; then rm -rf "${target:?}/$folder" && cp -Rp "$data/$folder" "$target/$folder"; fi
done
sereno audit export --data "$data" --to "$target/audit.jsonl"
echo "backed up $data to $target"
