#!/usr/bin/env bash
# Formatting, shell scripts and clang-tidy's findings. See usage() below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

usage() {
  cat <<'END'
Usage: ./dev lint [--style-only] [FILE...]

Formatting (clang-format), shell scripts (shellcheck) and, without --style-only, clang-tidy over the
given files (default: every .cc outside tests/).
END
}

style_only=false
files=()
for word in "$@"; do
  case $word in
    --style-only) style_only=true ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*) usage_error "lint has no option '$word'" ;;
    *) files+=("$word") ;;
  esac
done
for file in "${files[@]}"; do
  [ -f "$file" ] || usage_error "lint: there is no file '$file'"
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
