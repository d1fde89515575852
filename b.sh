#!/bin/bash
cd /work/share2 && chrt -i 0 nice -n 2 cargo build --release -p legato-python 2>&1 | grep -E "^error|warning: unused|Finished|^  -->" ; cp target/release/liblegato_core.so python/legato/_core.abi3.so
