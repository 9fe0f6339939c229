#!/bin/bash
# The stand-in's build script: like the generator's, it builds in the folder in which it is started.
set -e
script_path=$(realpath "$(dirname "$0")")
mkdir -p build_out
cd build_out
cmake "$script_path" --preset=default
cmake --build . --target binary
cmake --build . --target package
