#!/bin/sh
# usage: build.sh FOLDER
#
# Writes FOLDER/tritonc-backend-pyvm, one file with the modules here and those that
# the protos' compiler makes. PYTHON is the interpreter that will run it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
protos=$here/../../../plugin-sdk/proto
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$here"/*.py "$work"
set -- "$1" -I"$protos" --python_out="$work" "$protos"/tritonc/*/v1/*.proto
if grpc=$(command -v grpc_python_plugin) && command -v protoc >/dev/null; then
	out=$1; shift
	protoc --plugin=protoc-gen-grpc="$grpc" --grpc_out="$work" "$@"
else
	out=$1; shift
	"$python" -m grpc_tools.protoc --grpc_python_out="$work" "$@"
fi
mkdir -p "$out"
"$python" -m zipapp -p "$python" -o "$out/tritonc-backend-pyvm" "$work"
