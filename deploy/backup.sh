#!/bin/sh
# Write sessions and the queue of durable runs, as of one moment, into FILE.
#
#     backup.sh FILE                         with TOOLKEEL_DATABASE=postgresql://...
#     pg_restore --exit-on-error --dbname ADDRESS FILE    into an empty database
set -eu
exec pg_dump --format=custom --schema=toolkeel --schema=dbos --file="$1" "$TOOLKEEL_DATABASE"
