# The recipe for Spack. `make dist` writes it into target/packages with the version and the checksums, from where it
# goes into a repository of yours as packages/anechoic/package.py; the tar file must be in the directory in which
# `spack install anechoic` is called, or in a mirror.

import os
import platform

from spack.package import *


class Anechoic(Package):
    """Measures operating-system noise: how much CPU time a program loses, and what takes it."""

    manual_download = True
    url = f"file://{os.getcwd()}/anechoic-@VERSION@-{platform.machine()}-linux.tar.gz"
    license("MIT OR Apache-2.0")

    sums = {
        "x86_64": "@SHA256_x86_64@",
        "aarch64": "@SHA256_aarch64@",
    }
    if platform.machine() in sums:
        version("@VERSION@", sha256=sums[platform.machine()])

    conflicts("platform=darwin")
    conflicts("platform=windows")

    def install(self, spec, prefix):
        install_tree(".", prefix)

    @run_after("install")
    def starts(self):
        Executable(self.prefix.bin.anechoic)("--version")
