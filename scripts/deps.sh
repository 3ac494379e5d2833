#!/usr/bin/env bash
# Installs the Debian packages that are missing: scripts/deps.sh [--quiet] GROUP...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

group_build=(g++ cmake ninja-build ccache pkg-config protobuf-compiler libprotobuf-dev
  libzmq3-dev cppzmq-dev libsqlite3-dev libyaml-cpp-dev libspdlog-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libxxhash-dev libre2-dev libgtest-dev libgmock-dev libbenchmark-dev librapidcheck-dev)
group_test=(clang libclang-rt-14-dev llvm clang-format clang-tidy shellcheck)

quiet=false
packages=()
for word in "$@"; do
  case $word in
    --quiet) quiet=true ;;
    build) packages+=("${group_build[@]}") ;;
    test) packages+=("${group_test[@]}") ;;
    *) die "no group of packages '$word'" "one of: build test" ;;
  esac
done

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  $quiet || say "all ${#packages[@]} packages are installed"
  exit 0
fi

say "installing ${#missing[@]} Debian packages: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    die "packages are missing and there is no sudo" "as root: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
  "${missing[@]}"
for package in "${missing[@]}"; do
  installed "$package" || die "package $package is still missing after apt-get install"
done
say "installed: ${missing[*]}"
