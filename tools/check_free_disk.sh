#!/bin/sh
# Says in one line if this folder's disk has less than so many GB free: an install that fails halfway says less.
set -eu

needed_gb=$1
free_gb=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
if [ "$free_gb" -lt "$needed_gb" ]; then
  echo "error: $needed_gb GB of free disk are needed here, $free_gb GB are free" >&2
  exit 1
fi
