#!/usr/bin/env bash
# ./dev lint [--style-only] [FILE...]: formatting, shell scripts and, without --style-only,
# clang-tidy over the given files (default: every .cc of the release build).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

style_only=false
files=()
for word in "$@"; do
  case $word in
    --style-only) style_only=true ;;
    -h | --help)
      sed -n '2,3s/^# //p' "$0"
      exit 0
      ;;
    *) files+=("$word") ;;
  esac
done

scripts/deps.sh --quiet test
failed=0

cpp_files | xargs -0 -r -n 50 clang-format --dry-run --Werror || {
  say "formatting differs: ./dev fmt puts it right"
  failed=1
}
shell_files | xargs -0 shellcheck -x || failed=1

if ! $style_only; then
  scripts/deps.sh --quiet build
  build release
  if [ ${#files[@]} -eq 0 ]; then
    mapfile -t files < <(git ls-files -- '*.cc' ':!tests/*')
  fi
  say "clang-tidy over ${#files[@]} files"
  printf '%s\0' "${files[@]}" |
    xargs -0 -P "$jobs" -n 1 clang-tidy --quiet -p build/release || failed=1
fi
exit "$failed"
