#!/usr/bin/env bash
# Kills bin/millrace (built if missing) ROUNDS times under load and checks what is left;
# then holds the restart with a log of 1 GB to a second. More flags: see --help.
#   tools/crash/run.sh [ROUNDS] [FLAGS...]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=100
if [[ ${1:-} =~ ^[0-9]+$ ]]; then rounds=$1; shift; fi
cd "$root"
[ -x bin/millrace ] || make -s build
go build -o bin/crash ./tools/crash
exec bin/crash --bin bin/millrace --rounds "$rounds" "$@"
