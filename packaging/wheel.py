#!/usr/bin/env python3
"""wheel.py BINARY VERSION ARCH OUT: wraps a built command into a wheel.

Only the standard library is used and nothing is compiled at install: the wheel
carries the stripped command as a script. The same input gives the same bytes.
The platform tag says the oldest glibc that the binary asks for; a binary that
asks for none (built without cgo) runs on any.
"""
import base64
import hashlib
import pathlib
import re
import sys
import zipfile

ARCHES = {"amd64": "x86_64", "arm64": "aarch64"}
ROOT = pathlib.Path(__file__).resolve().parent.parent


def python_version(version):
    """A tag or the answer of `git describe` as PEP 440 wants it."""
    m = re.fullmatch(r"v?(\d+(?:\.\d+)*)(?:-?(a|b|rc)\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?(-dirty)?", version)
    if not m:
        return "0.0.0.dev0+" + re.sub(r"[^a-z0-9]+", ".", version.lower()).strip(".")
    release, stage, n, commits, commit, dirty = m.groups()
    out = release + (stage + n if stage else "")
    local = [x for x in ("g" + commit if commit else "", "dirty" if dirty else "") if x]
    if commits:
        out += ".post" + commits
    return out + ("+" + ".".join(local) if local else "")


def platform(binary, arch):
    wanted = [int(n) for n in re.findall(rb"\0GLIBC_2\.(\d+)", binary)]
    return f"manylinux_2_{max(wanted + [17])}_{ARCHES[arch]}"


def metadata(version):
    head = f"""Metadata-Version: 2.4
Name: sglplan
Version: {version}
Summary: Tells before the start whether an SGLang launch fits the machine
License-Expression: Apache-2.0
License-File: LICENSE
Project-URL: Source, https://github.com/sglplan/sglplan
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Systems Administration
"""
    readme = ROOT / "README.md"
    if readme.exists():
        head += "Description-Content-Type: text/markdown\n\n" + readme.read_text(encoding="utf-8")
    return head.encode()


def record(files, name):
    lines = []
    for path, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}")
    return "\n".join(lines + [f"{name},,"]).encode() + b"\n"


def write(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, data, mode in files:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (0o100000 | mode) << 16
            info.create_system = 3
            info.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(info, data)


def main(binary, version, arch, out):
    data = pathlib.Path(binary).read_bytes()
    version, tag = python_version(version), platform(data, arch)
    info = f"sglplan-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: sglplan packaging\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    files = [
        (f"sglplan-{version}.data/scripts/sglplan", data, 0o755),
        (f"{info}/METADATA", metadata(version), 0o644),
        (f"{info}/WHEEL", wheel.encode(), 0o644),
        (f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), 0o644),
    ]
    files.append((f"{info}/RECORD", record(files, f"{info}/RECORD"), 0o644))
    path = pathlib.Path(out) / f"sglplan-{version}-py3-none-{tag}.whl"
    write(path, files)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[3] not in ARCHES:
        sys.exit(__doc__)
    main(*sys.argv[1:])
