#!/usr/bin/env bash
# The client matrix: every client writes with every codec it has, every client reads what all wrote, every client
# resumes in a group; then kafka-dump-log reads every segment. Prints a line per cell, ends with 'N passed, N failed'.
#   tools/clients/run.sh [FLAGS OF tools/clients/matrix...]        after tools/clients/install.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
[ -x bin/millrace ] || make -s build
go build -o bin/client-matrix ./tools/clients/matrix
exec bin/client-matrix --bin bin/millrace --clients "$root/tools/clients" "$@"
