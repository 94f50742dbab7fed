#!/usr/bin/env bash
# Fills a disk of 64 MB under bin/millrace (built if missing) ROUNDS times and checks what
# works on it and what is left. More flags: see --help.
#   tools/diskfull/run.sh [ROUNDS] [FLAGS...]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=20
if [[ ${1:-} =~ ^[0-9]+$ ]]; then rounds=$1; shift; fi
cd "$root"
[ -x bin/millrace ] || make -s build
go build -o bin/diskfull ./tools/diskfull
exec bin/diskfull --bin bin/millrace --rounds "$rounds" "$@"
