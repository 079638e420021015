#!/bin/sh
# Sends a kit with vegeta and judges what the service did. Exit status 0: sold as a sale must be; any other: not, or no valid test.
#
#   usage: loadtest/vegeta/attack.sh KIT [RATE [REQUESTS]]
#
#   KIT       the folder that `seckill users --out KIT` wrote
#   RATE      requests per second, whether or not answers come (an open model); default 500.
#             0: as fast as WORKERS (default 64) requests at a time allow
#   REQUESTS  how many of the kit's requests; default: all
#
# SECKILL and VEGETA name the programs. By default both are built from this module, which needs nothing but Go.
set -eu

[ $# -ge 1 ] && [ $# -le 3 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
kit=$(CDPATH='' cd -- "$1" && pwd)
rate=${2-500}
requests=${3-0}

whole() { case $2 in '' | *[!0-9]*) echo "attack.sh: $1 is \"$2\": it must be a whole number" >&2; exit 2 ;; esac; }
whole RATE "$rate"
whole REQUESTS "$requests"

seckill() { if [ -n "${SECKILL:-}" ]; then "$SECKILL" "$@"; else go -C "$root" run . "$@"; fi; }
vegeta() { if [ -n "${VEGETA:-}" ]; then "$VEGETA" "$@"; else go -C "$root" tool vegeta "$@"; fi; }

# Refuses the usual mistakes, and prints how many requests there are to send.
requests=$(seckill kit check "$kit" --requests "$requests")

limit=
[ "$rate" != 0 ] || limit="-max-workers=${WORKERS:-64}"

# With -lazy every target is read once, when it is due, and the attack ends with the last one; otherwise vegeta would
# start again at the first.
# shellcheck disable=SC2086
head -n "$requests" "$kit/targets.json" |
	vegeta attack -lazy -format=json -rate="$rate" -duration=0 -timeout=60s $limit >"$kit/vegeta.bin"

seckill kit report "$kit"
