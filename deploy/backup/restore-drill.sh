#!/bin/sh
# Rehearse a restore: restore-drill.sh DATA BACKUP
# Restores BACKUP into a second database of the server that the installation in DATA runs on, starts a second Sereno on it
# with new keys, on ports and a NATS of its own, walks its audit chains against the checkpoints of the backup, compares what is derived
# with its log, and removes everything again. The installation itself is not touched; one line is added to
# DATA/audit/drills.jsonl. Ends with 0 only when everything held.
set -eu
data=$(cd "$1" && pwd)
backup=$(cd "$2" && pwd)
python="$(dirname "$(command -v sereno)")/python"
: "${PG_BIN:=$("$python" -c 'from sereno.deploy.postgres_binaries import find_binaries; print(find_binaries().folder)')}"
dsn=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["postgres"])' "$data/sereno.json")
drill="sereno_drill_$$"
there=$("$python" -c 'import sys; from sereno.deploy.database import with_database; print(with_database(*sys.argv[1:]))' "$dsn" "$drill")
folder=$(mktemp -d)
began=$(date +%s)

clean() {
  sereno down --data "$folder" >/dev/null 2>&1 || true
  "$PG_BIN/dropdb" --if-exists --force --maintenance-db="$dsn" "$drill" || true
  rm -rf "$folder"
}
trap clean EXIT

umask 077
"$PG_BIN/createdb" --maintenance-db="$dsn" --template=template0 --encoding=UTF8 --locale=C "$drill"
"$PG_BIN/pg_restore" --exit-on-error --dbname="$there" "$backup/sereno.dump"
# The same keys and passwords, as after a loss of the machine.
for part in secrets audit; do
  if [ -d "$backup/$part" ]; then cp -Rp "$backup/$part" "$folder/$part"; fi
done
# A machine that was lost may have lost its keys too; what the former ones signed still counts.
sereno keys rotate --data "$folder"
# No token of a lease may ever be given out twice: this comes before anything starts.
sereno restore --postgres "$there"
SERENO_CONTROL_PORT=0 SERENO_EXECUTION_PORT=0 sereno up --data "$folder" --postgres "$there" --detach >/dev/null
sereno audit verify --data "$folder"
sereno audit verify --file "$backup/audit.jsonl"
sereno rebuild mailbox --check --postgres "$there"
sereno rebuild catalog --check --postgres "$there"
seconds=$(($(date +%s) - began))
mkdir -p "$data/audit"
printf '{"at":"%s","backup":"%s","seconds":%s,"restored":true}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$backup" "$seconds" \
  >> "$data/audit/drills.jsonl"
echo "restored, started and verified in $seconds s; everything of the drill is removed"
