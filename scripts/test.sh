#!/usr/bin/env bash
# All checks of the tree. See usage() below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

usage() {
  cat <<'END'
Usage: ./dev test [OPTIONS]

Without options, in this order:
  style    formatting (clang-format) and shell scripts (shellcheck)
  release  build everything, run every test
  asan     the same under the address and undefined-behaviour sanitizers
  tsan     what has threads or processes, under the thread sanitizer
  fuzz     each fuzz target over its corpus, then some seconds of new inputs

  --quick            style and release only
  --preset NAME      only this part (style, release, asan, tsan, fuzz); may be repeated
  --only REGEX       only tests whose name matches (ctest -R), e.g. 'storage/Wal'
  --crash-rounds N   rounds of the crash test in release (default 50)
  --fuzz-seconds N   seconds for each fuzz target (default 8)
  --fail-fast        stop at the first part that fails

Exit code: 0 when every part passed, 1 otherwise. SEGUE_JOBS sets the parallelism.
END
}

parts=()
only=
rounds=${SEGUE_CRASH_ROUNDS:-50}
fuzz_seconds=8
fail_fast=false
while [ $# -gt 0 ]; do
  case $1 in
    --quick) parts=(style release) ;;
    --preset | --only | --crash-rounds | --fuzz-seconds)
      [ $# -gt 1 ] || usage_error "test: $1 needs a value"
      case $1 in
        --preset) parts+=("$2") ;;
        --only) only=$2 ;;
        --crash-rounds) rounds=$2 ;;
        --fuzz-seconds) fuzz_seconds=$2 ;;
      esac
      shift
      ;;
    --fail-fast) fail_fast=true ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) usage_error "test has no option '$1'" ;;
  esac
  shift
done
for number in "$rounds" "$fuzz_seconds"; do
  [[ $number =~ ^[0-9]{1,9}$ ]] || usage_error "test: '$number' is not a number"
done
for part in "${parts[@]}"; do
  case $part in
    style | release | asan | tsan | fuzz) ;;
    *) usage_error "test has no part '$part'" ;;
  esac
done
if [ ${#parts[@]} -eq 0 ]; then
  parts=(style release asan tsan fuzz)
  # Only some of the tests: no need for what has none.
  [ -n "$only" ] && parts=(release asan tsan)
fi

# run_ctest PRESET [ctest options...]
run_ctest() {
  local preset=$1
  shift
  # Half of the tests wait for processes that they have started.
  local options=(--test-dir "build/$preset" --output-on-failure -j "$((jobs * 2))" --timeout 300
    --no-tests=error)
  [ -t 1 ] && options+=(--progress)
  [ -n "$only" ] && options+=(-R "$only")
  local log=build/$preset/ctest.log status=0
  if [ -t 1 ]; then
    ctest "${options[@]}" "$@" || status=$?
  else
    # Passed tests are left out of the log; they are in build/<preset>/ctest.log.
    { ctest "${options[@]}" "$@" 2>&1 || status=$?; } > >(tee "$log" |
      grep -Ev '^ *Start +[0-9]+:|^ *[0-9]+/[0-9]+ Test .* Passed ')
    wait $! || true  # the filter has written everything
  fi
  return "$status"
}

part_style() { scripts/lint.sh --style-only; }

part_release() {
  scripts/deps.sh --quiet build || return 1
  build release && SEGUE_CRASH_ROUNDS=$rounds run_ctest release
}

# run_sanitized PRESET [ctest options...]: run_ctest, and a failure for every report of a sanitizer, also
# of a process that a test started and killed, or whose end nobody looked at.
run_sanitized() {
  local preset=$1 status=0
  local reports=$PWD/build/$preset/reports
  rm -rf "$reports"
  mkdir -p "$reports"
  # Rounds under sanitizers look for errors on the way, not for rare interleavings.
  SEGUE_CRASH_ROUNDS=$((rounds / 10 + 1)) \
    ASAN_OPTIONS=detect_stack_use_after_return=1:log_exe_name=1:log_path=$reports/report \
    UBSAN_OPTIONS=print_stacktrace=1:log_exe_name=1:log_path=$reports/report \
    TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:ignore_noninstrumented_modules=1:log_exe_name=1:log_path=$reports/report" \
    run_ctest "$@" || status=$?
  local report
  for report in "$reports"/*; do
    [ -e "$report" ] || continue
    say "a sanitizer's report: $report"
    head -n 80 "$report" >&2
    status=1
  done
  return "$status"
}

part_asan() {
  scripts/deps.sh --quiet build test || return 1
  build asan && run_sanitized asan
}

part_tsan() {
  scripts/deps.sh --quiet build || return 1
  # The cores of node and router have no threads; their processes run in the tests of the cluster.
  local folders=(common storage client cli cluster)
  local targets=("${folders[@]/#/segue_}")
  build tsan segue segue-router segue-node "${targets[@]/%/_tests}" || return 1
  local names
  names=$(IFS='|' && printf '%s' "${folders[*]}")
  # Recovery from every damage there is takes minutes here, and is one thread's work.
  local filter=(-R "^($names)/" -E '^storage/((WalRecovery|SegmentRecovery|SegmentGcCrash)\.|Share/SegmentGcCrash)')
  [ -n "$only" ] && filter=()
  run_sanitized tsan "${filter[@]}"
}

# fuzz_one TARGET: the target over its corpus, then new inputs for a while. What leads to new code is kept in
# build/asan/corpus, where the next run goes on.
fuzz_one() {
  local target=$1 name corpus kept
  name=$(basename "$target")
  corpus=tests/fuzz/corpus/${name%_fuzz}
  kept=build/asan/corpus/${name%_fuzz}
  mkdir -p "$kept"
  local seeds=()
  [ -d "$corpus" ] && seeds=("$corpus")
  if "$target" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
    -artifact_prefix="build/asan/artifacts/$name-" "$kept" "${seeds[@]}" \
    >"build/asan/$name.log" 2>&1; then
    say "fuzz $name: nothing found"
    return 0
  fi
  say "fuzz $name FAILED; the input is in build/asan/artifacts"
  tail -n 60 "build/asan/$name.log" >&2
  return 1
}

part_fuzz() {
  scripts/deps.sh --quiet build test || return 1
  # Their libraries are those of the tests.
  build asan segue_fuzz || return 1
  local target running=0 failed=0
  mkdir -p build/asan/artifacts
  for target in build/asan/bin/*_fuzz; do
    if [ "$running" -ge "$jobs" ]; then
      wait -n || failed=1
      running=$((running - 1))
    fi
    fuzz_one "$target" &
    running=$((running + 1))
  done
  while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
  done
  return "$failed"
}

names=()
results=()
seconds=()
failed=0
for part in "${parts[@]}"; do
  say "$part"
  start=$SECONDS
  result=passed
  # A function called in a condition runs without `set -e`: the parts return their failures.
  case $part in
    style) part_style ;;
    release) part_release ;;
    asan) part_asan ;;
    tsan) part_tsan ;;
    fuzz) part_fuzz ;;
  esac || {
    result=FAILED
    failed=1
  }
  names+=("$part")
  results+=("$result")
  seconds+=($((SECONDS - start)))
  if [ "$failed" -ne 0 ] && $fail_fast; then break; fi
done

printf '\n%-10s %-8s %8s\n' part result seconds
for i in "${!names[@]}"; do
  printf '%-10s %-8s %8d\n' "${names[$i]}" "${results[$i]}" "${seconds[$i]}"
done
exit "$failed"
