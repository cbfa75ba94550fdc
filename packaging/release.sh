#!/usr/bin/env bash
# release.sh VERSION [OUT]: the files of a release, for linux on x86-64 and
# arm64: the stripped command, a wheel, a bill of materials (CycloneDX), and the
# checksums of all of them. The same source, Go and C compiler give the same
# bytes. ARCHES="amd64" builds fewer.
#
# GPUs are read through NVML, whose binding needs cgo. Without a C compiler for
# an architecture its command is built without cgo: it plans everything, but
# takes the cards from --gpus or --machine, and says so.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: release.sh VERSION [OUT]}
mkdir -p "${2:-dist}"
out=$(cd "${2:-dist}" && pwd)
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=0

compiler() { # the C compiler for an architecture
  case $1 in
    "$(go env GOHOSTARCH)") echo "${CC:-gcc}" ;;
    arm64) echo aarch64-linux-gnu-gcc ;;
    amd64) echo x86_64-linux-gnu-gcc ;;
  esac
}

sums=()
for arch in ${ARCHES:-amd64 arm64}; do
  name=sglplan-${version#v}-linux-$arch
  cc=$(compiler "$arch")
  cgo=1
  if ! command -v "$cc" >/dev/null; then
    cgo=0
    echo "release.sh: no $cc: $name is built without cgo and cannot read GPUs" >&2
  fi
  CGO_ENABLED=$cgo CC=$cc GOOS=linux GOARCH=$arch go build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=${version#v} $([ $cgo = 0 ] || echo '-extldflags=-Wl,--build-id=none')" \
    -o "$out/$name" ./cmd/sglplan
  go run ./packaging/sbom "$out/$name" "${version#v}" >"$out/$name.cdx.json"
  wheel=$(python3 packaging/wheel.py "$out/$name" "$version" "$arch" "$out")
  sums+=("$name" "$name.cdx.json" "$(basename "$wheel")")
done
(cd "$out" && sha256sum "${sums[@]}" >SHA256SUMS)
echo "$out"
