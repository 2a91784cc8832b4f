//! Sets the linker options of a Node addon.

fn main() {
    napi_build::setup();
}
