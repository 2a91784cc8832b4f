//! Decode, call, encode: the napi binding of the engine.
