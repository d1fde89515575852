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
if "$scratch/venv/bin/python" -m zipfile -l "$wheel" | grep 'legato_studies\|studies/'; then
  echo "error: the wheel holds a study" >&2
  exit 1
fi
if legato reproduce vtfrc --out vtfrc 2> said.txt || ! grep --quiet 'pip install legato-studies' said.txt; then
  echo "error: a missing package is not named: $(cat said.txt)" >&2
  exit 1
fi
legato controllers list
legato traces list > traces.txt
legato run cellular -o duration_s=10 --controller gcc --out run > /dev/null
legato report run > /dev/null
test -s run/report.html

# What is shipped has names: the path of an installed package is not to be typed.
legato traces show fcc/12 > /dev/null
legato compare --controllers gcc --traces fcc/1,fcc/2 -o duration_s=5 --no-report --out named > /dev/null
if legato run cellular -o forward.capacity.trace=nowhere 2> said.txt || grep --quiet site-packages said.txt; then
  echo "error: an error shows where Legato is installed: $(cat said.txt)" >&2
  exit 1
fi

# Policies from ONNX models need their extra, which is named where it is missing, and no torch.
touch model.onnx
if legato policy import model.onnx --like nvc-cc --out mine 2> said.txt || ! grep --quiet 'legato-rtc\[onnx\]' said.txt; then
  echo "error: a missing extra is not named: $(cat said.txt)" >&2
  exit 1
fi
"$scratch/venv/bin/python" -m pip --disable-pip-version-check --quiet install "$wheel[onnx]"
"$scratch/venv/bin/python" - << 'END'
from pathlib import Path
from legato.plan import shipped
from legato.policy import onnx_graph, policy_folder
manifest, layers, tensors = policy_folder.read(shipped.policy("nvc-cc"))
inputs = len(manifest["observation"]["features"]) * manifest["observation"]["history"]
Path("model.onnx").write_bytes(onnx_graph.model(layers, inputs, tensors).SerializeToString())
END
legato policy import model.onnx --like nvc-cc --out mine
legato run steady -o duration_s=5 --controller nvc-cc@policy=mine --out own > /dev/null
if "$scratch/venv/bin/python" -c 'import torch' 2> /dev/null; then
  echo "error: the install brings torch" >&2
  exit 1
fi
size=$(du -sk "$scratch/venv/lib" | cut -f1)
echo "works: $(basename "$wheel"), $(($(stat -c %s "$wheel") / 1024)) kB; installed with what it needs $((size / 1024)) MB"
