#!/usr/bin/env bash
# Measures the broker and writes the tables of bench/RESULTS.md. See usage() below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

usage() {
  cat <<'END'
Usage: ./dev bench [OPTIONS]

Runs the broker over a matrix of loads, each beside the bare pipeline, and writes the tables into
bench/RESULTS.md; with --only, --budget, --list or --results that file stays as it is.

  -r, --runs N        runs of each scenario (default 5)
  -s, --seconds N     seconds of each run (default 5)
      --budget NAME   memory, descriptors, kill -9 and recovery instead: queues or backlog;
                      or latencies while garbage is collected: garbage;
                      or files against what is valid in them at full load: churn;
                      or latencies with and without checkpoints: checkpoints;
                      or how late messages leave that expire in any order: expiry;
                      or latencies while a policy of many queues changes: policies;
                      or how late delayed messages come, five millions of them: delayed
  -n, --count N       with --budget: another number of them
  -b, --bytes N       with --budget backlog: bytes of each message (default 1024)
      --only TEXT     only scenarios whose names have this in them
  -d, --dir PATH      where the data goes: the disk to measure (default build/bench)
      --results FILE  put the tables between the marks in this file
      --title TEXT    a line above the tables (default: the commit and the date)
  -l, --list          list the scenarios
  -h, --help          this text
END
}

options=()
whole=true
title="Commit $(git rev-parse --short HEAD), $(date -u +%F)."
directory=$PWD/build/bench
while [ $# -gt 0 ]; do
  option=${1%%=*}
  case $option in
    -h | --help)
      usage
      exit 0
      ;;
    -l | --list)
      whole=false
      options+=("$1")
      shift
      continue
      ;;
    -r | --runs | -s | --seconds | -n | --count | -b | --bytes | -d | --dir | --title | --only | --budget | --results) ;;
    *) usage_error "bench has no option '$1'" ;;
  esac
  # The others have a value: --name VALUE or --name=VALUE.
  if [ "$option" != "$1" ]; then
    value=${1#*=}
  else
    [ $# -gt 1 ] || usage_error "bench: $option needs a value"
    value=$2
    shift
  fi
  shift
  case $option in
    -d | --dir) directory=$value ;;
    --title) title=$value ;;
    --only | --budget | --results)
      whole=false
      options+=("$option" "$value")
      ;;
    *) options+=("$option" "$value") ;;
  esac
done

scripts/deps.sh --quiet build
build release segue segue-router segue-node pipeline_ceiling broker_matrix

$whole && options+=(--results bench/RESULTS.md)
mkdir -p "$directory"
exec build/release/bin/broker_matrix --dir "$directory" --title "$title" "${options[@]}"
