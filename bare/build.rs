//! Links the image without a runtime, at the addresses of link.ld.

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/link.ld");
    println!("cargo:rerun-if-changed={script}");
    let script = format!("-Wl,-T,{script}");
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static-pie",
        "-Wl,--no-dynamic-linker",
        "-Wl,--build-id=none",
        "-Wl,-z,norelro",
        "-Wl,-z,noexecstack",
        &script,
    ] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
