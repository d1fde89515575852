#!/bin/sh
# Says in one line what this machine lacks to build Legato, or prints the Python to use.
set -eu

missing=
lacks() { missing="${missing:+$missing; }$1"; }

python=
for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  lacks "Python 3.11 or later (https://www.python.org, or apt-get install python3 python3-venv)"
elif ! "$python" -c 'import ensurepip, venv' 2> /dev/null; then
  lacks "Python's venv module (apt-get install python3-venv)"
fi

# The same floor as rust-version in Cargo.toml.
rust_floor=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' "$(dirname "$0")/../Cargo.toml")
if ! command -v cargo > /dev/null; then
  lacks "a Rust toolchain (https://rustup.rs)"
else
  rust=$(cargo --version 2> /dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')
  if [ "${rust:-0}" -lt "$rust_floor" ]; then
    lacks "Rust 1.$rust_floor or later, this is 1.${rust:-?} (rustup update)"
  fi
fi

if ! command -v cc > /dev/null; then
  lacks "a C compiler called cc (apt-get install build-essential, or xcode-select --install)"
fi

if [ -n "$missing" ]; then
  echo "error: this machine lacks $missing" >&2
  exit 1
fi
echo "$python"
