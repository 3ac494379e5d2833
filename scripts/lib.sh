# What the scripts behind ./dev share. Sourced, with the tree's root as the working directory.
# shellcheck shell=bash

jobs=${SEGUE_JOBS:-$(nproc)}

say() { printf '==> %s\n' "$*" >&2; }

# die SENTENCE [HINT]
die() {
  printf 'dev: %s\n' "$1" >&2
  [ $# -gt 1 ] && printf '     %s\n' "$2" >&2
  exit 1
}

# usage_error SENTENCE: for a command line that cannot be meant: the sentence, what usage() of the
# calling script prints, exit code 64.
usage_error() {
  printf 'dev: %s\n\n' "$1" >&2
  usage >&2
  exit 64
}

# The C++ files under version control or new, NUL-separated.
cpp_files() { git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h'; }

shell_files() {
  printf '%s\0' dev .ci/run
  git ls-files -z --cached --others --exclude-standard -- '*.sh'
}

# Runs ninja with its status line on a terminal; elsewhere (CI) a line every 20 seconds and, when it
# fails, what the compiler said. The whole output is in build/<preset>/build.log.
run_ninja() {
  local preset=$1
  shift
  local dir=build/$preset log=build/$preset/build.log
  if [ -t 1 ]; then
    NINJA_STATUS="[$preset %f/%t %es] " ninja -C "$dir" -j "$jobs" "$@"
    return
  fi
  NINJA_STATUS='[%f/%t] ' ninja -C "$dir" -j "$jobs" "$@" >"$log" 2>&1 &
  local ninja=$! waited=0 status=0
  while kill -0 "$ninja" 2>/dev/null; do
    sleep 1
    waited=$((waited + 1))
    if [ $((waited % 20)) -eq 0 ]; then
      say "building $preset: $(grep -ao '^\[[0-9/]*\]' "$log" | tail -n 1)"
    fi
  done
  wait "$ninja" || status=$?
  if [ "$status" -ne 0 ]; then
    # As text whatever is in it: compilers quote what they read.
    grep -av '^\[[0-9/]*\]' "$log" | tail -n 200 >&2
    printf 'dev: build of %s failed; the whole log is %s\n' "$preset" "$log" >&2
  fi
  return "$status"
}

# build PRESET [TARGET...]: one at a time in a build directory. What ninja starts inherits the lock, so
# that it stands as long as anything still builds.
build() {
  local preset=$1 lock status=0
  is_preset "$preset" || die "no preset '$preset'" "one of: release debug asan tsan"
  mkdir -p "build/$preset"
  exec {lock}>"build/$preset/dev.lock"
  if ! flock --nonblock "$lock"; then
    say "another ./dev builds $preset in this tree; waiting for it"
    flock "$lock"
  fi
  build_locked "$@" || status=$?
  exec {lock}>&-
  return "$status"
}

is_preset() { grep -qF "\"name\": \"$1\", \"inherits\"" CMakePresets.json; }

build_locked() {
  local preset=$1
  shift
  local dir=build/$preset
  if [ ! -e "$dir/build.ninja" ] || [ CMakePresets.json -nt "$dir/build.ninja" ]; then
    say "configuring $preset"
    if ! cmake --preset "$preset" >"$dir/configure.log" 2>&1; then
      cat "$dir/configure.log" >&2
      return 1
    fi
    touch "$dir/build.ninja"
  fi
  run_ninja "$preset" "$@"
}
