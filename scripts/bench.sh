#!/usr/bin/env bash
# ./dev bench: measures the broker and writes the tables of bench/RESULTS.md. Options go to
# broker_matrix; --help shows them. With --only, --budget or --list the file stays as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

scripts/deps.sh --quiet build
build release segue segue-router segue-node pipeline_ceiling broker_matrix

write=(--results bench/RESULTS.md --title "Commit $(git rev-parse --short HEAD), $(date -u +%F).")
for word in "$@"; do
  case $word in
    --only* | --budget* | --list | -l | --help | -h | --results*) write=() ;;
  esac
done
mkdir -p build/bench
exec build/release/bin/broker_matrix --dir "$PWD/build/bench" "${write[@]}" "$@"
