#!/bin/sh
# Installs a wheel into a clean environment outside the checkout and does the main job with it:
# no toolchain on the PATH, no file of the checkout in reach.
set -eu

wheel=$(realpath "$1")
python=$("$(dirname "$0")/check_machine.sh")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip --disable-pip-version-check --quiet install "$wheel"
cd "$scratch"
unset VIRTUAL_ENV PYTHONPATH
PATH="$scratch/venv/bin:/usr/bin:/bin"

legato --version
legato controllers list
legato traces list > traces.txt
legato run cellular -o duration_s=10 --controller gcc --out run > /dev/null
legato report run > /dev/null
test -s run/report.html
if "$scratch/venv/bin/python" -c 'import torch' 2> /dev/null; then
  echo "error: the base install brings torch" >&2
  exit 1
fi
size=$(du -sk "$scratch/venv/lib" | cut -f1)
echo "works: $(basename "$wheel"), $(($(stat -c %s "$wheel") / 1024)) kB; installed with what it needs $((size / 1024)) MB"
