#!/usr/bin/env bash
# Builds the image, starts deploy/compose.yaml, publishes and consumes from a client container, kills a
# node's container in the middle, brings it back, and checks that nothing confirmed was lost.
#
# Runs on podman, as root, without a registry: the base image is made with debootstrap under the name
# that the Dockerfile's FROM uses. Called by `./dev containers`.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  '') ;;
  -h | --help)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    printf "containers: unknown option '%s'; it takes none\n\nUsage: ./dev containers\n" "$1" >&2
    exit 64
    ;;
esac

readonly base_image=docker.io/library/debian:bookworm-slim
readonly project=seguetest$$
readonly count=20000
work=$(mktemp -d)

say() { printf '== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# A machine in a container of its own often lacks systemd and a journal; these settings need neither.
if [ -z "${CONTAINERS_CONF:-}" ]; then
  cat >"$work/containers.conf" <<'CONF'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
  export CONTAINERS_CONF=$work/containers.conf
fi

compose() { podman-compose -p "$project" -f "$work/compose.yaml" "$@"; }
container() { podman ps -a --filter "name=${project}_$1" --format '{{.Names}}' | head -n 1; }

cleanup() {
  local code=$?
  if [ "$code" -ne 0 ]; then
    for service in r1 n1 n2 n3; do
      printf -- '-- last lines of %s\n' "$service" >&2
      podman logs --tail 15 "$(container "$service")" >&2 2>&1 || true
    done
  fi
  compose down -v >"$work/down.log" 2>&1 || true
  rm -rf "$work"
  exit "$code"
}
trap cleanup EXIT

packages=()
for pair in podman:podman podman-compose:podman-compose runc:runc debootstrap:debootstrap iptables:iptables; do
  command -v "${pair%%:*}" >/dev/null || packages+=("${pair##*:}")
done
[ -x /usr/lib/podman/netavark ] || packages+=(netavark)
[ -x /usr/lib/podman/aardvark-dns ] || packages+=(aardvark-dns)
if [ ${#packages[@]} -gt 0 ]; then
  say "installing ${packages[*]}"
  apt-get update -q >"$work/apt.log" 2>&1 || true
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >>"$work/apt.log" 2>&1 ||
    { tail -n 20 "$work/apt.log" >&2; fail "could not install ${packages[*]}"; }
fi

if ! podman image exists "$base_image"; then
  say "making the base image with debootstrap"
  debootstrap --variant=minbase bookworm "$work/base" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log" >&2; fail "debootstrap did not finish"; }
  # The host's own settings for package downloads hold inside too.
  apt-config dump | grep '^Acquire::' | grep -v 'Languages\|GzipIndexes' >"$work/base/etc/apt/apt.conf.d/90host" || true
  tar -C "$work/base" -c . | podman import - "$base_image" >/dev/null
  rm -rf "$work/base"
fi

say "building the image"
cache=()
if command -v ccache >/dev/null; then
  directory=$(ccache --get-config cache_dir)
  mkdir -p "$directory"
  cache=(--volume "$directory:/ccache")
  [ -z "${LANG:-}" ] || cache+=(--build-arg "LANG=$LANG")
fi
podman build --isolation=chroot --network=host "${cache[@]}" -t segue:latest -f deploy/Dockerfile . >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log" >&2; fail "the image did not build"; }
printf 'image: %s\n' "$(podman image inspect segue:latest --format '{{.Size}}' | awk '{printf "%.0f MiB", $1/1048576}')"
user=$(podman image inspect segue:latest --format '{{.Config.User}}')
[ "$user" = segue ] || fail "the image runs as '$user', not as segue"

say "starting one router and three nodes"
# As it stands, but without the fixed port on the host and without building again.
sed -e '/ports:/d' deploy/compose.yaml >"$work/compose.yaml"
compose up -d --no-build >"$work/up.log" 2>&1 || { cat "$work/up.log" >&2; fail "compose up"; }
network=$(podman network ls --format '{{.Name}}' | grep "^${project}" | head -n 1)

# A container has another address after each start, and the name server of podman 4's networks is silent
# for a minute after some of them: each container is told who is where.
tell_addresses() {
  local service address
  echo '127.0.0.1 localhost' >"$work/hosts"
  for service in r1 n1 n2 n3; do
    address=$(podman inspect "$(container "$service")" \
      --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}')
    [ -z "$address" ] || printf '%s %s\n' "$address" "$service" >>"$work/hosts"
  done
  for service in r1 n1 n2 n3; do
    podman exec -i -u 0 "$(container "$service")" sh -c 'cat >/etc/hosts' <"$work/hosts" || true
  done
}
tell_addresses

client() {
  local router
  router=$(awk '$2 == "r1" { print $1 }' "$work/hosts")
  podman run --rm -i --network "$network" --add-host "r1:$router" -e SEGUE_ROUTER=tcp://r1:5680 segue:latest "$@"
}

wait_until_up() {
  local deadline=$((SECONDS + 120))
  until client segue status >"$work/status.txt" 2>&1 && ! grep -qi 'down\|unavailable' "$work/status.txt"; do
    [ $SECONDS -lt $deadline ] || { cat "$work/status.txt" >&2; fail "the cluster did not come up"; }
    sleep 1
  done
}

wait_until_up
cat "$work/status.txt"

say "publishing $count lines with confirms from a client container, killing n2 in the middle"
queues=(orders payments mails events)
for queue in "${queues[@]}"; do client segue queue declare "$queue" >/dev/null; done
publishers=()
for queue in "${queues[@]}"; do
  seq -f "$queue-%06.0f" 1 "$count" >"$work/$queue.in"
  client segue publish --queue "$queue" --lines --confirm <"$work/$queue.in" >"$work/$queue.publish" 2>&1 &
  publishers+=($!)
done
podman kill --signal KILL "$(container n2)" >/dev/null
podman exec "$(container n1)" segue status --member n1 >/dev/null || fail "the health check of n1 while n2 is down"
sleep 2
podman start "$(container n2)" >/dev/null
tell_addresses
for i in "${!publishers[@]}"; do
  wait "${publishers[$i]}" || { cat "$work/${queues[$i]}.publish" >&2; fail "publishing to ${queues[$i]}"; }
done

say "killing n1 and n3, bringing them back, consuming everything"
podman kill --signal KILL "$(container n1)" "$(container n3)" >/dev/null
podman start "$(container n1)" "$(container n3)" >/dev/null
tell_addresses
wait_until_up
for queue in "${queues[@]}"; do
  client timeout 120 segue consume "$queue" --count "$count" --ack >"$work/$queue.out" || fail "consuming $queue"
  cmp "$work/$queue.in" "$work/$queue.out" || fail "$queue: what came back is not what was confirmed"
  printf '%-10s %d lines confirmed, %d consumed, equal\n' "$queue" "$count" "$(wc -l <"$work/$queue.out")"
done
podman exec "$(container r1)" segue status >/dev/null || fail "segue status in the router's container"
for service in r1 n1 n2 n3; do
  podman exec "$(container "$service")" segue status --member "$service" >/dev/null || fail "the health check of $service"
done
say "containers: all checks passed"
